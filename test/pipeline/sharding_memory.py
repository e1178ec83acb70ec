"""Memory: the predicted peak is the measured peak, and each phase of the model needs at most the memory of eager execution without
an allocator's overhead.

B: elements of a block, N: of the parameters in no block, U: of all, S: of a rank's shards. A plan has the optimizer's states
from the start, and eager execution from the first update on; states, inputs, activations, temporaries and workspace are
excluded from the bounds by name.
"""

from parity import parity
from sluice import *

EXCLUDED = {"optimizer", "activation", "temporary", "input", "state"}
B, N = 7_084_800, 62_976
U = 3 * B + N
S = (U + 1) // 2


@test
def unit_sizes():
    plan = Plan(zoo("memory-transformer"), ["mesh.shard=2"])
    sizes = {unit["name"]: unit["bytes"] // 4 for unit in plan.description["units"]}
    expect_equal(sizes, {"root": N, **{f"layers.{i}": B for i in range(3)}}, "elements of units")
    expect_equal(sum(unit["shard_bytes"] for unit in plan.description["units"]), 4 * S, "bytes of a rank's shards")


@test
def peaks_by_phase_of_the_memory_transformer():
    for after, forward, backward in (("true", 3 * B + N + S, 4 * B + N + 2 * S), ("false", S + U + B, S + U + 1.5 * B)):
        plan = Plan(zoo("memory-transformer"), ["mesh.shard=2", f"sharding.reshard_after_forward={after}", "optimizer.name=adam"])
        timeline = MemoryTimeline(plan)
        init = MemoryTimeline(plan, "init")
        for name, found, bound in (
                ("init", init.peak({"init", "update", "forward"}, EXCLUDED), S + B),
                ("forward", timeline.peak({"forward", "loss"}, EXCLUDED), forward),
                ("backward", timeline.peak({"backward"}, EXCLUDED), backward),
                ("update", timeline.peak({"update"}, EXCLUDED - {"optimizer"}), 4 * S),
                ("end", plan.point("end"), 3 * S)):
            small = 4096 if name in ("update", "end") else 0
            expect(0 < found <= 4 * bound + small, f"reshard {after}, {name}: expected at most {4 * bound} bytes but got {found}")
        # A gathered unit exists once: at most two units and the parameters in no block, if units are released.
        gathered = max(timeline.at(i, {"gathered"}) for i in range(len(timeline.phases)))
        most = 4 * (2 * B + N if after == "true" else U)
        expect(0.9 * most < gathered <= most, f"reshard {after}: expected at most {most} gathered bytes but got {gathered}")
        expect_equal(len(timeline.gathers), len(plan.parameters()), f"reshard {after}: gathered parameters")
        for name, lives in timeline.gathers.items():
            for before, after_it in itertools.pairwise(sorted(lives)):
                expect(before[1] <= after_it[0], f"reshard {after}: expected one live buffer of '{name}' at a time but got {lives}")
        if after == "true":
            # Gradients reuse the memory of weights after their last read: in the backward the bytes of both together are
            # at most those of two gathered units, the gradients of one unit, and the largest weight.
            both = timeline.peak({"backward"}, EXCLUDED | {"parameter", "gradient_shard"})
            expect(both <= 4 * (3 * B + N), f"gathered weights and gradients: expected at most {4 * (3 * B + N)} bytes but got {both}")
        expect_equal(sum(timeline.at(i, {"communication"}) for i in range(len(timeline.phases))), 0, "staging buffers")
        # The excluded bytes are small, except for the optimizer's states, which have the expected size.
        expect_equal(timeline.at(0, {"optimizer"}), 8 * S, "optimizer's states")
        expect(timeline.peak({"backward"}, {"parameter", "gathered", "gradient", "gradient_shard", "optimizer"}) < 1e6, "activations")


@test
def updates_in_the_backward():
    # Gradients of one unit are live at a time: the backward holds no shard of all gradients.
    recipe = ["mesh.shard=2", "sharding.reshard_after_forward=true", "optimizer.name=adam"]
    plan, after = (Plan(zoo("memory-transformer"), recipe + settings) for settings in (["optimizer.in_backward=true"], []))
    timeline, other = MemoryTimeline(plan), MemoryTimeline(after)
    found, bound = timeline.peak({"backward"}, EXCLUDED), 4 * (4 * B + N + S + B / 2)
    expect(0 < found <= bound, f"backward: expected at most {bound} bytes but got {found}")
    # The root's gradient shards are live with those of no other unit; a block's until the next block's are reduced.
    gradients = {"gradient_shard"}
    expect_equal(other.peak({"update"}, {kind for kind, *_ in other.buffers} - gradients), 4 * S, "gradient shards of all units")
    found = max(timeline.at(i, gradients) for i in range(len(timeline.phases)))
    expect(0 < found <= 2 * B, f"gradient shards: expected at most {2 * B} bytes but got {found}")
    expect_equal(timeline.peak({"update"}, {kind for kind, *_ in timeline.buffers} - {"gradient", "gradient_shard", "gathered"}), 0, "gradients after the backward")
    # Eight units: the peak is in the backward of the second, where the shards of six are live, or of one.
    deep = zoo("mlp-sequence", "count=8", "dim=64")
    plan, after = (Plan(deep, recipe + settings) for settings in (["optimizer.in_backward=true"], []))
    shard = plan.description["units"][1]["shard_bytes"]
    peaks = [MemoryTimeline(each).peak({"backward"}, EXCLUDED) for each in (after, plan)]
    expect_equal(peaks[0] - peaks[1], 5 * shard, "bytes that are saved")
    expect_predicted_peak(zoo("mlp-sequence", "count=4", "dim=64", "batch=16"), ["mesh.shard=2", "optimizer.in_backward=true", "gradient.microbatches=2"])


@test
def gathered_parameters_are_released_after_their_last_use():
    # Before the backward, only the parameters in no block are gathered; after the update only shards and states are live.
    plan = Plan(zoo("memory-transformer"), ["mesh.shard=2"])
    timeline = MemoryTimeline(plan)
    last = max(i for i, phase in enumerate(timeline.phases) if phase == "loss")
    expect(timeline.at(last, {"gathered"}) <= 4 * (B + N), f"gathered after the forward: expected {4 * (B + N)} but got {timeline.at(last, {'gathered'})}")
    expect_equal(timeline.at(len(timeline.phases) - 1, {"gathered", "gradient"}), 0, "gathered parameters and gradients at the end")


@test
def gathered_bytes_of_each_unit():
    """At each instruction: none before the gather of the unit and after its release, all at the gather, and no more between them."""
    for after in ("true", "false"):
        plan = Plan(zoo("mlp-sequence", "count=3", "dim=64"), ["mesh.shard=2", f"sharding.reshard_after_forward={after}"])
        timeline = MemoryTimeline(plan)
        sizes = {name: 4 * math.prod(parameter["shape"]) for name, parameter in plan.parameters().items()}
        for unit in (unit for unit in plan.description["units"] if unit["bytes"]):
            changes = [(s["i"], s["state"]) for s in plan.description["states"] if s["entry"] == "train_step" and s["unit"] == unit["name"]]
            expect_equal([state for _, state in changes], ["sharded"] + ["gathered", "sharded"] * (2 if after == "true" else 1), f"'{unit['name']}': states")
            for (begin, state), (end, _) in itertools.pairwise(changes + [(len(timeline.phases), "")]):
                for i in range(begin, end):
                    live = sum(sizes[p["name"]] for p in unit["parameters"] for first, last in timeline.gathers[p["name"]] if first <= i < last)
                    wanted = live == 0 if state == "sharded" else live == unit["bytes"] if i == begin else 0 <= live <= unit["bytes"]
                    expect(wanted, f"reshard {after}, '{unit['name']}' is {state} at instruction {i}: {live} gathered bytes")


def expect_predicted_peak(model, recipe, *options):
    """The peak that is measured at allocation equals the predicted one, to the byte."""
    plan = Plan(model, recipe)
    summary = train(plan, *options, steps=2, data="random:1").summary
    expect_equal(summary["measured_peak"], summary["predicted_peak"], f"{recipe}: measured peak")
    expect_equal(summary["predicted_peak"]["device"], plan.arena()["bytes"] + plan.arena()["workspace"], f"{recipe}: peak of the plan")


@test
def peak_of_several_units():
    model = zoo("mlp-sequence", "count=4", "dim=64", "batch=16")
    for after in ("true", "false"):
        for precision in ([], ["precision.compute=bf16", "precision.reduce=f32"]):
            expect_predicted_peak(model, ["mesh.shard=2", f"sharding.reshard_after_forward={after}"] + precision)


@test
def peak_of_one_entry_point():
    model = zoo("mlp-sequence", "count=3", "dim=64", "batch=8")
    expect_predicted_peak(model, ["mesh.shard=2"], "--entries", "train_first")
    # Parameters that the entry point does not use remain sharded.
    plan = Plan(model, ["mesh.shard=2"])
    timeline = MemoryTimeline(plan, "train_first")
    expect_equal(timeline.at(0, {"parameter"}), sum(unit["shard_bytes"] for unit in plan.description["units"]), "shards")
    expect_equal(sum(unit["shard_bytes"] for unit in plan.description["units"]) * 2, sum(unit["bytes"] for unit in plan.description["units"]), "bytes of two shards")
    expect_equal(timeline.peak({"forward", "backward"}, {k for k, *_ in timeline.buffers} - {"gathered"}),
                 next(unit["bytes"] for unit in plan.description["units"] if unit["name"] == "0"), "gathered bytes")
    expect(timeline.peak({"forward", "backward"}, EXCLUDED) < MemoryTimeline(plan).peak({"forward", "backward"}, EXCLUDED), "expected less than of all MLPs")


@test
def peak_with_recompute():
    model = zoo("transformer", "layers=4", "vocab=512", "sequence=64", "max_sequence=64", "batch=4")
    peaks = {}
    for after in ("true", "false"):
        for policy in ("none", "block"):
            expect_predicted_peak(model, ["mesh.shard=2", f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}"])
            peaks[after, policy] = Plan(model, ["mesh.shard=2", f"sharding.reshard_after_forward={after}",
                                                f"recompute.policy={policy}"]).arena()["peak_live"]
        expect(peaks[after, "block"] < peaks[after, "none"], f"{after}: expected recompute to need less but got {peaks}")
    # The logits, and their gradient in the same buffer, are live under every policy.
    expect(min(peaks.values()) > 4 * 4 * 64 * 512, f"expected more than the logits but got {peaks}")


@test
def uneven_shards():
    # The ranks divide no extent of a square weight; the step is that of one rank.
    model = zoo("linear-relu-linear", "in=3", "hidden=3", "out=3")
    sgd = ["optimizer.name=sgd", "optimizer.lr=0.1"]
    for ranks in (2, 4, 5):
        expect_near_runs(train(Plan(model, [f"mesh.shard={ranks}"] + sgd), steps=1), train(Plan(model, [f"gradient.microbatches={ranks}"] + sgd), steps=1),
                         1e-6, f"{ranks} ranks", weights=1e-6)


@test
def reduce_dtypes():
    model = zoo("mlp-sequence", "count=3", "dim=16")
    for after in ("true", "false", "2"):
        for compute, reduce, wire in (("bf16", "bf16", "bf16"), ("bf16", "f32", "f32"), ("f32", "bf16", "bf16")):
            recipe = ["mesh.shard=4", f"sharding.reshard_after_forward={after}", f"precision.compute={compute}", f"precision.reduce={reduce}"]
            plan = Plan(model, recipe)
            expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")}, {wire}, f"{recipe}: reductions")
            expect_equal({c["dtype"] for c in plan.collectives("all_gather")}, {compute}, f"{recipe}: gathers")
            expect_near_runs(train(plan), train(Plan(model, ["mesh.shard=4"])), 3e-2, f"{recipe}")


@test
def dtypes_of_units():
    # A unit is gathered in its compute type and reduced in its type of reduction; its values are cast where another unit reads them.
    model = zoo("mlp-sequence", "count=3", "dim=16")
    wanted = train(Plan(model, ["mesh.shard=4"]))
    for half, scale in (("bf16", []), ("f16", ["precision.loss_scale=256"])):
        recipe = ["mesh.shard=4"] + scale + [f'precision.compute={{"*"="{half}", "1"="f32"}}', f'precision.reduce={{"*"="{half}", "2"="f32"}}']
        for more in ([], ['precision.output={"0"="f32", "2"="f32"}'], ["recompute.policy=block"]):
            plan = Plan(model, recipe + more)
            expect_equal({(c["unit"], c["dtype"]) for c in plan.collectives("all_gather")}, {("0", half), ("1", "f32"), ("2", half)}, f"{half}, {more}: gathers")
            expect_equal({(c["unit"], c["dtype"]) for c in plan.collectives("reduce_scatter")}, {("0", half), ("1", half), ("2", "f32")}, f"{half}, {more}: reductions")
            expect_near_runs(train(plan), wanted, 5e-2, f"{half}, {more}")
        expect_same_bits(train(Plan(model, recipe + ["recompute.policy=block"])), train(Plan(model, recipe)), f"{half}: recomputed")
        expect_same_bits(train(Plan(model, ["mesh.shard=4", f"precision.compute={half}", f"precision.reduce={half}"] + scale)),
                  train(Plan(model, ["mesh.shard=4", f'precision.compute={{"*"="{half}"}}', f'precision.reduce={{"*"="{half}"}}'] + scale)), f"{half}: all units")
    # Gathers of the root and of a unit that is named by its parameters only.
    plan = Plan(zoo("transformer", "layers=2", "dropout=0", "tied=false"), ["mesh.shard=2", 'sharding.units={a=["layers.0"], b=["layers.1"], n=["norm*", "output*"]}',
                                                                          'precision.compute={"*"="bf16", n="f32"}'])
    expect_equal({(c["unit"], c["dtype"]) for c in plan.collectives("all_gather")}, {("root", "bf16"), ("a", "bf16"), ("b", "bf16"), ("n", "f32")}, "gathers by table")
    expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")}, {"f32"}, "reductions by default")
    expect_refused(model, ['precision.compute={x="bf16"}'], "--set precision.compute={x=\"bf16\"}: 'x' in 'precision.compute' matches no unit")
    expect_refused(model, ['precision.compute={"1"="f16"}'], "requires 'precision.loss_scale'")


@test
def norms_and_convolutions_in_narrow_types():
    # Running statistics are f32; the rest is computed in the narrow type.
    model = zoo("conv", "stem=4", "hidden=8", "height=8", "width=8")
    wanted = train(Plan(model, ["mesh.shard=2"]))
    for half, scale in (("bf16", []), ("f16", ["precision.loss_scale=256"])):
        for recipe in ([f"precision.compute={half}"], [f'precision.compute={{"*"="{half}", root="f32"}}']):
            expect_near_runs(train(Plan(model, ["mesh.shard=2"] + recipe + scale)), wanted, 8e-2, f"{recipe}")


@test
def replicated_and_sharded_parameters():
    model = zoo("mlp-sequence", "count=3", "dim=16")
    recipe = ["mesh.shard=4", 'sharding.replicated=["1.*"]']
    plan = Plan(model, recipe)
    expect_equal({c["kind"] for c in plan.collectives() if c["unit"] == "1"}, {"all_reduce"}, "collectives of a replicated unit")
    expect_equal({p["dim"] for name, p in plan.parameters().items() if name.startswith("1.")}, {-1}, "dims of replicated parameters")
    parity(model, ["mesh.shard=4"], 4, [['sharding.replicated=["1.*"]']], steps=3)


main(no_empty_loops=True)
