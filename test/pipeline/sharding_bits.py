"""Resharding, units, prefetch and the time of reductions change no bit of losses, norms and weights on one mesh."""

from sluice import *

KEEP = "sharding.reshard_after_forward=false"
RECIPES = [
    ["sharding.reshard_after_forward=true"], ["sharding.reshard_after_forward=2"], [KEEP],
    ["sharding.reshard_after_forward=2", "recompute.policy=block"],
    ["sharding.reshard_after_forward=2", "schedule.backward_prefetch=2"],
    [KEEP, "sharding.reshard_before_backward=true"], [KEEP, "sharding.reshard_after_backward=last"],
    ["schedule.backward_prefetch=post"], ['schedule.forward_prefetch={root=["h.1", "h.0"]}'],
    ['sharding.units={a=["h.0", "h.1"], e=["wpe.*"], none=[]}'], ["sharding.units=bytes:60000"],
]


def expect_same_bits_of(mesh, recipes):
    wanted = train(Plan(gpt2_tiny(), mesh).check())
    for recipe in recipes:
        expect_same_bits(train(Plan(gpt2_tiny(), mesh + recipe).check()), wanted, f"{mesh + recipe}")


@test
def four_ranks():
    expect_same_bits_of(["mesh.shard=4", "gradient.microbatches=2"], RECIPES)


@test
def four_ranks_in_bf16():
    expect_same_bits_of(["mesh.shard=4", "gradient.microbatches=2", "precision.compute=bf16"], RECIPES[1:4] + RECIPES[6:7])


@test
def ranks_that_divide_no_dim():
    expect_same_bits_of(["mesh.shard=6"], [["sharding.reshard_after_forward=2"], ["sharding.reshard_after_forward=3"]])


main()
