"""Accumulation of gradients over micro-batches: exact counts of every mode, and lists of micro-batches that reduce."""

from parity import parity
from sluice import *

N, K, D = 3, 3, 2
DEFER = {"all": "last", "some_mlps": '{"1"="last", "2"="last", "*"="every"}', "root_only": '{root="last", "*"="every"}'}
# The same modes, in which only the reduction over replicas is deferred.
DEFER_REPLICAS = {"all": "reduce_scatter_only", "some_mlps": '{"1"="reduce_scatter_only", "2"="reduce_scatter_only", "*"="every"}',
                  "root_only": '{root="reduce_scatter_only", "*"="every"}'}
REDUCES = {"all": N + 1, "some_mlps": (N + 1) + (N - D + 1) * (K - 1), "root_only": (N + 1) + N * (K - 1)}


def variants():
    for mesh, after, mode, keep, replicas_only, offload in itertools.product(
            (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"]), ("true", "false", "2"), DEFER, (False, True), (False, True), (False, True)):
        if keep and (after != "false" or mode == "some_mlps"):
            continue
        if offload and after != "true":
            continue
        if replicas_only and len(mesh) == 1:
            continue
        yield mesh, after, mode, keep, replicas_only, offload


def recipe_of(_, after, mode, keep, replicas_only, offload):
    """Without the mesh and the micro-batches."""
    recipe = [f"sharding.reshard_after_forward={after}", f"gradient.sync={(DEFER_REPLICAS if replicas_only else DEFER)[mode]}"]
    if keep:
        recipe.append("sharding.reshard_after_backward=" + {"all": "last", "root_only": '{root="last"}'}[mode])
    if offload:
        recipe.append('memory.offload=["parameters", "optimizer"]')
    return recipe


@test
def counts_of_every_mode():
    model = zoo("linear-mlps", "count=3", "dim=32")
    number = 0
    for variant in variants():
        mesh, after, mode, keep, replicas_only, _ = variant
        plan = Plan(model, mesh + [f"gradient.microbatches={K}"] + recipe_of(*variant))
        scatters = (N + 1) * K if replicas_only else REDUCES[mode]
        gathers = 2 * (N + 1) * K
        if after == "false":
            gathers = (N + 1) * K
            if keep:
                gathers = {"all": N + 1, "root_only": (N + 1) + N * (K - 1)}[mode]
        expect_equal((plan.count("all_gather"), plan.count("reduce_scatter"), plan.count("all_reduce")),
                     (gathers, scatters, REDUCES[mode] if len(mesh) == 2 else 0), f"{mesh + recipe_of(*variant)}")
        number += 1
    expect_equal(number, 42, "variants")


@test
def parity_of_every_mode():
    model = zoo("linear-mlps", "count=3", "dim=32")
    by_mesh = collections.defaultdict(list)
    for variant in variants():
        by_mesh[tuple(variant[0])].append(recipe_of(*variant))
    for mesh, recipes in by_mesh.items():
        parity(model, list(mesh), 4, recipes, steps=5, microbatches=K)


@test
def gathered_once_for_all_microbatches():
    # A pipeline stage's schedule: each unit is gathered once, before its use; one reduction at the end.
    model = zoo("transformer", "dropout=0")
    for more, gathers in ((["sharding.reshard_after_backward=last"], 3), ([], 9)):
        settings = ["sharding.reshard_after_forward=false"] + more
        recipe, prefetch = ["mesh.shard=4", "gradient.microbatches=3"] + settings, 'schedule.forward_prefetch={root=["layers.0", "layers.1"]}'
        early = recipe + [prefetch]
        for one in (recipe, early):
            plan = Plan(model, one)
            expect_equal((plan.count("all_gather"), plan.count("reduce_scatter")), (gathers, 3), f"{one}")
            expect_equal({c["microbatch"] for c in plan.collectives("reduce_scatter")}, {2}, f"{one}: micro-batch of reductions")
        expect_equal(Plan(model, early).events("forward")[:3], ["U(root)", "U(layers.0)", "U(layers.1)"], "early gathers")
        parity(model, ["mesh.shard=4"], 4, [settings + [prefetch]], microbatches=3)


def lists(pattern):
    """`[false, true, ...]`; the last micro-batch always reduces."""
    return "[" + ", ".join(["true" if one else "false" for one in pattern[:-1]] + ["true"]) + "]"


@test
def sync_by_list_of_microbatches():
    # Three micro-batches deferred, three reduced, three deferred, and the opposite: by strategy, by prefetch of the backward, and with parameters sharded
    # by dim or by elements. The reference is one pass over all rows.
    model, all_rows = zoo("encoder-decoder", "batch=2"), zoo("encoder-decoder", "batch=36")
    sgd = ["optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]
    alone = train(Plan(model, ["gradient.microbatches=18"] + sgd), steps=2)
    once = train(Plan(all_rows, sgd), steps=1)
    # The loss sums over rows, the step takes the mean of its micro-batches.
    expect_near([once.loss[0] / 18], alone.loss[:1], 1e-5, "loss of one pass over all rows")
    expect_near([once.norm[0] / 18], alone.norm[:1], 1e-5, "norm of its gradients")
    F, T = False, True
    number = 0
    for prefetch, strategy, dim in itertools.product(("none", "pre", "post"), ("full_shard", "shard_grad_op", "no_shard"), ("first", "flat")):
        for pattern in ([F, F, F, T, T, T, F, F, F], [T, T, T, F, F, F, T, T, T]):
            recipe = ["mesh.shard=2", "gradient.microbatches=9", f"schedule.backward_prefetch={prefetch}",
                      f"sharding.strategy={strategy}", f"sharding.dim={dim}", f"gradient.sync={lists(pattern)}"] + sgd
            plan = Plan(model, recipe)
            kind = "all_reduce" if strategy == "no_shard" else "reduce_scatter"
            times = sum(pattern[:-1]) + 1
            expect_equal(plan.count(kind), times * len([u for u in plan.description["units"] if u["bytes"]]), f"{recipe}: reductions")
            expect_near_runs(train(plan, steps=2), alone, 1e-5, f"{recipe}", weights=1e-5)
            number += 1
    expect_equal(number, 36, "runs")


@test
def accumulation_in_the_reduce_dtype():
    # Gradients of narrow dtypes are accumulated over micro-batches in f32, before and after their reduction.
    model = zoo("mlp-sequence", "count=3", "dim=16")
    for sync in ("last", "every"):
        recipe = ["mesh.shard=4", "gradient.microbatches=4", "precision.compute=bf16", "precision.reduce=f32", f"gradient.sync={sync}"]
        plan = Plan(model, recipe)
        expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")}, {"f32"}, f"{sync}: dtype of reductions")
        expect_equal({c["dtype"] for c in plan.collectives("all_gather")}, {"bf16"}, f"{sync}: dtype of gathers")
        sums = [one.operands for one in plan.instructions() if one.what == "accumulate"]
        expect(sums and all(":bf16" not in operands for operands in sums), f"{sync}: expected only sums in f32 but got {sums[:2]}")
        if sync == "last":
            # The kernels of the gradients of weights and biases add to the sums.
            added = [one.operands.split(" -> ")[1] for one in plan.instructions() if one.when == "not_first" and one.what in ("matmul", "reduce_sum")]
            expect_equal(len(added), len(plan.parameters()), "launches that add to sums")
            expect(all(":f32" in operands for operands in added), f"expected only sums in f32 but got {added[:2]}")
        expect_near_runs(train(plan, steps=3), train(Plan(model, ["gradient.microbatches=16"]), steps=3), 3e-2, f"{recipe}")


@test
def refusals():
    model = zoo("linear-mlps", "count=3", "dim=32")
    base = ["mesh.shard=4", "gradient.microbatches=3"]
    expect_refused(model, base + ["sharding.reshard_after_backward=last"],
                   "--set sharding.reshard_after_backward=last: value of 'sharding.reshard_after_backward' for unit '",
                   "\"last\" requires 'sharding.reshard_after_forward' = false")
    expect_refused(model, base + ["sharding.reshard_after_forward=false", "sharding.reshard_before_backward=true",
                          "sharding.reshard_after_backward=last"], "\"last\" requires 'sharding.reshard_before_backward' = false")
    expect_refused(model, base + ["gradient.sync=[true, true, false]"], "expected true for the last micro-batch but got false")
    expect_refused(model, base + ["gradient.sync=[true]"], "expected 3 values, one for each micro-batch, but got 1")
    # A plan lists at most 64 repetitions: of those that reduce, and of those that do not.
    for reduce, defer in ((65, 1), (2, 65), (64, 64), (2, 64)):
        turns = ["gradient.sync=[" + "false, " * defer + "true, " * (reduce - 1) + "true]", f"gradient.microbatches={reduce + defer}"]
        if max(reduce, defer) > 64:
            expect_refused(model, ["mesh.shard=4"] + turns, "value of 'gradient.sync' for unit 'root', expected at most 64 micro-batches that reduce and as "
                           f"many that do not, or \"last\" or \"every\", but got {reduce} and {defer}")
        else:
            Plan(model, ["mesh.shard=4"] + turns)
    expect_refused(model, ["gradient.microbatches=0"], "value of 'gradient.microbatches', expected ", "but got 0")


main(no_empty_loops=True)
