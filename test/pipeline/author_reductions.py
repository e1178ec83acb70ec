"""`model.all_reduce` in the zoo's reduce-model: products and reductions with replicated weights, then MLPs whose sharded
weights are gathered during the reductions."""

from checkpoint import train_with_states
from parity import ADAM, same_states
from sluice import *

REPLICATED = 'sharding.replicated=["reduce_module*"]'
MLPS = ["mlps.mlp1", "mlps.mlp2", "mlps.mlp3"]


def sharded(ranks, *more):
    return [f"mesh.shard={ranks}", REPLICATED, "sharding.reshard_after_forward=false", "schedule.forward_prefetch=0"] + list(more)


@test
def parity_with_no_shard():
    model = zoo("reduce-model")
    for ranks, mesh in ((2, sharded(2)), (3, sharded(3)), (4, ["mesh.replicate=2", "mesh.shard=2", REPLICATED])):
        wanted = train_with_states(Plan(model, [f"mesh.shard={ranks}", "sharding.strategy=no_shard"] + ADAM), steps=10)
        same_states(train_with_states(Plan(model, mesh + ADAM), steps=10), wanted, f"{mesh}")


@test
def reductions_change_the_loss():
    """Without the reduction the loss differs: one rank with the rows of both as micro-batches has a different loss."""
    model = zoo("reduce-model")
    one, two = train(Plan(model, ["gradient.microbatches=2"] + ADAM), steps=1), train(Plan(model, sharded(2) + ADAM), steps=1)
    expect(abs(one.loss[0] - two.loss[0]) > 1e-3, f"expected different losses of one and two ranks but got {one.loss} and {two.loss}")


def add_step(weights, along, step):
    """The weights plus `step` times the direction `along`."""
    header, data = split_safetensors(weights)
    data = bytearray(data)
    for name, direction in along.items():
        struct.pack_into(f"<{len(direction)}f", data, header[name]["data_offsets"][0],
                         *(w + step * g for w, g in zip(tensors(weights)[name], direction)))
    return join_safetensors(header, data)


@test
def gradients_by_finite_differences():
    """Along the gradient of the products' weights the mean of all losses changes by the gradient's square times the number of ranks: each loss depends on the
    terms of all ranks, and no rank receives the losses of other ranks."""
    model = zoo("reduce-model")
    for ranks in (2, 3):
        plan = Plan(model, sharded(ranks) + ["optimizer.name=sgd", "optimizer.lr=1.0"])
        start, after = train(plan, steps=0).weights, train(plan, steps=1).weights
        first, last = tensors(start), tensors(after)
        gradient = {name: [a - b for a, b in zip(first[name], last[name])] for name in first if name.startswith("reduce_module")}
        square = sum(g * g for values in gradient.values() for g in values)
        losses = []
        for step in (0.001, -0.001):
            (SCRATCH / "moved.safetensors").write_bytes(add_step(start, gradient, step))
            losses.append(train(plan, "--init", SCRATCH / "moved.safetensors", steps=1).loss[0])
        expect_near([(losses[0] - losses[1]) / 0.002 / square], [ranks], 0.05, f"{ranks} ranks: change of the loss by the gradient's square")


@test
def gathers_during_reductions():
    """The gather of each unit is issued after the start of its reduction and before the next reduction."""
    plan = Plan(zoo("reduce-model"), sharded(2))
    forward = [c for c in plan.collectives(phase="forward")]
    expect_equal([(c["kind"], c["unit"]) for c in forward],
                 [pair for unit in MLPS for pair in (("all_reduce", None), ("all_gather", unit))], "collectives")


@test
def one_rank_has_no_collective():
    expect_equal(Plan(zoo("reduce-model"), []).collectives(), [], "collectives of one rank")


@test
def with_a_tensor_axis():
    split = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
    model = zoo("reduce-model")
    expect_near_runs(train(Plan(model, sharded(2, "mesh.tensor=2", split) + ADAM), steps=4), train(Plan(model, sharded(2) + ADAM), steps=4),
                     1e-5, "with a tensor axis", weights=1e-3)
    # The reduction over the data axes is of a shard that is uneven along the tensor axis.
    model = zoo("reduce-model", "dim=5")
    uneven = sharded(2, "mesh.tensor=2", 'sharding.tensor={"reduce_module*.weight"="column"}')
    expect_near_runs(train(Plan(model, uneven + ADAM), steps=4), train(Plan(model, sharded(2) + ADAM), steps=4), 1e-5, "in uneven shards",
                     weights=1e-3)


main(no_empty_loops=True)
