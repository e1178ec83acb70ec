"""Rows of sharded training: states of units, parity with one rank, residency, recompute, several uses, hybrid meshes.

One rank with as many micro-batches as there are ranks takes the same rows: what any sharded run is compared with.
"""

from sharding_tools import *

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]


def parity(model, mesh, ranks, recipe=(), steps=10, tolerance=2e-5, weights=None, microbatches=1):
    """Losses of every step, and norms, of a sharded run and of one rank; weights at the end to a tolerance of their own."""
    alone = [f"gradient.microbatches={ranks * microbatches}"] + ADAM
    sharded = mesh + ([f"gradient.microbatches={microbatches}"] if microbatches > 1 else []) + list(recipe) + ADAM
    found = train(Plan(model, sharded), steps=steps)
    near_runs(found, train(Plan(model, alone), steps=steps), tolerance, f"{sharded}", weights)
    return found


def state_behind(plan, phase, last):
    """The units that are whole where the phase ends: those whose last event in it, or before it, is a gather."""
    whole = set()
    order = ("forward", "loss", "backward", "update")
    for event in plan.shown["events"]:
        if event["entry"] != "train_step" or order.index(event["phase"]) > order.index(phase):
            continue
        if event["what"] == "unshard":
            whole.add(event["unit"])
        elif event["what"] == "reshard":
            whole.discard(event["unit"])
    return whole


@test
def states_behind_forward_and_backward():
    model = zoo("mlp-sequence", "count=2", "dim=8")
    units = 'sharding.units={in=["0.in_proj.*"], out=["0.out_proj.*"]}'
    for after, of_one, of_three in (("default", {"root"}, {"root"}), ("true", set(), set()), ("2", set(), set()),
                                    ("false", {"root"}, {"in", "out", "root"})):
        for how, wanted in (("sharding.units=root", of_one), (units, of_three)):
            plan = Plan(model, ["mesh.shard=4", how, f"sharding.reshard_after_forward={after}", "schedule.backward_prefetch=0",
                                "schedule.forward_prefetch=0"])
            expect_equal(state_behind(plan, "loss", True), wanted, f"{after}, {how}: whole behind the forward")
            expect_equal(state_behind(plan, "backward", True), set(), f"{after}, {how}: whole behind the backward")
    # What is kept sharded over two ranks is gathered again over two.
    plan = Plan(model, ["mesh.shard=4", units, "sharding.reshard_after_forward=2"])
    expect_equal({c["group"] for c in plan.collectives("all_gather", phase="backward")}, {2}, "ranks of the backward's gathers")


@test
def uneven_rows_in_one_group():
    for sizes in ((16, 15, 8), (7, 15, 3), (16, 17, 8)):
        model = zoo("linear-relu-linear", *(f"{key}={size}" for key, size in zip(("in", "hidden", "out"), sizes)), "batch=4")
        for ranks in (2, 4, 8):
            parity(model, [f"mesh.shard={ranks}", "sharding.units=root"], ranks, steps=10, weights=2e-3)


@test
def one_rank_has_no_collective():
    for sizes in (("in=16", "hidden=15", "out=8"), ("in=7", "hidden=15", "out=3"), ("in=16", "hidden=17", "out=8")):
        plan = Plan(zoo("linear-relu-linear", *sizes), ["mesh.shard=1"])
        expect_equal(plan.shown["collectives"], [], "collectives")


@test
def groups_under_every_residency():
    model = zoo("transformer", "layers=3", "dropout=0", "vocab=64", "sequence=16")
    for after in ("true", "false", "2"):
        parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"], 4, steps=10)


@test
def recompute_by_every_grouping():
    model = zoo("transformer", "layers=3", "dropout=0", "tied=false", "vocab=64")
    tied = zoo("transformer", "layers=3", "dropout=0", "vocab=64")
    apart = ('sharding.units={a=["layers.0"], b=["layers.1", "layers.2"], e=["tok_embeddings*", "pos_embeddings*"], '
             'n=["norm*", "output*"]}')
    together = 'sharding.units={a=["layers.0"], b=["layers.1", "layers.2"], e=["tok_embeddings*"], n=["norm*"]}'
    for after in ("true", "false"):
        for name, recipe, of in (("block", [], tied), ("apart", [apart, "sharding.unshard_in_backward={e=false}"], model),
                                 ("tied", [together], tied)):
            mesh = ["mesh.shard=2", f"sharding.reshard_after_forward={after}"] + recipe
            wanted = train(Plan(of, mesh + ADAM), steps=10)
            same_bits(train(Plan(of, mesh + ADAM + ["recompute.policy=block"]), steps=10), wanted, f"{after}, {name}: recomputed")
            near_runs(wanted, train(Plan(of, ["gradient.microbatches=2"] + ADAM), steps=10), 2e-5, f"{after}, {name}", weights=2e-2)
    plan = Plan(model, ["mesh.shard=2", apart, "sharding.unshard_in_backward={e=false}", "sharding.reshard_after_forward=true"])
    expect_equal([e for e in plan.events("backward") if "(e)" in e], ["P(e)"], "events of the embeddings in the backward")


@test
def a_unit_that_is_used_twice():
    model = zoo("multi-forward", "batch=32")
    for after in ("true", "false", "2"):
        parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"], 4, steps=10)
        plan = Plan(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"])
        for unit in plan.units():
            if plan.shown["units"][plan.units().index(unit)]["bytes"]:
                expect_equal(plan.count("reduce_scatter", unit=unit), 1, f"{after}: reductions of '{unit}'")


@test
def two_entry_points_over_one_state():
    # All through the root, then the first part alone: the parts that one leaves alone stay as they are.
    model = zoo("mlp-sequence", "count=3", "dim=32")
    alone = train(Plan(model, ["gradient.microbatches=4"] + ADAM), "--entries", "train_step,train_first", steps=4)
    found = train(Plan(model, ["mesh.shard=4"] + ADAM), "--entries", "train_step,train_first", steps=4)
    near_runs(found, alone, 2e-5, "two entry points", weights=2e-2)
    plan = Plan(model, ["mesh.shard=4"])
    expect_equal({c["unit"] for c in plan.collectives("all_gather", entry="train_first")}, {"0"}, "units of train_first")
    for entry in ("train_step", "train_first"):
        expect_equal({(c["kind"], c["stream"]) for c in plan.collectives(entry=entry) if c["unit"]},
                     {("all_gather", "gather"), ("reduce_scatter", "reduce")}, f"streams of {entry}")


@test
def prefetch_distances_keep_the_numbers():
    model = zoo("transformer", "layers=8", "dropout=0")
    wanted = train(Plan(model, ["mesh.shard=4"] + ADAM), steps=10)
    for forward, backward in ((0, 0), (2, 2), (3, 3), (0, 2)):
        same_bits(train(Plan(model, ["mesh.shard=4", f"schedule.forward_prefetch={forward}",
                                     f"schedule.backward_prefetch={backward}"] + ADAM), steps=10), wanted, f"distances {forward}, {backward}")
    parity(model, ["mesh.shard=4", "schedule.forward_prefetch=2", "schedule.backward_prefetch=2"], 4)


@test
def tied_weights():
    model = zoo("transformer", "layers=3", "dropout=0")
    for after in ("false", "true"):
        for policy in ("none", "block"):
            parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}"], 4)
    plan = Plan(model, ["mesh.shard=4"])
    expect("output.weight" not in plan.parameters(), "expected one parameter for the tied pair")
    # A vocabulary that the ranks do not divide: each row learns, those of the last rank as well.
    uneven = zoo("transformer", "layers=1", "dropout=0", "vocab=17")
    first = tensors(train(Plan(uneven, ["mesh.shard=4"] + ADAM), steps=0).weights)["tok_embeddings.weight"]
    last = tensors(train(Plan(uneven, ["mesh.shard=4"] + ADAM), steps=3).weights)["tok_embeddings.weight"]
    expect(all(first[row * 16:row * 16 + 16] != last[row * 16:row * 16 + 16] for row in range(17)),
           "expected every row of the embedding to change")


@test
def hybrid_meshes():
    # Four ranks in two replicas, and a shard axis of one rank, which is plain data parallelism.
    for dim in (3, 16, 17):
        model = zoo("norm-mlps", f"dim={dim}")
        for mesh, ranks in ((["mesh.replicate=2", "mesh.shard=2"], 4), (["mesh.replicate=2", "mesh.shard=1"], 2)):
            for sync in ("last", "every"):
                for extra in ([], ["recompute.policy=block"], ["sharding.reshard_after_forward=false"]):
                    parity(model, mesh, ranks, [f"gradient.sync={sync}"] + extra, steps=5, weights=2e-2, microbatches=3)
    plan = Plan(zoo("norm-mlps"), ["mesh.replicate=2", "mesh.shard=2"])
    kinds = [(c["kind"], c["axis"], c["group"]) for c in plan.collectives(phase="backward") if c["unit"] == "1"]
    expect_equal(kinds[-2:], [("reduce_scatter", "shard", 2), ("all_reduce", "replicate", 2)], "reduction of a unit")
    alone = Plan(zoo("norm-mlps"), ["mesh.replicate=2", "mesh.shard=1"])
    expect_equal({c["kind"] for c in alone.shown["collectives"]}, {"all_reduce"}, "kinds with a shard axis of one rank")


@test
def parameters_used_through_another_method():
    model = zoo("vision", "batch=1")
    parity(model, ["mesh.shard=2"], 2, steps=1, tolerance=1e-4)
    plan = Plan(model, ["mesh.shard=2"])
    for unit in plan.shown["units"]:
        if unit["bytes"]:
            expect(f"U({unit['name']})" in plan.events("forward"), f"'{unit['name']}': expected a gather before its use")


@test
def unused_parameters():
    model = zoo("unused-linear")
    plan = Plan(model, ["mesh.shard=4"] + ADAM)
    first, last = (tensors(train(plan, steps=steps).weights) for steps in (0, 3))
    unused = [name for name in first if "unused" in name]
    expect(len(unused) == 4, f"expected four unused parameters but got {unused}")
    for name in first:
        expect((first[name] == last[name]) == (name in unused), f"'{name}': expected a change of what is used alone")
    parity(model, ["mesh.shard=4"], 4)


@test
def waits_of_the_next_step():
    # Nothing stands before the first gather of a step but the copies of its inputs: it waits for the update of what it
    # gathers, which the step before has ended with, and for nothing of this step.
    plan = Plan(zoo("transformer", "layers=3", "dropout=0"), ["mesh.shard=4"])
    step = run("sluice-plan", "print", plan.path).stdout.split("entry train_step")[1].split("\nentry ")[0]
    rows = [line.split(": ", 1)[1].split("(")[0].split(" ")[0] for line in step.splitlines() if line.startswith("    ")]
    first = rows.index("all_gather")
    expect_equal(set(rows[:first]) - {"copy", "record", "wait"}, set(), "instructions before the first gather")
    # Units that only later entry points update are not waited for: the entry points' numbers do not depend on their turn.
    updates = [i for i, row in enumerate(rows) if row == "adamw"]
    expect(min(updates) > max(i for i, row in enumerate(rows) if row == "all_gather"), "expected updates behind all gathers")


main()
