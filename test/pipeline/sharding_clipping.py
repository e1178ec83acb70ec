"""Clipping by the global norm: its value over any mesh, its reductions, its effect."""

from sluice import *

MODEL = ("norm-mlps", "dim=17")
MESHES = ((["mesh.shard=4"], ["shard"]), (["mesh.replicate=2", "mesh.shard=2"], ["shard"]), (["mesh.replicate=4"], []),
          (["mesh.shard=4", "sharding.strategy=no_shard"], []), (["mesh.shard=4", "sharding.dim=flat"], ["shard"]),
          (["mesh.shard=4", "sharding.dim=largest"], ["shard"]), (["mesh.shard=4", 'sharding.replicated=["*.bias"]'], ["shard"]))
MAX = 0.05


def clipping(p, rate=1):
    return [f"gradient.clip_norm={MAX}", f"gradient.clip_type={p}", "optimizer.name=sgd", f"optimizer.lr={rate}"]


@test
def norms_equal_those_of_one_rank():
    for p in (1, 2, 3, "inf"):
        alone = train(Plan(zoo(*MODEL), ["gradient.microbatches=4"] + clipping(p, 0.1)), steps=5)
        expect(all(norm > MAX for norm in alone.norm), f"p = {p}: expected every norm above {MAX} but got {alone.norm}")
        for mesh, _ in MESHES:
            found = train(Plan(zoo(*MODEL), mesh + clipping(p, 0.1)), steps=5)
            expect_near_runs(found, alone, 1e-5, f"p = {p}, {mesh}", weights=1e-5)


@test
def one_reduction_for_each_axis():
    for p in (1, 2, 3, "inf"):
        for mesh, axes in MESHES:
            plan = Plan(zoo(*MODEL), mesh + clipping(p))
            found = [(c["axis"], c["op"]) for c in plan.collectives("all_reduce", phase="update") if c["unit"] is None and c["op"] != "mean"]
            expect_equal(found, [(axis, "max" if p == "inf" else "sum") for axis in axes], f"p = {p}, {mesh}: reductions of the norm")


@test
def gradients_are_clipped_to_the_norm():
    # With learning rate 1 the weights change by the gradient: its norm, of type p, is the bound.
    for p in (1, 2, 3, "inf"):
        for mesh, _ in MESHES:
            plan = Plan(zoo(*MODEL), mesh + clipping(p))
            before, after = (tensors(train(plan, steps=steps).weights) for steps in (0, 1))
            moved = [abs(b - a) for name in before for a, b in zip(before[name], after[name])]
            norm = max(moved) if p == "inf" else sum(m ** p for m in moved) ** (1 / p)
            expect_near([norm], [MAX], 2e-3, f"p = {p}, {mesh}: norm of the step")


@test
def no_clipping_below_the_norm():
    for mesh, _ in MESHES[:2]:
        sgd = ["optimizer.name=sgd", "optimizer.lr=0.1"]
        expect_same_bits(train(Plan(zoo(*MODEL), mesh + sgd + ["gradient.clip_norm=1e6"])), train(Plan(zoo(*MODEL), mesh + sgd)), f"{mesh}")


@test
def refusals():
    expect_refused(zoo(*MODEL), ["gradient.clip_norm=1", "gradient.clip_type=0.5"], "value of 'gradient.clip_type', expected ", "but got 0.5")
    expect_refused(zoo(*MODEL), ["gradient.clip_norm=0"], "value of 'gradient.clip_norm', expected ")


main(no_empty_loops=True)
