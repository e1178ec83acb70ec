"""Writes test/reference/families/NAME: one batch through tiny models of Hugging Face families, by transformers.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.23.0 numpy safetensors
    venv/bin/python test/reference/families.py [NAME...]

The folders of gpt2, llama, llama-linear, mistral, qwen2 and qwen3 have the same form without `generated`; a generator
outside this repository wrote them. Each case shows something that the others do not. Weights are in bf16 and computed
in f32. `expected.json`:

- `loss`, `grad_norm`, `rows`, `sequence`: of the batch in `tokens.bin`
- `generated`: the most probable tokens after the prompt, each from a row of `sequence` tokens (those after the prompt
  change nothing before them): as in a plan, rotary frequencies that depend on the length are those of the row
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import (AutoModelForCausalLM, Gemma2Config, GemmaConfig, GPTNeoXConfig, GraniteConfig, LlamaConfig, Olmo2Config,
                          OPTConfig, Phi3Config, StableLmConfig, Starcoder2Config)

ROWS, SEQUENCE, VOCABULARY, SEED = 2, 24, 97, 1337
PROMPT, GENERATED = b"A TO Z", 12
SIZES = dict(vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64,
             bos_token_id=None, eos_token_id=None)
GATED = SIZES | dict(intermediate_size=28, num_key_value_heads=1)
WIDE = SIZES | dict(intermediate_size=44)
LONGROPE = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.1, 1.3], long_factor=[1.5, 2.0, 3.5])

CASES = {
    "gemma": GemmaConfig(**GATED, head_dim=16, pad_token_id=0),
    "gemma2": Gemma2Config(**GATED, head_dim=16, pad_token_id=None, sliding_window=8, query_pre_attn_scalar=20,
                           attn_logit_softcapping=5.0, final_logit_softcapping=3.0),
    "phi3": Phi3Config(**GATED, pad_token_id=None, sliding_window=10, original_max_position_embeddings=16,
                       rope_parameters=LONGROPE | dict(partial_rotary_factor=0.5)),
    "olmo2": Olmo2Config(**GATED, pad_token_id=None, rope_parameters=dict(rope_type="default", rope_theta=500.0)),
    "granite": GraniteConfig(**GATED, attention_bias=True, embedding_multiplier=3.0, attention_multiplier=0.1,
                             residual_multiplier=0.7, logits_scaling=2.0),
    "starcoder2": Starcoder2Config(**WIDE, num_key_value_heads=1, sliding_window=8),
    "stablelm": StableLmConfig(**GATED, use_qkv_bias=True, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "stablelm-parallel": StableLmConfig(**GATED, qk_layernorm=True, use_parallel_residual=True,
                                        rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "gpt-neox": GPTNeoXConfig(**WIDE, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "gpt-neox-sequential": GPTNeoXConfig(**WIDE, use_parallel_residual=False, attention_bias=False, tie_word_embeddings=True,
                                         rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=10000.0, partial_rotary_factor=0.5)),
    "opt": OPTConfig(**SIZES, ffn_dim=44, pad_token_id=1, dropout=0.0),
    "opt-post-norm": OPTConfig(**SIZES, ffn_dim=44, pad_token_id=1, dropout=0.0, do_layer_norm_before=False, word_embed_proj_dim=16),
    "llama-yarn": LlamaConfig(**GATED, rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0, beta_fast=4.0, beta_slow=0.5,
                                                            original_max_position_embeddings=16)),
    "llama-dynamic": LlamaConfig(**GATED | dict(max_position_embeddings=10), rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0)),
}

# Seeds with which no two tokens of `generated` are nearly as probable, nor all the same.
SEEDS = {"gemma": 2137, "gpt-neox-sequential": 1746, "opt-post-norm": 1448}


def write_tokens(path, stream):
    header = np.zeros(256, dtype="<i4")
    header[:3] = 20240520, 1, len(stream)
    path.write_bytes(header.tobytes() + stream.astype("<u2").tobytes())


def as_published(folder, model_type):
    """Published checkpoints of GPT-NeoX name the output projection as transformers before 5."""
    if model_type == "gpt_neox":
        file = folder / "model.safetensors"
        save_file({key.replace("lm_head", "embed_out"): tensor for key, tensor in load_file(file).items()}, file, {"format": "pt"})


def generate(model):
    tokens = list(PROMPT)
    while len(tokens) < len(PROMPT) + GENERATED:
        row = torch.tensor([tokens + [0] * (SEQUENCE - len(tokens))])
        best = model(input_ids=row, use_cache=False).logits[0, len(tokens) - 1].topk(2)
        if best.values[0] - best.values[1] < 1e-3:
            return None
        tokens.append(best.indices[0].item())
    return tokens[len(PROMPT):]


def distinct(generated):
    """True if no two tokens were nearly as probable, and the text is not one token repeated."""
    return generated is not None and len(set(generated)) > 2


def write_case(folder, config, seed):
    torch.manual_seed(seed)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():  # nothing left at 0 or 1, where a mistake would not show
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    as_published(folder, config.model_type)
    model, report = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    if report["missing_keys"] or report["unexpected_keys"]:
        raise ValueError(f"{folder}: {report}")
    with torch.no_grad():
        generated = generate(model)
    if not distinct(generated):
        raise ValueError(f"{folder}: choose a different seed")
    stream = torch.randint(VOCABULARY, (ROWS * SEQUENCE + 1,))
    write_tokens(folder / "tokens.bin", stream.numpy())
    inputs, targets = stream[:-1].view(ROWS, SEQUENCE), stream[1:].clone().view(ROWS, SEQUENCE)
    logits = model(input_ids=inputs, use_cache=False).logits
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    names = {key: key.replace("lm_head", "embed_out") if config.model_type == "gpt_neox" else key for key, _ in model.named_parameters()}
    gradients = {f"grad.{names[key]}": torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                 for key, parameter in model.named_parameters()}
    save_file({"input_ids": inputs, "targets": targets, "logits": logits.detach(), **gradients}, folder / "expected.safetensors")
    norm = torch.nn.utils.get_total_norm(list(gradients.values())).item()
    (folder / "expected.json").write_text(json.dumps({"loss": loss.item(), "grad_norm": norm, "rows": ROWS, "sequence": SEQUENCE,
                                                      "prompt": PROMPT.decode(), "generated": generated}) + "\n")


def main():
    torch.set_num_threads(1)
    for number, (name, config) in enumerate(CASES.items()):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            write_case(Path(__file__).parent / "families" / name, config, SEEDS.get(name, SEED + number))


if __name__ == "__main__":
    main()
