"""Random models, sizes, shardings by parameter, meshes and settings, from a seed that each failure prints: the checker accepts the plan, and losses, norms and
weights are those of the plan without the tensor axis, or an error names `sharding.tensor`.

SLUICE_TENSOR_CASES=N runs N cases (fourteen otherwise)."""

import random

from sluice import *

CASES = int(os.environ.get("SLUICE_TENSOR_CASES", 14))
MODELS = [("mlp-stack", "dim=3", "batch=4"), ("mlp-stack", "dim=5", "batch=3"), ("norm-mlps", "dim=5", "batch=4"),
          ("double-linear", "dim=7"), ("linear-relu-linear",), ("transformer", "dropout=0.1"), ("two-forwards",),
          ("transformer", "dropout=0", "vocab=9", "dim=12", "heads=3", "sequence=7", "loss=cross-entropy"),
          ("shared-linear", "dim=5"), ("unused-linear", "dim=5"), ("multi-forward",), ("mlp-sequence", "dim=5"),
          ("linear-mlps", "dim=5"), ("two-losses", "dim=5"), ("reduce-model", "dim=5"), ("nested-recompute",)]
SETTINGS = [[], ["recompute.policy=block"], ["gradient.microbatches=2"], ["sharding.sequence=true"],
         ["sharding.sequence=true", "gradient.clip_norm=0.1"], ["sharding.dim=flat"], ["sharding.dim=largest"],
         ["sharding.strategy=no_shard"], ["sharding.units=root"], ["gradient.microbatches=3", "gradient.sync=every"]]
SGD = ["optimizer.name=sgd", "optimizer.lr=0.01"]


def table(model, draw):
    """Matrices are column-sharded, row-sharded or replicated; vectors except those of norms are column-sharded or replicated."""
    split = {}
    for name, shape in re.findall(r'model\.parameter @"?([\w.]+)"? : tensor<([^>]*)x\w+>', model.read_text()):
        choices = ["", "column", "row"] if "x" in shape and "pos" not in name else ["", "column"] if "norm" not in name else [""]
        if sharding := draw.choice(choices):
            split[name] = sharding
    return split


@test
def random_shardings():
    trained = 0
    for seed in range(CASES):
        draw = random.Random(seed)
        model = zoo(*draw.choice(MODELS))
        split, tensor = table(model, draw), draw.choice([2, 2, 3, 4])
        data = draw.choice([[], ["mesh.shard=2"], ["mesh.shard=3"], ["mesh.replicate=2"]]) if tensor < 4 else []
        more = draw.choice(SETTINGS)
        text = ", ".join(f'"{name}"="{sharding}"' for name, sharding in split.items())
        settings = data + [f"mesh.tensor={tensor}", "sharding.tensor={" + text + "}"] + more + SGD
        what = f"seed {seed}, {model.stem}, {settings}"
        if not split:
            continue
        done = try_compile(model, settings)
        if done.returncode == 1:
            expect("sharding.tensor" in done.stderr, f"{what}: expected a refusal of the split but got {done.stderr}")
            continue
        without = data + [setting for setting in more if "sequence" not in setting] + SGD
        expect_near_runs(train(Plan(model, settings), steps=2), train(Plan(model, without), steps=2), 3e-4, what, weights=3e-4)
        trained += 1
    expect(trained >= CASES // 2, f"expected at least half of {CASES} cases to train but got {trained}")


main()
