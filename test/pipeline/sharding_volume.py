"""Bytes that each strategy puts on the wire, by rank and step, against the textbook's; and that neither the plan nor the time it
takes to make grows with the axes.

P: bytes of all parameters, W ranks. A gather or a reduction of n bytes over W ranks brings each rank n (W - 1) / W, an
all_reduce twice that.
"""

from sharding_tools import *


def volume(plan):
    total = 0
    for c in plan.collectives():
        if c["unit"] is None:
            continue
        share = (c["group"] - 1) / c["group"]
        whole = c["bytes_out"] if c["kind"] == "all_gather" else c["bytes_in"]
        total += whole * share * (2 if c["kind"] == "all_reduce" else 1)
    return total


@test
def volume_of_each_strategy():
    # Every extent is a multiple of eight: no padding.
    model = zoo("transformer", "layers=4", "dropout=0", "dim=16")
    P = sum(unit["bytes"] for unit in Plan(model, []).shown["units"])
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
            near([found], [wanted], 1e-9, f"{W} ranks, {recipe}")
    # Two replicas of four: gathers and reductions within a replica, all-reduces of what is left of the gradients.
    for S, R in ((4, 2), (2, 4)):
        found = volume(Plan(model, [f"mesh.shard={S}", f"mesh.replicate={R}", "sharding.reshard_after_forward=true"]))
        near([found], [3 * P * (S - 1) / S + 2 * P / S * (R - 1) / R], 1e-9, f"{S} shards, {R} replicas")
    # Kept by two of eight: the second gather stays among them.
    found = volume(Plan(model, ["mesh.shard=8", "sharding.reshard_after_forward=2"]))
    near([found], [2 * P * 7 / 8 + P / 2], 1e-9, "kept over two of eight")


@test
def plans_do_not_grow_with_the_axes():
    model = zoo("transformer", "layers=4", "dropout=0", "dim=16")
    shapes = set()
    for shard, replicate in ((2, 2), (16, 1), (512, 16), (4096, 16)):
        plan = Plan(model, [f"mesh.shard={shard}"] + ([f"mesh.replicate={replicate}"] if replicate > 1 else []))
        step = run("sluice-plan", "print", plan.path).stdout.split("entry train_step")[1].split("\nentry ")[0]
        kinds = [line.split(": ", 1)[1].split("(")[0].split(" ")[0] for line in step.splitlines() if line.startswith("    ")]
        shapes.add((replicate > 1, len([k for k in kinds if k != "fill"])))
    expect_equal(len(shapes), 2, f"instructions by mesh, {shapes}: numbers of them")


main()
