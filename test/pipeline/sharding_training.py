"""Sharded training: states of units, parity with one rank, resharding, recompute, several uses of a unit, hybrid meshes.

The reference is one rank with as many micro-batches as there are ranks, which trains on the same rows.
"""

from sluice import *

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]


@functools.cache
def one_rank(model, microbatches, steps):
    """The reference of all runs on the same rows."""
    return train(Plan(model, [f"gradient.microbatches={microbatches}"] + ADAM), steps=steps)


def parity(model, mesh, ranks, recipe=(), steps=10, tolerance=2e-5, weights=None, microbatches=1):
    """Losses of every step, and norms, of a sharded run and of one rank; weights at the end to a separate tolerance."""
    sharded = mesh + ([f"gradient.microbatches={microbatches}"] if microbatches > 1 else []) + list(recipe) + ADAM
    found = train(Plan(model, sharded), steps=steps)
    expect_near_runs(found, one_rank(model, ranks * microbatches, steps), tolerance, f"{sharded}", weights)
    return found


def gathered_after(plan, phase, last):
    """The units that are gathered at the end of the phase: the last event of the unit until then is a gather."""
    gathered = set()
    order = ("forward", "loss", "backward", "update")
    for event in plan.description["events"]:
        if event["entry"] != "train_step" or order.index(event["phase"]) > order.index(phase):
            continue
        if event["what"] == "unshard":
            gathered.add(event["unit"])
        elif event["what"] == "reshard":
            gathered.discard(event["unit"])
    return gathered


@test
def states_after_forward_and_backward():
    model = zoo("mlp-sequence", "count=2", "dim=8")
    units = 'sharding.units={in=["0.in_proj.*"], out=["0.out_proj.*"]}'
    for after, of_one, of_three in (("default", {"root"}, {"root"}), ("true", set(), set()), ("2", set(), set()),
                                    ("false", {"root"}, {"in", "out", "root"})):
        for how, wanted in (("sharding.units=root", of_one), (units, of_three)):
            plan = Plan(model, ["mesh.shard=4", how, f"sharding.reshard_after_forward={after}", "schedule.backward_prefetch=0",
                                "schedule.forward_prefetch=0"])
            expect_equal(gathered_after(plan, "loss", True), wanted, f"{after}, {how}: gathered after the forward")
            expect_equal(gathered_after(plan, "backward", True), set(), f"{after}, {how}: gathered after the backward")
    # A unit that is resharded over two ranks is gathered over two.
    plan = Plan(model, ["mesh.shard=4", units, "sharding.reshard_after_forward=2"])
    expect_equal({c["group"] for c in plan.collectives("all_gather", phase="backward")}, {2}, "ranks of the backward's gathers")


@test
def states_at_every_instruction():
    # A unit is gathered from the issue of the gather until its release, before and after that sharded or resharded, in every micro-batch.
    model = zoo("mlp-sequence", "count=2", "dim=8")
    for after, between in (("true", [("sharded", 4)]), ("2", [("resharded", 2)]), ("false", [])):
        plan = Plan(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}", "gradient.microbatches=2"])
        for unit in ("0", "1"):
            states = [(s["i"], s["microbatch"], s["state"], s["over"]) for s in plan.description["states"]
                      if s["entry"] == "train_step" and s["unit"] == unit]
            gathered = [("gathered", 1)]
            once = gathered + between + gathered * len(between) + [("sharded", 4)]
            expect_equal([s[2:] for s in states], [("sharded", 4)] + 2 * once, f"{after}: states of '{unit}'")
            expect_equal([s[1] for s in states], [0] + [0] * len(once) + [1] * len(once), f"{after}: micro-batches")
            # The states change at the instructions of the events.
            expect_equal([s[0] for s in states[1:]], [e["i"] for e in plan.description["events"] if e["entry"] == "train_step" and
                                                      e["unit"] == unit and e["what"] in ("unshard", "reshard")], f"{after}: places")
    plan = Plan(model, ["mesh.replicate=2", "mesh.shard=2", 'sharding.replicated=["1.*"]'])
    expect_equal({(s["unit"], s["state"]) for s in plan.description["states"] if s["unit"] == "1"}, {("1", "replicated")}, "a replicated unit")


@test
def uneven_rows_in_one_unit():
    for sizes in ((16, 15, 8), (7, 15, 3), (16, 17, 8)):
        model = zoo("linear-relu-linear", *(f"{key}={size}" for key, size in zip(("in", "hidden", "out"), sizes)), "batch=4")
        for ranks in (2, 4, 8):
            parity(model, [f"mesh.shard={ranks}", "sharding.units=root"], ranks, steps=10, weights=2e-3)


@test
def every_number_of_ranks():
    # Extents below, at and above the number of ranks; some ranks have no rows.
    model = zoo("linear-relu-linear", "in=5", "hidden=7", "out=3", "batch=2")
    for ranks in range(1, 9):
        for dim in ("first", "flat"):
            parity(model, [f"mesh.shard={ranks}", f"sharding.dim={dim}"], ranks, steps=4, weights=2e-3)
    plan = Plan(model, ["mesh.shard=8"])
    expect_equal(plan.parameters()["2.weight"]["padding"], (8 - 3) * 7, "elements of ranks without rows")


@test
def frozen_parameters():
    # Frozen parameters are sharded and gathered but have no gradient, state or update; a unit of only frozen parameters has no reduction.
    model = zoo("linear-mlps", "count=3", "dim=8")
    frozen = 'parameters.frozen=["1.*", "2.in_proj.weight"]'
    start = tensors(train(Plan(model, [frozen] + ADAM), steps=0).weights)
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.shard=4", "sharding.reshard_after_forward=2"],
                 ["mesh.shard=4", "sharding.dim=flat", "recompute.policy=block"]):
        plan = Plan(model, mesh + [frozen] + ADAM)
        found = train(plan, steps=5)
        for name, values in tensors(found.weights).items():
            expect((values == start[name]) == (name.startswith("1.") or name == "2.in_proj.weight"), f"{mesh}: '{name}', expected a change of only those parameters that are not frozen")
        expect("U(1)" in plan.events("forward") and "P(1)" not in plan.events(), f"{mesh}: expected a gather and no reduction of a frozen unit")
        expect_equal(plan.count("reduce_scatter", unit="2"), 1, f"{mesh}: reductions of a unit with frozen parameters")


@test
def loss_scaling():
    # f16 with a constant and a dynamic scale: gradients are unscaled after the reduction, on any mesh; every rank skips a
    # step whose gradients are not finite.
    model = zoo("linear-mlps", "count=2", "dim=8", "loss=mean")
    half = ["precision.compute=f16", "precision.reduce=f16", "optimizer.name=sgd", "optimizer.lr=0.05"]
    exact, found = train(Plan(model, ["gradient.microbatches=4"] + half[2:])), {}
    for mesh in (("mesh.shard=4",), ("mesh.replicate=2", "mesh.shard=2"), ("mesh.replicate=4",)):
        expect_near_runs(train(Plan(model, [*mesh] + half + ["precision.loss_scale=128"])), exact, 1e-2, f"{mesh}", weights=1e-2)
        plan = Plan(model, [*mesh] + half + ["precision.loss_scale=dynamic"])
        found[mesh] = train(plan, steps=12)
        skipped = found[mesh].norm.count(None)
        expect(0 < skipped < 12 and None not in found[mesh].norm[skipped:], f"{mesh}: expected first steps that overflow but got {found[mesh].norm}")
        expect(train(plan, steps=skipped).weights == train(plan, steps=0).weights, f"{mesh}: expected the same weights after steps that overflow")
    for mesh, run_ in found.items():
        expect_equal(run_.norm.count(None), found[("mesh.shard=4",)].norm.count(None), f"{mesh}: steps that overflow")
        expect_near(run_.loss, found[("mesh.shard=4",)].loss, 1e-2, f"{mesh}: losses")


@test
def one_rank_has_no_collective():
    for sizes in (("in=16", "hidden=15", "out=8"), ("in=7", "hidden=15", "out=3"), ("in=16", "hidden=17", "out=8")):
        plan = Plan(zoo("linear-relu-linear", *sizes), ["mesh.shard=1"])
        expect_equal(plan.description["collectives"], [], "collectives")


@test
def parity_of_every_reshard_after_forward():
    model = zoo("transformer", "layers=3", "dropout=0", "vocab=64", "sequence=16")
    for after in ("true", "false", "2"):
        parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"], 4, steps=10)


@test
def recompute_and_units():
    model = zoo("transformer", "layers=3", "dropout=0", "tied=false", "vocab=64")
    tied = zoo("transformer", "layers=3", "dropout=0", "vocab=64")
    # The backward repeats the masks of the forward.
    dropped = zoo("transformer", "layers=3", "dropout=0.1", "vocab=64")
    separate = ('sharding.units={a=["layers.0"], b=["layers.1", "layers.2"], e=["tok_embeddings*", "pos_embeddings*"], '
                'n=["norm*", "output*"]}')
    together = 'sharding.units={a=["layers.0"], b=["layers.1", "layers.2"], e=["tok_embeddings*"], n=["norm*"]}'
    for after in ("true", "false"):
        for name, recipe, of in (("block", [], tied), ("separate", [separate, "sharding.unshard_in_backward={e=false}"], model),
                                 ("tied", [together], tied), ("dropout", [], dropped)):
            mesh = ["mesh.shard=2", f"sharding.reshard_after_forward={after}"] + recipe
            wanted = train(Plan(of, mesh + ADAM), steps=10)
            expect_same_bits(train(Plan(of, mesh + ADAM + ["recompute.policy=block"]), steps=10), wanted, f"{after}, {name}: recomputed")
    plan = Plan(model, ["mesh.shard=2", separate, "sharding.unshard_in_backward={e=false}", "sharding.reshard_after_forward=true"])
    expect_equal([e for e in plan.events("backward") if "(e)" in e], ["P(e)"], "events of the embeddings in the backward")


@test
def updates_in_the_backward():
    # The same sums: the same weights, wherever a unit is updated. The norm adds the sums of units.
    model = zoo("transformer", "layers=3", "dropout=0", "vocab=64", "loss=mean")
    sgd = ["optimizer.name=sgd", "optimizer.momentum=0.9", "optimizer.lr=0.01"]
    for recipe in ([], ["mesh.shard=2"], ["mesh.shard=2", "sharding.reshard_after_forward=true"], ["mesh.shard=2", "sharding.reshard_after_forward=false"],
                   ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=2"], ["mesh.shard=2", "mesh.tensor=2"], ["mesh.shard=3"],
                   ["mesh.shard=2", "schedule.reduce_buffers=3"], ["mesh.shard=2", "recompute.policy=block"], ["mesh.shard=2", "sharding.units=root"],
                   ["gradient.microbatches=3"], ["mesh.shard=2", "gradient.microbatches=3"], ["mesh.shard=2", "gradient.microbatches=3", "gradient.sync=every"],
                   ["mesh.shard=2", "gradient.microbatches=3", "sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last"],
                   ["precision.compute=bf16", "precision.reduce=bf16"], ["mesh.shard=2", "precision.compute=f16", "precision.loss_scale=64"],
                   ["mesh.shard=2", 'optimizer.no_decay=["*.bias"]'], ["mesh.shard=2", "gradient.microbatches=2", "gradient.reduce_per_pass=true"]):
        for optimizer in (ADAM, sgd) if recipe == ["mesh.shard=2"] else (ADAM,):
            plan = Plan(model, recipe + optimizer + ["optimizer.in_backward=true"])
            expect_same_bits(train(plan, steps=5), train(Plan(model, recipe + optimizer), steps=5), f"{recipe}, {optimizer}", norm=False)
    # Each unit is updated between its reduction and that of the next unit.
    plan = Plan(model, ["mesh.shard=2", "optimizer.in_backward=true"])
    step = run("sluice-plan", "print", plan.path).stdout.split("entry train_step")[1].split("\nentry ")[0]
    order = [m[1] or m[2] for m in re.finditer(r"^ +\d+ \S+ \S+ backward (\S+): adamw|^ +\d+ \S+ \S+ backward (\S+): reduce_scatter", step, re.M)]
    expect_equal(" ".join(order).replace("layers.", ""), "2 2 1 1 0 0 root root", "reductions and updates")


DOUBLE = """module attributes {model.batch = 2 : i64, model.name = "double"} {
  func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<4x4xf32>
    %y = model.matmul %x, %w {transpose_rhs} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %z = model.cast %y : (tensor<2x4xf32>) -> tensor<2x4xf64>
    %d = model.block "d" -> tensor<2x4xf64> {
      %v = model.read @d.v : tensor<4xf64>
      %m = model.multiply %z, %v : (tensor<2x4xf64>, tensor<4xf64>) -> tensor<2x4xf64>
      model.yield %m : tensor<2x4xf64>
    }
    %s = model.reduce_sum %d {dims = array<i64: 0, 1>} : (tensor<2x4xf64>) -> tensor<f64>
    %loss = model.cast %s : (tensor<f64>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  model.parameter @w : tensor<4x4xf32> uniform(-5.000000e-01, 5.000000e-01)
  model.parameter @d.v : tensor<4xf64> uniform(-5.000000e-01, 5.000000e-01)
}
"""


@test
def f64_gradients_are_reduced_in_f64():
    # Gradients of f64 parameters are reduced in f64 where others are reduced in narrower types; one unit cannot have two
    # element types.
    model = SCRATCH / "double.mlir"
    model.write_text(DOUBLE)
    sgd = ["optimizer.name=sgd", "optimizer.lr=0.5"]
    alone = tensors(train(Plan(model, ["gradient.microbatches=4"] + sgd), steps=1).weights)["d.v"]
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=4"]):
        plan = Plan(model, mesh + sgd)
        expect_equal({(c["unit"], c["dtype"]) for c in plan.collectives() if c["unit"]}, {("root", "f32"), ("d", "f64")}, f"{mesh}: dtypes")
        found = tensors(train(plan, steps=1).weights)["d.v"]
        # The products are of f32 numbers: sums in different orders agree to the digits of f64.
        expect(max(abs(a - b) for a, b in zip(found, alone)) < 1e-13, f"{mesh}: expected {alone} but got {found}")
    for mesh in (["mesh.shard=2"], ["mesh.replicate=2"]):
        expect_refused(model, mesh + ["sharding.units=root"], "--set sharding.units=root: unit 'root' has parameters of two element types, "
                       "f32 of 'w' and f64 of 'd.v'; separate units may have them")
    expect_equal(Plan(model, ["sharding.units=root"]).description["collectives"], [], "collectives of one rank")


@test
def unit_used_twice():
    model = zoo("multi-forward", "batch=32")
    for after in ("true", "false", "2"):
        parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"], 4, steps=10)
        plan = Plan(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"])
        for unit in plan.units():
            if plan.description["units"][plan.units().index(unit)]["bytes"]:
                expect_equal(plan.count("reduce_scatter", unit=unit), 1, f"{after}: reductions of '{unit}'")
    # In one unit with a module that is used once: gathered from the first use until the last.
    for units in ("root", '{a=["inner", "outer"]}'):
        for policy in ("none", "block"):
            recipe = ["mesh.shard=4", "sharding.reshard_after_forward=true", f"sharding.units={units}", f"recompute.policy={policy}"]
            plan = Plan(model, recipe)
            unit = "root" if units == "root" else "a"
            expect_equal(plan.events(), [f"U({unit})", f"R({unit})", f"U({unit})", f"R({unit})", f"P({unit})"], f"{recipe}: events")
            parity(model, recipe[:1], 4, recipe[1:], steps=3)


@test
def two_entry_points():
    # One entry point runs all MLPs, the other only the first: the other MLPs do not change.
    model = zoo("mlp-sequence", "count=3", "dim=32")
    plan = Plan(model, ["mesh.shard=4"])
    expect_equal({c["unit"] for c in plan.collectives("all_gather", entry="train_first")}, {"0"}, "units of train_first")
    expect_equal({(c["kind"], c["stream"]) for c in plan.collectives(entry="eval_step") if c["unit"]}, {("all_gather", "gather")},
                 "streams of the evaluation")
    for entry in ("train_step", "train_first"):
        expect_equal({(c["kind"], c["stream"]) for c in plan.collectives(entry=entry) if c["unit"]},
                     {("all_gather", "gather"), ("reduce_scatter", "reduce")}, f"streams of {entry}")


@test
def prefetch_distances_change_no_bit():
    model = zoo("transformer", "layers=8", "dropout=0")
    wanted = train(Plan(model, ["mesh.shard=4"] + ADAM), steps=10)
    for forward, backward in ((0, 0), (2, 2), (3, 3), (0, 2)):
        expect_same_bits(train(Plan(model, ["mesh.shard=4", f"schedule.forward_prefetch={forward}",
                                     f"schedule.backward_prefetch={backward}"] + ADAM), steps=10), wanted, f"distances {forward}, {backward}")
    parity(model, ["mesh.shard=4", "schedule.forward_prefetch=2", "schedule.backward_prefetch=2"], 4)


def with_copy(weights, name, copy):
    """A safetensors file with one more tensor, a copy."""
    header, data = split_safetensors(weights)
    begin, end = header[name]["data_offsets"]
    header[copy] = dict(header[name], data_offsets=[len(data), len(data) + end - begin])
    return join_safetensors(header, data + data[begin:end])


@test
def tied_weights():
    model = zoo("transformer", "layers=3", "dropout=0")
    for after in ("false", "true"):
        for policy in ("none", "block"):
            parity(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}"], 4)
    plan = Plan(model, ["mesh.shard=4"])
    expect("output.weight" not in plan.parameters(), "expected one parameter for the tied pair")
    # After one step of SGD, the update of a tied weight is the sum of the updates of two untied ones.
    sgd = ["optimizer.name=sgd", "optimizer.lr=0.5"]
    untied = zoo("transformer", "layers=3", "dropout=0", "tied=false")
    start = train(Plan(model, ["mesh.shard=4"] + sgd), steps=0).weights
    (SCRATCH / "untied.safetensors").write_bytes(with_copy(start, "tok_embeddings.weight", "output.weight"))
    found = tensors(train(Plan(untied, ["mesh.shard=4"] + sgd), "--init", SCRATCH / "untied.safetensors", steps=1).weights)
    together = tensors(train(Plan(model, ["mesh.shard=4"] + sgd), steps=1).weights)["tok_embeddings.weight"]
    expect_near(together, [e + o - w for e, o, w in zip(found["tok_embeddings.weight"], found["output.weight"], tensors(start)["tok_embeddings.weight"])],
                1e-5, "a tied weight")
    # A vocabulary that the ranks do not divide: each row changes, also those of the last rank.
    uneven = zoo("transformer", "layers=1", "dropout=0", "vocab=17")
    first = tensors(train(Plan(uneven, ["mesh.shard=4"] + ADAM), steps=0).weights)["tok_embeddings.weight"]
    last = tensors(train(Plan(uneven, ["mesh.shard=4"] + ADAM), steps=3).weights)["tok_embeddings.weight"]
    expect(all(first[row * 16:row * 16 + 16] != last[row * 16:row * 16 + 16] for row in range(17)),
           "expected every row of the embedding to change")


@test
def hybrid_meshes():
    # Four ranks in two replicas, and a shard axis of one rank, which is plain data parallelism.
    plan = Plan(zoo("norm-mlps"), ["mesh.replicate=2", "mesh.shard=2"])
    kinds = [(c["kind"], c["axis"], c["group"]) for c in plan.collectives(phase="backward") if c["unit"] == "1"]
    expect_equal(kinds[-2:], [("reduce_scatter", "shard", 2), ("all_reduce", "replicate", 2)], "reduction of a unit")
    alone = Plan(zoo("norm-mlps"), ["mesh.replicate=2", "mesh.shard=1"])
    expect_equal({c["kind"] for c in alone.description["collectives"]}, {"all_reduce"}, "kinds with a shard axis of one rank")


@test
def parameters_used_by_another_method():
    model = zoo("vision", "batch=1")
    parity(model, ["mesh.shard=2"], 2, steps=1, tolerance=1e-4)
    plan = Plan(model, ["mesh.shard=2"])
    for unit in plan.description["units"]:
        if unit["bytes"]:
            expect(f"U({unit['name']})" in plan.events("forward"), f"'{unit['name']}': expected a gather before its use")


@test
def unused_parameters():
    model = zoo("unused-linear")
    # Without a gradient there is no update, so no decay of the weights either.
    plan = Plan(model, ["mesh.shard=4", "optimizer.name=adamw", "optimizer.lr=0.01", "optimizer.weight_decay=0.1"])
    first, last = (tensors(train(plan, steps=steps).weights) for steps in (0, 3))
    unused = [name for name in first if "unused" in name]
    expect(len(unused) == 4, f"expected four unused parameters but got {unused}")
    for name in first:
        expect((first[name] == last[name]) == (name in unused), f"'{name}': expected a change of only the used parameters")
    parity(model, ["mesh.shard=4"], 4)


main(no_empty_loops=True)
