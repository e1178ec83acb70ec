"""config_fields.py: the effect of every field of the families' configuration classes.

config_fields.py --page PAGE      the page's table is that of the fields
config_fields.py --classes        prints the fields of the classes in transformers that no table names

Each family's table names every field of its class in transformers (5.x, and the names that older classes had), another
value for it, and the expected effect: "changes" (the imported program differs), "refused" (an error that names the
field) or "neutral" (the program is the same: the field stores, names, generates, or describes a head that is not
built). A field that changes the mathematics and is not supported is refused, never ignored; so is an unknown field.
Where Python has transformers, the tables are compared with its classes: a field that the table does not name fails.
"""

import json
import sys
import tempfile
from pathlib import Path

from sluice import try_run

CHANGES, REFUSED, NEUTRAL = "changes", "refused", "neutral"

# Fields that every class has from PreTrainedConfig.
COMMON = {
    "transformers_version": ("4.0", NEUTRAL), "architectures": (["X"], NEUTRAL), "output_hidden_states": (True, NEUTRAL), "output_attentions": (True, NEUTRAL),
    "return_dict": (False, NEUTRAL), "dtype": ("bfloat16", NEUTRAL), "torch_dtype": ("bfloat16", NEUTRAL),
    "chunk_size_feed_forward": (0, NEUTRAL), "is_encoder_decoder": (True, REFUSED), "problem_type": ("regression", NEUTRAL),
    "id2label": ({"0": "a"}, NEUTRAL), "label2id": ({"a": 0}, NEUTRAL), "use_cache": (False, NEUTRAL),
    "bos_token_id": (1, NEUTRAL), "eos_token_id": (2, NEUTRAL), "pruned_heads": ({"0": [1]}, REFUSED),
    "quantization_config": ({"bits": 4}, REFUSED), "a_field_of_tomorrow": (3, REFUSED),
}

GPT2 = COMMON | {
    "vocab_size": (32, CHANGES), "n_positions": (16, CHANGES), "n_embd": (16, CHANGES), "n_layer": (1, CHANGES),
    "n_head": (4, CHANGES), "n_inner": (24, CHANGES), "activation_function": ("relu", CHANGES),
    "resid_pdrop": (0.5, CHANGES), "embd_pdrop": (0.5, CHANGES), "attn_pdrop": (0.5, CHANGES),
    "layer_norm_epsilon": (1e-3, CHANGES), "initializer_range": (0.5, CHANGES), "summary_type": ("last", NEUTRAL),
    "summary_use_proj": (False, NEUTRAL), "summary_activation": ("tanh", NEUTRAL), "summary_proj_to_labels": (False, NEUTRAL),
    "summary_first_dropout": (0.5, NEUTRAL), "scale_attn_weights": (False, CHANGES), "pad_token_id": (0, NEUTRAL),
    "scale_attn_by_inverse_layer_idx": (True, CHANGES), "reorder_and_upcast_attn": (True, REFUSED),
    "add_cross_attention": (True, REFUSED), "tie_word_embeddings": (False, CHANGES),
}

BLOCKS = COMMON | {
    "vocab_size": (32, CHANGES), "hidden_size": (24, CHANGES), "intermediate_size": (24, CHANGES),
    "num_hidden_layers": (1, CHANGES), "num_attention_heads": (2, CHANGES), "hidden_act": ("relu", CHANGES),
    # A sequence longer than the positions is refused.
    "max_position_embeddings": (7, REFUSED), "initializer_range": (0.5, CHANGES), "tie_word_embeddings": (True, CHANGES),
    "attention_dropout": (0.5, CHANGES), "pad_token_id": (0, CHANGES),
}
ROTARY = {
    "num_key_value_heads": (1, CHANGES), "rope_parameters": ({"rope_type": "default", "rope_theta": 77.0}, CHANGES),
    "rope_theta": (77.0, CHANGES), "rope_scaling": ({"type": "linear", "factor": 2.0}, CHANGES),
    "partial_rotary_factor": (0.5, REFUSED), "head_dim": (6, CHANGES),
}
LLAMA_LIKE = BLOCKS | ROTARY | {"rms_norm_eps": (1e-3, CHANGES), "attention_bias": (True, CHANGES)}
LLAMA = LLAMA_LIKE | {
    "pretraining_tp": (2, NEUTRAL), "mlp_bias": (True, CHANGES), "sliding_window": (2, REFUSED),
}
MISTRAL = LLAMA_LIKE | {"sliding_window": (2, CHANGES), "attention_bias": (True, REFUSED), "mlp_bias": (True, REFUSED)}
QWEN = LLAMA_LIKE | {
    "use_sliding_window": (True, CHANGES), "sliding_window": (4096, NEUTRAL), "max_window_layers": (1, NEUTRAL),
    "layer_types": (["full_attention", "chunked_attention"], REFUSED),
}
QWEN2 = QWEN | {"attention_bias": (True, REFUSED), "mlp_bias": (True, REFUSED)}
QWEN3 = QWEN | {"mlp_bias": (True, REFUSED)}
# The default of the class ties the embeddings, and its padding token is 0.
GEMMA = LLAMA_LIKE | {
    "tie_word_embeddings": (False, CHANGES), "pad_token_id": (3, CHANGES), "use_bidirectional_attention": (True, REFUSED),
    "hidden_activation": ("relu", NEUTRAL),
}
GEMMA2 = GEMMA | {
    "hidden_activation": ("relu", CHANGES), "hidden_act": ("relu", NEUTRAL), "query_pre_attn_scalar": (16, CHANGES),
    "sliding_window": (2, CHANGES), "layer_types": (["sliding_attention", "sliding_attention"], CHANGES),
    "attn_logit_softcapping": (2.0, CHANGES), "final_logit_softcapping": (2.0, CHANGES),
}
PHI3 = LLAMA_LIKE | {
    "attention_bias": (True, REFUSED), "mlp_bias": (True, REFUSED), "partial_rotary_factor": (0.5, CHANGES),
    "original_max_position_embeddings": (6, NEUTRAL), "resid_pdrop": (0.5, CHANGES), "embd_pdrop": (0.5, NEUTRAL),
    "sliding_window": (2, CHANGES),
}
OLMO2 = LLAMA_LIKE
GRANITE = LLAMA_LIKE | {
    "mlp_bias": (True, CHANGES), "embedding_multiplier": (2.0, CHANGES), "logits_scaling": (2.0, CHANGES),
    "residual_multiplier": (2.0, CHANGES), "attention_multiplier": (2.0, CHANGES),
}
STARCODER2 = BLOCKS | ROTARY | {
    "norm_epsilon": (1e-3, CHANGES), "use_bias": (False, CHANGES), "embedding_dropout": (0.5, CHANGES),
    "residual_dropout": (0.5, CHANGES), "sliding_window": (2, CHANGES), "tie_word_embeddings": (False, CHANGES),
}
STABLELM = BLOCKS | ROTARY | {
    "layer_norm_eps": (1e-3, CHANGES), "use_qkv_bias": (True, CHANGES), "hidden_dropout": (0.5, CHANGES),
    "qk_layernorm": (True, CHANGES), "use_parallel_residual": (True, CHANGES), "partial_rotary_factor": (0.5, CHANGES),
    "head_dim": (6, REFUSED), "hidden_size": (64, CHANGES),
}
GPT_NEOX = BLOCKS | {
    "hidden_size": (64, CHANGES), "layer_norm_eps": (1e-3, CHANGES), "hidden_dropout": (0.5, CHANGES), "use_parallel_residual": (False, CHANGES),
    "attention_bias": (False, CHANGES), "rotary_pct": (1.0, CHANGES), "rotary_emb_base": (77.0, CHANGES),
    "classifier_dropout": (0.5, NEUTRAL), "is_decoder": (True, NEUTRAL), "pad_token_id": (0, NEUTRAL),
    "rope_parameters": ({"rope_type": "default", "rope_theta": 77.0}, CHANGES),
    "rope_scaling": ({"type": "linear", "factor": 2.0}, CHANGES),
}
OPT = {field: entry for field, entry in BLOCKS.items() if field not in ("intermediate_size", "hidden_act", "initializer_range")} | {
    "ffn_dim": (24, CHANGES), "activation_function": ("gelu", CHANGES), "init_std": (0.5, CHANGES), "dropout": (0.5, CHANGES),
    "activation_dropout": (0.5, REFUSED), "layerdrop": (0.5, REFUSED), "do_layer_norm_before": (False, CHANGES),
    "word_embed_proj_dim": (8, CHANGES), "enable_bias": (False, CHANGES), "layer_norm_elementwise_affine": (False, CHANGES),
    "tie_word_embeddings": (False, CHANGES),
}

BASE = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 64}
FAMILIES = {
    "gpt2": (GPT2, {"vocab_size": 40, "n_positions": 64, "n_embd": 8, "n_layer": 2, "n_head": 2, "resid_pdrop": 0.0,
                    "embd_pdrop": 0.0, "attn_pdrop": 0.0}),
    "llama": (LLAMA, BASE), "mistral": (MISTRAL, BASE),
    # A window below the sequence length, so that its switch has an effect.
    "qwen2": (QWEN2, BASE | {"sliding_window": 2, "max_window_layers": 0}),
    "qwen3": (QWEN3, BASE | {"sliding_window": 2, "max_window_layers": 0, "head_dim": 4}),
    "gemma": (GEMMA, BASE | {"head_dim": 4}), "gemma2": (GEMMA2, BASE | {"head_dim": 4, "sliding_window": 4}),
    "phi3": (PHI3, BASE), "olmo2": (OLMO2, BASE), "granite": (GRANITE, BASE), "starcoder2": (STARCODER2, BASE),
    # Rotates 2 of 8 elements.
    "stablelm": (STABLELM, BASE | {"hidden_size": 32}),
    "gpt_neox": (GPT_NEOX, {key: size for key, size in BASE.items() if key != "num_key_value_heads"} | {"hidden_size": 32}),
    "opt": (OPT, {"vocab_size": 40, "hidden_size": 16, "ffn_dim": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "max_position_embeddings": 64, "dropout": 0.0}),
}

SLIDING = {"use_sliding_window": True}
LLAMA3 = {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}}
LONGROPE = {"rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0]}}
# Fields that have an effect only together with others: the page's note, the others, and a value that then changes the
# program.
MORE = {
    **{(family, field): note for family in ("qwen2", "qwen3") for field, note in {
        "sliding_window": ("(1)", SLIDING, 3), "max_window_layers": ("(1)", SLIDING, 1),
        "layer_types": ("(1)", SLIDING, ["full_attention", "sliding_attention"])}.items()},
    **{(family, "max_position_embeddings"): ("(2)", LLAMA3, 32)
       for family in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "olmo2", "granite", "starcoder2", "stablelm", "gpt_neox")},
    ("phi3", "max_position_embeddings"): ("(2)", LONGROPE, 8192),
    ("phi3", "original_max_position_embeddings"): ("(3)", LONGROPE, 6),
    ("opt", "max_position_embeddings"): ("(2)", {}, 32),
}


def imported(folder, config):
    """The program without the text of the config, or None and the error."""
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    done = try_run("sluice-import", "hf", path, "--batch", 1, "--sequence", 8, "-o", "-")
    lines = [line for line in done.stdout.splitlines() if "model.config" not in line]
    return ("\n".join(lines), "") if done.returncode == 0 else (None, done.stderr)


def check(folder, family, table, base):
    failures = []
    config = {"model_type": family, **base}
    plain, error = imported(folder, config)
    if plain is None:
        return [f"{family}: {error}"]
    for field, (value, expected) in sorted(table.items()):
        changed, error = imported(folder, config | {field: value})
        got = REFUSED if changed is None else NEUTRAL if changed == plain else CHANGES
        if got != expected:
            failures.append(f"{family}: {field} = {value!r}, expected it {expected} but it is {got} {error}")
        if got == REFUSED and (f"'{field}'" not in error or not error.startswith("error: ") or not ("expected" in error or "\nnote: " in error)):
            failures.append(f"{family}: {field} = {value!r}, expected an error that names it and a remedy but got {error}")
    for (of, field), (_, others, value) in MORE.items():
        if of == family and imported(folder, config | others)[0] == imported(folder, config | others | {field: value})[0]:
            failures.append(f"{family}: {field} = {value!r} with {others} does not change the program")
    return failures


def fields_of_class(family):
    """The fields of the class in transformers, or None."""
    try:
        from transformers import AutoConfig
    except ImportError:
        return None
    hidden = {"model_type"}
    return {name for name in AutoConfig.for_model(family).to_dict() if not name.startswith("_")} - hidden


def listed(names):
    """The names, or the others if they are fewer."""
    others = sorted(set(FAMILIES) - set(names))
    if not others or not names:
        return "all" if names else "–"
    return f"all but {', '.join(others)}" if len(others) < len(names) else ", ".join(sorted(names))


def page_table():
    """The page: a row for each field that a family uses or refuses, and a list of those without effect."""
    rows = ["| field | used by | refused by |", "|---|---|---|"]
    idle = []
    for field in sorted(set().union(*(table for table, _ in FAMILIES.values())) - {"a_field_of_tomorrow"}):
        by = {effect: [] for effect in (CHANGES, REFUSED, NEUTRAL)}
        for family, (table, _) in FAMILIES.items():
            if (family, field) in MORE:
                by[CHANGES].append(family)
            elif field in table:
                by[table[field][1]].append(family)
        notes = sorted({MORE[family, field][0] for family in FAMILIES if (family, field) in MORE})
        if not by[CHANGES] and not by[REFUSED]:
            idle.append(f"`{field}`")
            continue
        rows.append(f"| `{field}` | {' '.join([listed(by[CHANGES]), *notes])} | {listed(by[REFUSED])} |")
    return "\n".join(rows) + "\n\nThese fields have no effect on the computation: " + ", ".join(idle) + ".\n"


def main():
    if sys.argv[1:2] == ["--page"]:
        if page_table() not in Path(sys.argv[2]).read_text():
            sys.exit(f"{sys.argv[2]}: expected this table\n{page_table()}")
        print("the page has the table")
        return
    if sys.argv[1:] == ["--classes"]:
        for family, (table, _) in FAMILIES.items():
            for field in sorted(fields_of_class(family) - set(table)):
                print(f"{family}: {field} of the class is in no table")
        return
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for family, (table, base) in FAMILIES.items():
            failures += check(Path(folder), family, table, base)
    print("\n".join(failures))
    print(f"{sum(len(table) for table, _ in FAMILIES.values())} fields, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
