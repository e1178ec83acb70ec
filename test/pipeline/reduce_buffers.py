"""Inputs of reductions: kernels write gradients there, and `schedule.reduce_buffers`, how many may be in flight, changes no bit."""

from checkpoint import train_with_states
from sluice import *

BF16 = ["precision.compute=bf16", "precision.reduce=bf16", "optimizer.name=adamw", "optimizer.lr=0.01"]
MESHES = (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"])


@functools.cache
def model():
    return zoo("transformer", "tied=false", "dropout=0")


def most_in_flight(plan):
    """Over the reductions of units: those that the compute stream has not waited for at the issue of one, with it."""
    pending, recorded, most = [], {}, 0
    for one in plan.instructions():
        event = one.operands.split()[0] if one.what in ("record", "wait") else None
        if one.what == "reduce_scatter":
            pending.append(one.index)
            most = max(most, len(pending))
        elif one.what == "record" and one.stream == "reduce":
            recorded[event] = one.index
        elif one.what == "wait" and one.stream == "compute" and event in recorded:
            pending = [index for index in pending if index > recorded[event]]
    return most


@test
def parameters_and_states_have_the_same_bits():
    for mesh, after in itertools.product(MESHES, ("true", "false")):
        recipe = mesh + BF16 + [f"sharding.reshard_after_forward={after}"]
        wanted = train_with_states(Plan(model(), recipe), steps=3)
        for buffers in (1, 2):
            found = train_with_states(Plan(model(), recipe + [f"schedule.reduce_buffers={buffers}"]), steps=3)
            expect_equal(found.loss, wanted.loss, f"{recipe}, {buffers}: losses")
            expect(found.states == wanted.states, f"{recipe}, {buffers}: expected the same parameters and states after each step")


@test
def as_many_reductions_are_in_flight():
    for buffers in (1, 2, 3):
        plan = Plan(model(), MESHES[0] + [f"schedule.reduce_buffers={buffers}"])
        expect_equal(len(plan.units()), 3, "units")
        expect_equal(most_in_flight(plan), buffers, f"{buffers}: reductions in flight")
    expect_equal(most_in_flight(Plan(model(), MESHES[0])), 1, "reductions in flight by default")


@test
def gradients_have_no_kernel_before_their_reduction():
    """In bf16, f32 and mixed units the kernels of the backward write a gradient in the type of its reduction: no cast, no copy."""
    for types in (["precision.compute=bf16"], ["precision.compute=bf16", "precision.reduce=bf16"], ['precision.compute={"layers.0"="bf16", "*"="f32"}']):
        instructions = Plan(model(), MESHES[0] + types).instructions()
        writers = collections.defaultdict(set)
        for one in instructions:
            for name in re.findall(r"%([^:\[\s]+)", one.operands.split(" -> ")[-1]):
                writers[name].add(one.what)
        reduced = {name for one in instructions if one.what == "reduce_scatter" for name in re.findall(r"%([^:\[\s]+)\S* ->", one.operands)}
        expect(len(reduced) > 20, f"{types}: expected gradients of all parameters but got {sorted(reduced)}")
        found = {name: kinds for name, kinds in writers.items() if name in reduced and kinds & {"cast", "copy"}}
        expect_equal(found, {}, f"{types}: gradients that a cast or copy writes")


@test
def other_values_are_refused():
    for value in ("0", "-1", "2.5", "true", '{"layers.0"=3}'):
        expect_refused(model(), MESHES[0] + [f"schedule.reduce_buffers={value}"], f"--set schedule.reduce_buffers={value}: value of 'schedule.reduce_buffers'",
                       ", expected ")


main(no_empty_loops=True)
