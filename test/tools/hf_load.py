"""The loss of the model that Hugging Face loads from a folder, on the first rows of a token file, against the first step of a run.

usage: hf_load.py (FOLDER TOKENS ROWS SEQUENCE RUN.jsonl)...
"""

import json
import sys

import numpy
import torch
import transformers


def compare(folder, tokens, rows, sequence, log):
    rows, sequence = int(rows), int(sequence)
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, dtype=torch.float32)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[kind], f"{kind}: {report[kind]}"
    # llm.c's format: 256 header words, then 16-bit tokens.
    words = numpy.fromfile(tokens, dtype=numpy.uint16, offset=1024).astype(numpy.int64)
    row = numpy.arange(rows)[:, None] * sequence + numpy.arange(sequence)[None, :]
    inputs, targets = torch.from_numpy(words[row]), torch.from_numpy(words[row + 1])
    with torch.no_grad():
        logits = model.eval()(inputs).logits.float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    ours = json.loads(open(log).readline())["loss"]
    assert abs(loss - ours) <= 2e-6 * abs(loss), f"Hugging Face has {loss}, the run {ours}"
    print(f"losses agree: {loss} and {ours}")


def main():
    arguments = sys.argv[1:]
    for at in range(0, len(arguments), 5):
        compare(*arguments[at:at + 5])


if __name__ == "__main__":
    main()
