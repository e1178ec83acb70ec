"""Each strategy transfers the textbook's bytes by rank and step, and the size of a plan does not depend on the mesh.

P: bytes of all parameters, W ranks. A gather or a reduction of n bytes over W ranks transfers n (W - 1) / W bytes for each rank, an
all_reduce twice as many.
"""

from sluice import *


def volume(plan):
    total = 0
    for c in plan.collectives():
        if c["unit"] is None:
            continue
        share = (c["group"] - 1) / c["group"]
        unsharded = c["bytes_out"] if c["kind"] == "all_gather" else c["bytes_in"]
        total += unsharded * share * (2 if c["kind"] == "all_reduce" else 1)
    return total


@test
def communication_volume_of_each_strategy():
    # Every extent is a multiple of eight: no padding.
    model = zoo("transformer", "layers=4", "dropout=0", "dim=16")
    P = sum(unit["bytes"] for unit in Plan(model, []).description["units"])
    for W in (2, 4, 8):
        share = (W - 1) / W
        for recipe, wanted in (
                (["sharding.reshard_after_forward=true"], 3 * P * share), (["sharding.strategy=shard_grad_op"], 2 * P * share),
                (["sharding.strategy=no_shard"], 2 * P * share),
                (["sharding.reshard_after_forward=true", "precision.compute=bf16", "precision.reduce=f32"], 2 * P * share),
                (["sharding.reshard_after_forward=true", "precision.compute=bf16", "precision.reduce=bf16"], 1.5 * P * share),
                (["sharding.reshard_after_forward=true", "gradient.microbatches=3"], 7 * P * share),
                (["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last", "gradient.microbatches=3"], 2 * P * share),
                (["sharding.reshard_after_forward=true", "gradient.microbatches=3", "gradient.sync=every"], 9 * P * share)):
            found = volume(Plan(model, [f"mesh.shard={W}"] + recipe))
            expect_near([found], [wanted], 1e-9, f"{W} ranks, {recipe}")
    # Two replicas of four: gathers and reductions within a replica, all-reduces of the gradient shards between them.
    for S, R in ((4, 2), (2, 4)):
        found = volume(Plan(model, [f"mesh.shard={S}", f"mesh.replicate={R}", "sharding.reshard_after_forward=true"]))
        expect_near([found], [3 * P * (S - 1) / S + 2 * P / S * (R - 1) / R], 1e-9, f"{S} shards, {R} replicas")
    # Resharded over two of eight ranks: the second gather is over two.
    found = volume(Plan(model, ["mesh.shard=8", "sharding.reshard_after_forward=2"]))
    expect_near([found], [2 * P * 7 / 8 + P / 2], 1e-9, "resharded over two of eight")


def size(model, settings):
    """Numbers of instructions, buffers, fills and bytes of a plan that the checker accepts."""
    plan = Plan(model, settings).check()
    lines = plan.text.splitlines()
    return (sum(line.startswith("    ") for line in lines), sum(line.startswith("buffer ") for line in lines),
            sum(": fill " in line for line in lines), len(plan.bytes))


@test
def plan_size_is_independent_of_the_mesh():
    # Each axis, and the micro-batches, 8 and 1,024: every extent is a multiple of both, so nothing is padded. A plan leaves out numbers that are zero:
    # the sizes differ by a few bytes.
    model = zoo("transformer", "layers=2", "dropout=0", "dim=1024", "max_sequence=1024", "vocab=1024")
    stack = zoo("mlp-stack", "dim=8192")
    split = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
    for of, axis, more in ((model, "mesh.shard", []), (model, "mesh.shard", ["sharding.dim=flat"]), (model, "mesh.shard", ["mesh.replicate=8"]),
                           (model, "mesh.replicate", []), (model, "mesh.replicate", ["mesh.shard=8"]), (stack, "mesh.tensor", [split]),
                           (stack, "mesh.tensor", [split, "mesh.shard=8"]), (stack, "mesh.shard", [split, "mesh.tensor=8"]),
                           (model, "gradient.microbatches", ["mesh.shard=8"]),
                           (model, "gradient.microbatches", ["mesh.shard=8", "gradient.sync=every", "recompute.policy=block"])):
        few, many = (size(of, [f"{axis}={ranks}"] + more) for ranks in (8, 1024))
        expect(few[:3] == many[:3] and abs(few[3] - many[3]) <= 64,
               f"{axis}, {more}: expected a plan of one size but got {few} with 8 and {many} with 1,024")
    # The padding of uneven dims has the same instructions for any number of ranks.
    small = zoo("transformer", "layers=4", "dropout=0", "dim=16")
    sizes = {ranks: size(small, [f"mesh.shard={ranks}"]) for ranks in (5, 512, 65536)}
    expect(len({found[:3] for found in sizes.values()}) == 1 and max(s[3] for s in sizes.values()) - min(s[3] for s in sizes.values()) <= 64,
           f"plans with padding, by ranks: expected one size but got {sizes}")


main(no_empty_loops=True)
