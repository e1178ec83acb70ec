"""Every compiled plan is proved to compute its program (P7 and P9, docs/rationale/proof.md): models of the zoo, of the families and of pinned plans, with
recipes of all kinds, and random recipes.

SLUICE_PROOF_PLANS is the number of combinations of a model and a recipe, spread over all of them (60; 0: all). SLUICE_PROOF_RANDOM is the number of random
recipes (20), SLUICE_PROOF_SETTINGS that of random settings of all kinds (20), SLUICE_PROOF_FIRST the number of the first of both (0). SLUICE_PROOF_REPORT is
a file that gets a line for each plan that is not proved, and for each recipe that does not fit its model.
"""

import concurrent.futures
import random

import pinned_plans
from random_recipes import Case
from random_settings import AnyCase
from sluice import *

PLANS = int(os.environ.get("SLUICE_PROOF_PLANS", "60"))
RANDOM = int(os.environ.get("SLUICE_PROOF_RANDOM", "20"))
SETTINGS = int(os.environ.get("SLUICE_PROOF_SETTINGS", "20"))
FIRST = int(os.environ.get("SLUICE_PROOF_FIRST", "0"))

ZOO = (
    ("mlp",), ("mlp", "dim=9"), ("mlp-sequence",), ("linear-mlps", "dim=8"), ("mlp-stack", "dim=5"), ("norm-mlps", "dim=6"), ("norm-linear", "dim=12"),
    ("double-linear", "dim=7"), ("linear-relu-linear", "in=7", "hidden=15", "out=3"), ("multi-forward",), ("shared-linear", "dim=6"), ("unused-linear", "dim=8"),
    ("reduce-model",), ("two-losses", "dim=7"), ("encoder-decoder",), ("transformer", "layers=2", "vocab=11"),
    ("transformer", "layers=2", "dropout=0", "tied=false", "dim=12"), ("transformer", "layers=2", "loss=cross-entropy"), ("nested-recompute", "layers=2", "dim=8"),
    ("two-forwards", "layers=2", "vocab=11"), ("memory-transformer",), ("vision",), ("conv", "stem=4", "hidden=6", "height=16", "width=16"),
    ("moe", "batch=4"), ("moe", "batch=4", "gating=best", "dim=6"),
)
RECIPES = {
    "one rank": [],
    "full shard": ["mesh.shard=4"],
    "uneven": ["mesh.shard=3", "gradient.clip_norm=1.0"],
    "gathered": ["mesh.shard=4", "sharding.strategy=shard_grad_op", "gradient.microbatches=3"],
    "kept": ["mesh.shard=2", "gradient.microbatches=3", "sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last", "gradient.sync=every"],
    "replicated": ["mesh.shard=4", "sharding.strategy=no_shard", "gradient.clip_norm=0.5", "gradient.clip_type=inf"],
    "hybrid": ["mesh.shard=2", "mesh.replicate=2", "gradient.microbatches=4", "gradient.sync=reduce_scatter_only"],
    "sync list": ["mesh.shard=2", "mesh.replicate=2", "gradient.microbatches=4", "gradient.sync=[false, true, false, true]"],
    "fewer ranks": ["mesh.shard=4", "sharding.reshard_after_forward=2"],
    "fewer uneven ranks": ["mesh.shard=6", "sharding.reshard_after_forward=3", "gradient.microbatches=2"],
    "largest": ["mesh.shard=4", "sharding.dim=largest"],
    "largest, fewer": ["mesh.shard=6", "sharding.dim=largest", "sharding.reshard_after_forward=2"],
    "flat": ["mesh.shard=4", "sharding.dim=flat"],
    "flat, fewer": ["mesh.shard=6", "sharding.dim=flat", "sharding.reshard_after_forward=3", "gradient.clip_norm=1.0"],
    "root": ["mesh.shard=4", "sharding.units=root"],
    "bytes": ["mesh.shard=3", "sharding.units=bytes:2000", "recompute.policy=block"],
    "recompute": ["mesh.shard=2", "recompute.policy=block", "gradient.microbatches=2"],
    "marked": ["mesh.shard=2", "recompute.policy=marked", "sharding.dim=largest"],
    "bf16": ["mesh.shard=2", "precision.compute=bf16", "precision.reduce=bf16"],
    "f16": ["mesh.shard=2", "precision.compute=f16", "precision.loss_scale=dynamic", "gradient.microbatches=2"],
    "f16 reductions": ["mesh.shard=4", "precision.compute=f16", "precision.loss_scale=dynamic", "precision.reduce=f16", "gradient.clip_norm=1.0"],
    "f64": ["mesh.shard=2", "precision.compute=f64", "precision.parameter=f64"],
    "host": ["mesh.shard=2", 'memory.offload=["parameters", "optimizer"]', "gradient.microbatches=2"],
    "host optimizer": ["mesh.shard=3", 'memory.offload=["optimizer"]', "gradient.clip_norm=1.0"],
    "host, largest": ["mesh.shard=3", 'memory.offload=["parameters"]', "sharding.dim=largest"],
    "host, one unit": ["mesh.shard=2", 'memory.offload={root=["parameters", "optimizer"]}', "gradient.microbatches=2", "gradient.clip_norm=1.0"],
    "in backward": ["mesh.shard=2", "optimizer.in_backward=true"],
    "in backward, flat": ["mesh.shard=3", "sharding.dim=flat", "optimizer.in_backward=true"],
    "per pass": ["mesh.shard=2", "gradient.reduce_per_pass=true", "gradient.microbatches=2"],
    "sum": ["mesh.shard=4", "gradient.force_sum=true", "gradient.divide=3", "optimizer.name=sgd"],
    "momentum": ["mesh.shard=3", "optimizer.name=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true"],
    "adam": ["mesh.shard=2", "optimizer.name=adam", "optimizer.weight_decay=0.1", "optimizer.no_decay=norms-and-biases"],
    "rank losses": ["mesh.shard=2", "loss.per_rank=true", "gradient.microbatches=2"],
    "token mean": ["mesh.shard=2", "mesh.replicate=2", "loss.mean=tokens", "gradient.microbatches=2"],
    "chunked loss": ["mesh.shard=2", "loss.chunk_rows=4"],
    "chunked token mean": ["mesh.shard=2", "loss.chunk_rows=4", "loss.mean=tokens", "gradient.microbatches=2", "gradient.sync=every"],
    "statistics": ["mesh.shard=2", "statistics.sync=last", "gradient.microbatches=2"],
    "GPU": ["mesh.shard=4", "target.device=cuda", "precision.compute=bf16"],
    "GPU, host": ["mesh.shard=2", "target.device=cuda", 'memory.offload=["parameters", "optimizer"]', "gradient.microbatches=2"],
    "prefetch": ["mesh.shard=4", "schedule.forward_prefetch=3", "schedule.backward_prefetch=post", "schedule.reduce_buffers=2", "schedule.overlap_steps=false"],
}
# Of families: each rank has a part of every block.
TENSOR = {
    "tensor": ["mesh.tensor=2", "sharding.tensor=megatron"],
    "sequence": ["mesh.tensor=2", "sharding.tensor=megatron", "sharding.sequence=true", "gradient.clip_norm=1.0"],
    "uneven heads": ["mesh.tensor=3", "mesh.shard=2", "sharding.tensor=megatron", "recompute.policy=block"],
    "shared heads": ["mesh.tensor=4", "sharding.tensor=megatron", "gradient.microbatches=2", "precision.compute=bf16"],
}
# Heads with rotation of a part of their columns, and with norms by head.
TENSOR_FAMILIES = ("gpt-neox", "phi3", "stablelm", "stablelm-parallel")


def combinations():
    """Name, arguments of sluice-import and settings of every combination."""
    for model in ZOO:
        for recipe, settings in RECIPES.items():
            yield f"{' '.join(model)}, {recipe}", pinned_plans.zoo(*model), settings
    for family in pinned_plans.families():
        for recipe, settings in {**RECIPES, **TENSOR}.items():
            yield f"{family}, {recipe}", [*pinned_plans.family(family), "--allow-longer"], settings
    for name, (model, settings) in pinned_plans.CASES.items():
        yield name, model, settings


@functools.cache
def imported(model):
    path = SCRATCH / f"model-{next(numbers)}.mlir"
    run("sluice-import", *model, "-o", path)
    return path


def outcome(model, settings):
    """`proved`, `not compiled: ` and the error, or why the plan is not proved."""
    plan = SCRATCH / f"proof-{next(numbers)}.plan"
    done = try_run("sluice-compile", model, *set_options(settings), "-o", plan)
    if done.returncode != 0:
        is_refused = "internal error" in done.stderr or done.returncode not in (1, 3)
        return f"{'refused' if is_refused else 'not compiled'}: {done.stderr.strip()}"
    done = try_run("sluice-plan", "check", plan, "--json")
    if done.returncode != 0:
        return f"refused: {done.stderr.strip()}"
    report = json.loads(done.stdout)
    plan.unlink()
    reasons = [f"{row['property']} {row['outcome']}: {row.get('reason', '')}" for row in report["properties"]
               if row["property"] in ("P7", "P9") and row["outcome"] != "proved"]
    return "; ".join(reasons) or "proved"


def prove(cases):
    """Counts the outcomes; one of another kind than `proved` is a failure."""
    cases = list(cases)
    with concurrent.futures.ThreadPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        found = list(pool.map(lambda case: outcome(*case[1:]), cases))
    lines = [f"{name}: {settings}: {text.replace(chr(10), chr(32))}" for (name, _, settings), text in zip(cases, found) if text != "proved"]
    if "SLUICE_PROOF_REPORT" in os.environ:
        with open(os.environ["SLUICE_PROOF_REPORT"], "a") as report:
            report.writelines(line + "\n" for line in lines)
    lines = [line for line in lines if ": not compiled: " not in line]
    proved = found.count("proved")
    print(f"{len(cases)} plans: {proved} proved, {len(cases) - proved - len(lines)} recipes that do not fit the model, {len(lines)} others")
    for line in lines:
        expect(False, line)
    expect(proved > 0, "expected plans that are proved")


@test
def models_and_recipes():
    cases = list(combinations())
    chosen = random.Random(0).sample(cases, min(PLANS, len(cases))) if PLANS else cases
    prove((name, imported(tuple(model)), settings) for name, model, settings in chosen)


@test
def families_in_parts():
    cases = [(family, recipe) for family in TENSOR_FAMILIES for recipe in TENSOR]
    prove((f"{family}, {recipe}", imported((*pinned_plans.family(family), "--allow-longer")), TENSOR[recipe]) for family, recipe in cases)


@test
def extents_of_one():
    """Parameters of one element, dims of one, and more ranks than any dim has elements."""
    models = [imported(model) for model in (
        ("zoo", "mlp", "--set", "dim=1"), ("zoo", "transformer", "--set", "layers=1", "--set", "dim=1", "--set", "heads=1", "--set", "vocab=1"),
        ("zoo", "linear-relu-linear", "--set", "in=3", "--set", "hidden=2", "--set", "out=1"))] + [Path(__file__).parent / "Inputs" / "value-head.mlir"]
    recipes = ("full shard", "uneven", "gathered", "hybrid", "largest", "flat, fewer", "fewer uneven ranks", "host optimizer", "in backward", "replicated", "momentum")
    prove((f"{model.stem}, {recipe}", model, RECIPES[recipe]) for model in models for recipe in recipes)


@test
def random_settings():
    cases = [AnyCase(number) for number in range(FIRST, FIRST + SETTINGS)]
    prove((f"settings {FIRST + k}: {' '.join(case.name)}", imported(tuple(case.arguments)), case.recipe) for k, case in enumerate(cases))


@test
def random_recipes():
    cases = [Case(number) for number in range(FIRST, FIRST + RANDOM)]
    prove((f"case {FIRST + k}", case.model, case.recipe + case.step) for k, case in enumerate(cases))


main()
