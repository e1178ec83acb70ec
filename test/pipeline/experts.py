"""Experts on a separate axis: numbers are those of one rank, and a layer has the expected collectives along the axis."""

import random

from parity import ADAM, parity
from sluice import *

EXPERT = ["mesh.expert=2", 'sharding.expert=["*.experts.*"]']
TENSOR = ["mesh.tensor=2", 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}']


def moe(*settings):
    return zoo("moe", "batch=4", *settings)


def check_parity(model, ranks, settings, what):
    """`ranks` is the number of ranks with different rows."""
    start = train(Plan(model, []), steps=0).weights
    expect(train(Plan(model, settings + ADAM), steps=0).weights == start, f"{what}: expected the initial weights of one rank")
    parity(model, settings, ranks, [[]], steps=5)


@test
def tensor_replicas_and_experts():
    # Eight ranks: tensor 1 and 2, replicas 1 and 2, experts over 2; the other ranks shard.
    for tensor, replicas, gating in itertools.product((1, 2), (1, 2), ("dense", "best")):
        shards = 4 // (tensor * replicas)
        settings = EXPERT + (TENSOR if tensor == 2 else []) + [f"mesh.replicate={replicas}", f"mesh.shard={shards}"]
        for after in ("true", "false"):
            check_parity(moe(f"gating={gating}", "experts=8"), replicas * shards, settings + [f"sharding.reshard_after_forward={after}"],
                         f"tensor {tensor}, replicas {replicas}, shards {shards}, {gating}")


@test
def experts_and_shards():
    for dim, recipe in itertools.product((6, 8), ([], ["sharding.reshard_after_forward=false"], ["recompute.policy=block"],
                                                  ["sharding.dim=largest"], ["sharding.dim=flat"], ["sharding.strategy=no_shard"])):
        check_parity(moe(f"dim={dim}"), 2, EXPERT + ["mesh.shard=2"] + recipe, f"dim {dim}, {recipe}")
    check_parity(moe("experts=8"), 1, ["mesh.expert=4"] + EXPERT[1:], "four ranks of experts")
    check_parity(moe(), 2, EXPERT + TENSOR + ["mesh.shard=2"], "shards, experts and tensor")


@test
def axes_of_shards_and_reductions():
    plan = Plan(moe(), EXPERT + ["mesh.shard=2"])
    expect_equal([(a["axis"], a["size"]) for a in plan.description["mesh"]],
                 [("replicate", 1), ("shard", 2), ("expert", 2), ("tensor", 1)], "mesh")
    expect_equal(plan.units(), ["root", "layers.0", "layers.0.experts", "layers.1", "layers.1.experts"], "units")
    expect_equal(plan.parameters()["layers.0.experts.w1"]["local"], [1, 8, 16], "shard of an expert")
    expect_equal(plan.parameters()["layers.0.dense.in_proj.weight"]["local"], [4, 8], "shard of a different parameter")
    for kind in ("all_gather", "reduce_scatter"):
        found = {(c["unit"].endswith(".experts"), c["axis"]) for c in plan.collectives(kind) if c["unit"]}
        expect_equal(found, {(True, "shard"), (False, "shard*expert")}, f"{kind} of units")
    # Experts: the mean over shards of a sum over all rows. Others: a sum over experts, and that mean.
    found = {(c["unit"], c["op"]) for c in plan.collectives("reduce_scatter", unit="layers.0") +
             plan.collectives("reduce_scatter", unit="layers.0.experts")}
    expect_equal(found, {("layers.0", "premul_sum"), ("layers.0.experts", "mean")}, "operations of reductions")
    replicated = Plan(moe(), EXPERT + ["mesh.replicate=2", "sharding.strategy=no_shard"])
    found = {(c["unit"], c["axis"], c["op"]) for c in replicated.collectives("all_reduce") if c["unit"] and "layers.0" in c["unit"]}
    expect_equal(found, {("layers.0", "replicate", "mean"), ("layers.0", "expert", "sum"), ("layers.0.experts", "replicate", "mean")},
                 "operations of reductions of replicated gradients")


@test
def collectives_over_the_expert_axis():
    # Forward: rows are gathered, ranks exchange the gates of their rows for those of their experts, and rows are reduced. Backward: the opposite;
    # the forward keeps no gathered rows.
    plan = Plan(moe("layers=1"), EXPERT)
    found = collections.Counter((c["phase"], c["kind"]) for c in plan.collectives(axis="expert") if c["unit"] is None)
    expect_equal(found[("forward", "all_gather")], 1, "gathers forward")
    expect_equal((found[("forward", "all_to_all")], found[("backward", "all_to_all")]), (1, 1), "exchanges")
    expect_equal(found[("forward", "reduce_scatter")], 1, "reductions forward")
    expect_equal(found[("backward", "reduce_scatter")], 1, "reductions backward")
    expect_equal(found[("update", "all_reduce")], 1, "reductions of the norm")
    # A gather is of rows, not of a row for each expert.
    rows = 4 * 8 * 4
    largest = max(c["bytes_out"] for c in plan.collectives("all_gather", axis="expert") if c["unit"] is None)
    expect(largest <= rows, f"bytes of a gather, expected at most those of all rows ({rows}) but got {largest}")


@test
def gradient_norms():
    for p in (1, 2, 3, "inf"):
        clip = ["gradient.clip_norm=0.05", f"gradient.clip_type={p}", "optimizer.name=sgd", "optimizer.lr=0.1"]
        plan = Plan(moe(), EXPERT + TENSOR + ["mesh.shard=2"] + clip)
        found = sorted(c["axis"] for c in plan.collectives("all_reduce", phase="update") if c["unit"] is None and c["op"] != "mean")
        expect_equal(found, ["shard*expert", "tensor"], f"p = {p}: reductions of the norm")
        expect_near_runs(train(plan), train(Plan(moe(), ["gradient.microbatches=2"] + clip)), 1e-5, f"p = {p}", weights=1e-5)


@test
def accumulation_divisors_and_offload():
    for recipe in (["gradient.sync=every"], ["gradient.sync=last", "gradient.force_sum=true"], ["gradient.divide=8"],
                   ['memory.offload=["parameters", "optimizer"]']):
        divide = recipe if "gradient.divide=8" in recipe else []
        alone = train(Plan(moe(), ["gradient.microbatches=4"] + divide + ADAM)) if not divide else None
        plan = Plan(moe(), EXPERT + ["mesh.shard=2", "gradient.microbatches=2"] + recipe + ADAM)
        if alone:
            expect_near_runs(train(plan), alone, 1e-4, f"{recipe}", weights=2e-3)
        else:
            sums = train(Plan(moe(), ["mesh.shard=2", "gradient.microbatches=2"] + recipe + ADAM))
            expect_near_runs(train(plan), sums, 1e-4, f"{recipe}", weights=2e-3)


@test
def models_without_experts():
    # A model without experts is data-parallel over the axis: attention, dropout, a loss that is a mean.
    for settings in (("dropout=0.1",), ("dropout=0", "loss=cross-entropy")):
        model = zoo("transformer", "batch=4", *settings)
        expect_near_runs(train(Plan(model, ["mesh.expert=2"])), train(Plan(model, [])), 1e-4, f"{settings}", weights=2e-3)
    expect_near_runs(train(Plan(gpt2_tiny(4), ["mesh.expert=2", "mesh.tensor=2", "sharding.tensor=megatron", "sharding.sequence=true"])),
                     train(Plan(gpt2_tiny(4), [])), 1e-4, "GPT-2 sharded by rows, by the sequence and by features", weights=2e-3)
    expect_remark(gpt2_tiny(4), ["mesh.expert=2"], "--set mesh.expert=2: 'mesh.expert' shards only rows where 'sharding.expert' names no parameter")


MODELS = [("moe",), ("moe", "dim=5", "gating=best"), ("moe", "experts=12", "layers=1", "loss=mean"),
          ("moe", "experts=12", "dim=6", "loss=first-row-square"), ("norm-mlps", "dim=5"), ("two-forwards",), ("unused-linear", "dim=5"),
          ("multi-forward",), ("shared-linear", "dim=5"), ("nested-recompute",)]
SETTINGS = [[], ["recompute.policy=block"], ["gradient.microbatches=2"], ["gradient.clip_norm=0.1"], ["sharding.dim=flat"],
         ["sharding.dim=largest"], ["sharding.strategy=no_shard"], ["sharding.units=root"], ["sharding.units=bytes:500"],
         ["gradient.microbatches=3", "gradient.sync=every"], ["gradient.force_sum=true"], ["gradient.divide=3"],
         ["sharding.reshard_after_forward=false"], ['memory.offload=["parameters", "optimizer"]'], ['sharding.replicated=["*.weight"]'],
         ["sharding.strategy=shard_grad_op"], ["gradient.microbatches=3", "gradient.sync=[false, true, true]"]]


@test
def random_models():
    # SLUICE_EXPERT_CASES=N runs N cases.
    for seed in range(int(os.environ.get("SLUICE_EXPERT_CASES", 12))):
        draw = random.Random(seed)
        kind, ranks = draw.choice(MODELS + MODELS[:4]), draw.choice((2, 2, 3, 4))
        if kind[0] == "moe" and "experts=12" not in kind and ranks == 3:
            ranks = 2
        model = zoo(*kind, f"batch={ranks * draw.choice((1, 2))}")
        data = draw.choice([[], ["mesh.shard=2"], ["mesh.shard=3"], ["mesh.replicate=2"], ["mesh.replicate=2", "mesh.shard=2"]])
        more = draw.choice(SETTINGS) + ["optimizer.name=sgd", "optimizer.lr=0.01"]
        axis = [f"mesh.expert={ranks}"]
        if kind[0] == "moe":
            axis += EXPERT[1:] + (TENSOR if draw.random() < 0.3 and len(data) < 2 else [])
        expect_near_runs(train(Plan(model, data + axis + more), steps=2), train(Plan(model, data + more), steps=2), 3e-4,
                         f"seed {seed}, {model.stem}, {data + axis + more}", weights=3e-4)


@test
def refusals():
    globs = EXPERT[1]
    key = f"--set {globs}: value of 'sharding.expert' for parameter "
    expect_refused(moe("experts=3"), EXPERT, key + "'layers.0.experts.w1', expected a multiple of 'mesh.expert' (2) as the number of experts but got 3")
    expect_refused(moe(), EXPERT[:1] + ['sharding.expert=["*.bias"]'], "expected a rank of at least 2, with the experts as dim 0, but got rank 1")
    expect_remark(moe(), EXPERT[:1] + ['sharding.expert=["nothing"]'], "'nothing' in 'sharding.expert' matches no parameter")
    expect_refused(moe(), EXPERT + ["mesh.tensor=2", 'sharding.tensor={"*.w1"="column"}'],
                   "value of 'sharding.tensor' for parameter 'layers.0.experts.w1', expected replicated for a parameter that "
                   "'sharding.expert' shards but got column")
    expect_refused(zoo("moe", "batch=3"), EXPERT,
                   "--set mesh.expert=2: value of 'mesh.expert', expected a divisor of the rows of entry point 'train_step' (3) but got 2")
    expect_refused(moe(), EXPERT + ["mesh.shard=4", "sharding.reshard_after_forward=2"],
                   "a number of ranks as 'sharding.reshard_after_forward' cannot be combined with 'mesh.expert' above 1")
    dropped = zoo("transformer", "batch=4", "dropout=0.1")
    expect_refused(dropped, ["mesh.expert=2", "mesh.tensor=2", 'sharding.tensor={"*.w1.*"="column", "*.w2.*"="row", "*.wq.weight"="column", '
                     '"*.wk.weight"="column", "*.wv.weight"="column", "*.wo.weight"="row"}'],
           "along 'tensor', but its kernel reads a position along another axis")
    expect_remark(moe(), [globs], f"--set {globs}: 'sharding.expert' has no effect where 'mesh.expert' is 1")


main(no_empty_loops=True)
