"""The logits of the models that Hugging Face loads from folders, against logits that were computed before.

usage: hf_logits.py FOLDER LOGITS.safetensors [FOLDER LOGITS.safetensors]...   (tensors `tokens` and `logits`)
"""

import sys

import torch
import transformers
from safetensors.torch import load_file


def main():
    pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
    for folder, file in pairs:
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder, output_loading_info=True, dtype=torch.float32, attn_implementation="eager")
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            assert not report[kind], f"{folder}: {kind}: {report[kind]}"
        expected = load_file(file)
        with torch.no_grad():
            logits = model.eval()(expected["tokens"].long()).logits
        assert logits.shape == expected["logits"].shape, f"{folder}: {logits.shape}, {expected['logits'].shape}"
        error = (logits - expected["logits"]).abs().max().item()
        largest = logits.abs().max().item()
        assert error <= 2e-5 * largest, f"{folder}: logits differ by {error}, the largest is {largest}"
        print(f"{folder}: {error:.2e} of {largest:.2e}")
    print(f"{len(pairs)} folders agree")


if __name__ == "__main__":
    main()
