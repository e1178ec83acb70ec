"""Meshes with a tensor axis and other axes: collectives and norms (reference_rows.py compares the numbers)."""

from sluice import *

SPLIT = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'


@test
def shard_and_tensor():
    plan = Plan(zoo("mlp-stack", "dim=16"), ["mesh.shard=2", "mesh.tensor=2", SPLIT])
    expect_equal([(a["axis"], a["size"]) for a in plan.description["mesh"] if a["size"] > 1], [("shard", 2), ("tensor", 2)], "mesh")
    expect("tensor" in {c["axis"] for c in plan.collectives()}, "expected collectives along the tensor axis")
    expect_equal({c["axis"] for c in plan.collectives("all_gather") if c["unit"]}, {"shard"}, "axes of gathers of units")


@test
def replicate_shard_and_tensor():
    plan = Plan(zoo("mlp-stack", "dim=16"), ["mesh.replicate=2", "mesh.shard=2", "mesh.tensor=2", SPLIT])
    expect_equal({c["axis"] for c in plan.collectives() if c["unit"] and c["kind"] != "all_gather"}, {"shard", "replicate"},
                 "axes of reductions of units")


@test
def norms_over_shard_and_tensor():
    model = zoo("mlp-stack", "dim=16", "batch=8")
    for p in (1, 2, 3, "inf"):
        clip = ["gradient.clip_norm=0.05", f"gradient.clip_type={p}", "optimizer.name=sgd", "optimizer.lr=0.1"]
        plan = Plan(model, ["mesh.shard=2", "mesh.tensor=2", SPLIT] + clip)
        found = sorted(c["axis"] for c in plan.collectives("all_reduce", phase="update") if c["unit"] is None and c["op"] != "mean")
        expect_equal(found, ["shard", "tensor"], f"p = {p}: reductions of the norm")
        expect_near_runs(train(plan), train(Plan(model, ["gradient.microbatches=2"] + clip)), 1e-5, f"p = {p}", weights=1e-5)


@test
def sums_of_padded_gradients():
    """Two heads over three ranks: the gradients of two passes, of which the last rank has padding, are added and squared."""
    model = zoo("two-forwards", "layers=2", "dropout=0")
    padded = ['sharding.tensor={"layers.1.attention.wo.weight"="row"}', "gradient.reduce_per_pass=true", "gradient.clip_norm=0.05"]
    for mesh, microbatches in ([], 1), (["mesh.shard=3", "sharding.dim=largest"], 3), (["mesh.shard=2", "gradient.microbatches=2"], 4):
        expect_near_runs(train(Plan(model, ["mesh.tensor=3"] + mesh + padded), steps=5),
                         train(Plan(model, [f"gradient.microbatches={microbatches}", "gradient.clip_norm=0.05"]), steps=5), 1e-5, f"{mesh}", weights=1e-3)


main(no_empty_loops=True)
