"""`model.all_reduce` in the zoo's reduce-model: products and reductions with whole weights, then MLPs whose weights are sharded
and gathered while the reductions are under way."""

from sharding_tools import *

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
WHOLE = 'sharding.replicated=["reduce_module*"]'
MLPS = ["mlps.mlp1", "mlps.mlp2", "mlps.mlp3"]


def sharded(ranks, *more):
    return [f"mesh.shard={ranks}", WHOLE, "sharding.reshard_after_forward=false", "schedule.forward_prefetch=0"] + list(more)


@test
def numbers_of_whole_weights():
    model = zoo("reduce-model")
    for ranks in (2, 3):
        whole = train(Plan(model, [f"mesh.shard={ranks}", "sharding.strategy=no_shard"] + ADAM), steps=10)
        near_runs(train(Plan(model, sharded(ranks) + ADAM), steps=10), whole, 1e-5, f"{ranks} ranks", weights=1e-3)
    whole = train(Plan(model, ["mesh.shard=4", "sharding.strategy=no_shard"] + ADAM), steps=10)
    near_runs(train(Plan(model, ["mesh.replicate=2", "mesh.shard=2", WHOLE] + ADAM), steps=10), whole, 1e-5, "replicas", weights=1e-3)


@test
def ranks_see_each_other():
    """The reduction is there: two ranks of equal rows double what one rank has, and other rows count."""
    model = zoo("reduce-model")
    alone, two = train(Plan(model, ADAM), steps=1), train(Plan(model, sharded(2) + ADAM), steps=1)
    expect(abs(alone.loss[0] - two.loss[0]) > 1e-3, f"expected another loss with two ranks but got {alone.loss} and {two.loss}")


@test
def gathered_while_reduced():
    """Each unit's gather is issued behind the start of its reduction, ahead of the next; no reduced value has been read yet."""
    plan = Plan(zoo("reduce-model"), sharded(2))
    forward = [c for c in plan.collectives(phase="forward")]
    expect_equal([(c["kind"], c["unit"]) for c in forward],
                 [pair for unit in MLPS for pair in (("all_reduce", None), ("all_gather", unit))], "collectives")


@test
def one_rank_has_none():
    expect_equal(Plan(zoo("reduce-model"), []).collectives(), [], "collectives of one rank")


@test
def beside_a_tensor_axis():
    split = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
    model = zoo("reduce-model")
    near_runs(train(Plan(model, sharded(2, "mesh.tensor=2", split) + ADAM), steps=4), train(Plan(model, sharded(2) + ADAM), steps=4),
              1e-5, "with a tensor axis", weights=1e-3)
    # What is reduced over the data's ranks is an uneven part over those of the tensor axis.
    model = zoo("reduce-model", "dim=5")
    uneven = sharded(2, "mesh.tensor=2", 'sharding.tensor={"reduce_module*.weight"="column"}')
    near_runs(train(Plan(model, uneven + ADAM), steps=4), train(Plan(model, sharded(2) + ADAM), steps=4), 1e-5, "in uneven parts",
              weights=1e-3)


main()
