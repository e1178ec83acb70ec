"""Arenas are hardly larger than the peak of live buffers, and plans do not grow with ranks or micro-batches.

usage: arena.py TINY_CONFIG DEMO_CONFIG FOLDER
"""

import collections
import itertools
import json
import re
import sys
from pathlib import Path

from plans import compile_plan, import_model

LIMIT = 1.02
# GPT-2 as Hugging Face's `gpt2` (124 M parameters).
GPT2 = {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
        "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
# The same with sizes that 1,024 ranks divide: no rank has padding.
EVEN = {**GPT2, "vocab_size": 50176, "n_embd": 1024, "n_head": 16}


def check_arena(plan, what):
    arena = plan.device()
    ratio = arena["bytes"] / arena["peak_live"]
    assert arena["peak_live"] <= arena["bytes"], what
    assert ratio <= LIMIT, f"{what}: arena {arena['bytes']}, expected at most {LIMIT} x {arena['peak_live']} but got {ratio:.4f} x"
    return ratio


def shape(plan):
    """The instructions and tables of a plan, without sizes and counts."""
    issued = [(one.stream, one.when, one.phase, one.unit, one.what) for one in plan.instructions]
    tables = [line.split()[0] for line in plan.text.splitlines() if re.match(r"(arena|stream|unit|entry|buffer|  parameter)\b", line)]
    return issued, tables


def main():
    tiny, demo, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    for name, config, batch, sequence in (("tiny", tiny, 2, 16), ("demo", demo, 4, 64)):
        model = import_model(config, folder / f"{name}.mlir", batch, sequence)
        for ranks, strategy, policy, count in itertools.product((1, 2, 4), ("full_shard", "shard_grad_op", "no_shard"),
                                                                ("none", "block"), (1, 2)):
            settings = (f"mesh.shard={ranks}", f"sharding.strategy={strategy}", f"recompute.policy={policy}",
                        f"gradient.microbatches={count}")
            worst = max(worst, check_arena(compile_plan(model, folder / "p.plan", *settings), f"{name} {settings}"))

    (folder / "gpt2.json").write_text(json.dumps(GPT2))
    model = import_model(folder / "gpt2.json", folder / "gpt2.mlir", 8, 1024)
    few = compile_plan(model, folder / "8.plan", "mesh.shard=8")
    many = compile_plan(model, folder / "1024.plan", "mesh.shard=1024")
    for plan, ranks in ((few, 8), (many, 1024)):
        worst = max(worst, check_arena(plan, f"gpt2 on {ranks} ranks"))
    # Where 1,024 ranks do not divide a dim there is padding to fill, once a parameter; nothing else may differ.
    fills = many.count("fill") - few.count("fill")
    parameters = sum(len(unit["parameters"]) for unit in few.described["units"])
    assert 0 <= fills <= parameters, f"{fills} more fills for {parameters} parameters"
    assert [i for i in shape(many)[0] if i[4] != "fill"] == [i for i in shape(few)[0] if i[4] != "fill"]
    assert shape(many)[1] == shape(few)[1]
    assert len(many.bytes) <= 1.1 * len(few.bytes), f"{len(many.bytes)} bytes, {len(few.bytes)} at 8 ranks"

    (folder / "even.json").write_text(json.dumps(EVEN))
    model = import_model(folder / "even.json", folder / "even.mlir", 1, 64)
    few = compile_plan(model, folder / "8.plan", "mesh.shard=8", "gradient.microbatches=2")
    many = compile_plan(model, folder / "1024.plan", "mesh.shard=1024", "gradient.microbatches=2")
    often = compile_plan(model, folder / "64.plan", "mesh.shard=8", "gradient.microbatches=64")
    once = compile_plan(model, folder / "1.plan", "mesh.shard=8")
    assert shape(few) == shape(many), "8 and 1,024 ranks: another shape of the plan"
    assert shape(few) == shape(often), "2 and 64 micro-batches: another shape of the plan"
    for plan in (many, often):
        # A number that is a default is not written.
        assert abs(len(plan.bytes) - len(few.bytes)) <= 0.01 * len(few.bytes), (len(plan.bytes), len(few.bytes))
    # One micro-batch alone has nothing to add up or to divide; all else is there.
    extra = collections.Counter(o.what for o in often.instructions) - collections.Counter(o.what for o in once.instructions)
    # The first gather of later micro-batches waits for compute; that of the first for the step before alone.
    assert set(extra) == {"accumulate", "scale", "record", "wait"}, f"64 micro-batches: {extra} beside those of one"
    assert extra["scale"] == extra["record"] == extra["wait"] == 1, f"64 micro-batches: {extra} beside those of one"
    assert len(once.instructions) + sum(extra.values()) == len(often.instructions)
    print(f"arenas at most {worst:.4f} x what lives")


if __name__ == "__main__":
    main()
