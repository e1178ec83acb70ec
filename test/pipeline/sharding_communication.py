"""Communication: the collectives of a step, their order, reductions and factors.

Gradients are reduced once in a step, after all backward passes: an eager framework has one reduction after each of two backward passes, the plan has one after
the second, or with `gradient.reduce_per_pass` one after each.
"""

from sluice import *

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
FOUR = ["mesh.shard=4", "sharding.reshard_after_forward=true"]
NO_FORWARD = "schedule.forward_prefetch=0"


def toy(layers=3, name="transformer", *settings):
    return zoo(name, f"layers={layers}", "dropout=0", *settings)


def short(events):
    """`U(0)` for `U(layers.0)`."""
    return " ".join(event.replace("layers.", "") for event in events)


def launches(plan):
    """Position, phase, unit and kernel of each launch of a step."""
    return [(one.index, one.phase, one.unit, one.what) for one in plan.instructions() if one.stream == "compute" and one.operands.startswith("(")]


@test
def gathers_and_reductions_by_reshard_after_forward():
    for layers in (1, 2, 5):
        units = layers + 1
        for after, backward in (("true", units), ("2", units), ("default", units - 1), ("false", 0)):
            plan = Plan(toy(layers), ["mesh.shard=4", f"sharding.reshard_after_forward={after}"])
            kinds = {(c["phase"], c["kind"]): 0 for c in plan.collectives() if c["unit"]}
            for c in plan.collectives():
                if c["unit"]:
                    kinds[c["phase"], c["kind"]] += 1
            wanted = {("forward", "all_gather"): units, ("backward", "reduce_scatter"): units}
            if backward:
                wanted["backward", "all_gather"] = backward
            expect_equal(kinds, wanted, f"{layers} layers, {after}")


@test
def strategies_and_aliases():
    # The collectives of each strategy. With replicas two strategies have aliases.
    model = zoo("linear-mlps", "count=3", "dim=8")
    for mesh, replicas in ((["mesh.shard=2"], 0), (["mesh.replicate=2", "mesh.shard=2"], 1)):
        # Four units, of which the root stays gathered after the forward.
        for strategy, other, counts in (("full_shard", "hybrid_shard", (7, 4, 4 * replicas)),
                                        ("shard_grad_op", "hybrid_shard_grad_op", (4, 4, 4 * replicas)), ("no_shard", None, (0, 0, 4))):
            recipe = mesh + ["optimizer.name=sgd", "optimizer.lr=0.01"]
            plan = Plan(model, recipe + [f"sharding.strategy={strategy}"])
            expect_equal(tuple(plan.count(kind) for kind in ("all_gather", "reduce_scatter", "all_reduce")), counts, f"{mesh}, {strategy}")
            parts = 4 if replicas else 2
            expect_near_runs(train(plan), train(Plan(model, [f"gradient.microbatches={parts}"] + recipe[len(mesh):])), 2e-5, f"{mesh}, {strategy}", weights=1e-4)
            if other and replicas:
                named = Plan(model, recipe + [f"sharding.strategy={other}"])
                expect_equal(named.description["collectives"], plan.description["collectives"], f"collectives of {other}")
                expect_equal(named.arena(), plan.arena(), f"memory of {other}")


@test
def nested_units():
    # Units of norms inside the units of their blocks: gathered where they are used, while the block is gathered.
    model = toy(2, "transformer", "tied=false")
    units = ('sharding.units={' + ", ".join(f'L{i}=["layers.{i}"], n{i}=["layers.{i}.ffn_norm.*"]' for i in range(2)) + "}")
    recipe = ["mesh.shard=4", "sharding.reshard_after_forward=true", NO_FORWARD, "schedule.backward_prefetch=0"]
    plan = Plan(model, recipe + [units])
    expect_equal({u["name"]: len(u["parameters"]) for u in plan.description["units"] if u["name"] != "root"}, {"L0": 10, "n0": 2, "L1": 10, "n1": 2},
                 "parameters of units")
    expect_equal(" ".join(plan.events("forward")),
                 "U(root) U(L0) U(n0) R(n0) R(L0) U(L1) U(n1) R(n1) R(L1) R(root)", "forward")
    expect_equal(" ".join(plan.events("backward")), "U(root) U(L1) U(n1) R(n1) P(n1) R(L1) P(L1) U(L0) U(n0) R(n0) P(n0) R(L0) P(L0) R(root) P(root)",
                 "backward")
    expect_same_bits(train(plan), train(Plan(model, recipe)), "norms as separate units", norm=False)


@test
def reshard_before_backward():
    plan = Plan(toy(2), ["mesh.shard=4", "sharding.reshard_after_forward=false", "sharding.reshard_before_backward=true"])
    expect_equal([plan.count("all_gather", phase="forward"), plan.count("all_gather", phase="backward"),
                  plan.count("reduce_scatter")], [3, 3, 3], "gathers and reductions")


@test
def reshard_after_forward_by_unit():
    # The value of the root and the value of all other units.
    for table, backward in (("default", 3), ("true", 4), ('{root=true, "layers.*"=false}', 1), ("false", 0),
                            ('{root=false, "layers.*"=true}', 3)):
        plan = Plan(toy(3), ["mesh.shard=4", f"sharding.reshard_after_forward={table}"])
        expect_equal((plan.count("all_gather", phase="forward"), plan.count("all_gather", phase="backward"),
                      plan.count("reduce_scatter")), (4, backward, 4), table)


@test
def sequence_a():
    for layers in (2, 3, 4):
        names = [str(i) for i in range(layers)]
        forward = " ".join(["U(root)"] + [f"U({n})" for n in names])
        back = [f"U({names[-1]})"]
        for n in reversed(names):
            if int(n):
                back.append(f"U({int(n) - 1})")
            back.append(f"P({n})")
        for policy in ("none", "block"):
            for after, wanted in (("true", ["U(root)"] + back), ("2", ["U(root)"] + back), ("default", back),
                                  ("false", [f"P({n})" for n in reversed(names)])):
                plan = Plan(toy(layers), ["mesh.shard=4", f"sharding.reshard_after_forward={after}", NO_FORWARD,
                                          f"recompute.policy={policy}", "gradient.microbatches=2"])
                for microbatch in (0, 1):
                    where = f"{layers} layers, {after}, {policy}, micro-batch {microbatch}"
                    only = "UP" if microbatch else "U"
                    end = wanted + ["P(root)"]
                    expect_equal(short(plan.events("forward", microbatch, only="U")), forward, f"{where}: forward")
                    expect_equal(short(plan.events("backward", microbatch, only=only)),
                                 " ".join(e for e in end if e[0] in only), f"{where}: backward")


@test
def sequence_b():
    model = toy(3, "two-forwards")
    once = "U(0) U(1) U(2)"
    back = "U(2) U(1) U(0) U(2) U(1) P(2) U(0) P(1) P(0) P(root)"
    for after, forward, backward in (
            ("true", f"U(root) {once} U(root) {once}", "U(root) " + back), ("2", f"U(root) {once} U(root) {once}", "U(root) " + back),
            ("default", f"U(root) {once} {once}", back),
            # A unit that the first half of the backward releases is gathered for the second half.
            ("false", f"U(root) {once}", "U(2) U(1) P(2) U(0) P(1) P(0) P(root)")):
        plan = Plan(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}", NO_FORWARD])
        expect_equal(short(plan.events("forward", only="U")), forward, f"{after}: forward")
        expect_equal(short(plan.events("backward", only="UP")), backward, f"{after}: backward")
        expect_equal([plan.count("reduce_scatter", unit=unit) for unit in plan.units()], [1] * 4, f"{after}: reductions")
    expect_near_runs(train(Plan(model, FOUR + ADAM), steps=10), train(Plan(model, ["gradient.microbatches=4"] + ADAM), steps=10),
                     2e-5, "two forwards, one backward")


@test
def sequence_c():
    # Two losses through different branches: a branch is gathered once for its backward, although it is prefetched while the
    # other's runs, and a unit of both branches once for both.
    model = zoo("two-losses")
    plan = Plan(model, ["mesh.shard=4", NO_FORWARD])
    expect_equal(" ".join(plan.events("forward", only="U")), "U(0) U(1.lin1) U(1.lin2)", "forward")
    expect_equal(" ".join(plan.events("backward")),
                 "U(1.lin2) U(1.lin1) R(1.lin2) P(1.lin2) U(0) R(1.lin1) P(1.lin1) R(0) P(0)", "backward")
    expect_near_runs(train(plan), train(Plan(model, ["gradient.microbatches=4"])), 1e-5, "two losses")


PER_PASS = "gradient.reduce_per_pass=true"


@test
def sequence_b_of_each_pass():
    model = toy(3, "two-forwards")
    once = "U(0) U(1) U(2)"
    half = "U(2) U(1) P(2) U(0) P(1) P(0)"
    for after, forward, backward in (
            ("true", f"U(root) {once} U(root) {once}", f"U(root) {half} {half} P(root)"),
            ("2", f"U(root) {once} U(root) {once}", f"U(root) {half} {half} P(root)"),
            ("default", f"U(root) {once} {once}", f"{half} {half} P(root)"),
            ("false", f"U(root) {once}", f"P(2) P(1) P(0) {half} P(root)")):
        for policy in ("none", "block"):
            plan = Plan(model, ["mesh.shard=4", f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}", NO_FORWARD, PER_PASS])
            expect_equal(short(plan.events("forward", only="U")), forward, f"{after}, {policy}: forward")
            expect_equal(short(plan.events("backward", only="UP")), backward, f"{after}, {policy}: backward")
            expect_equal({unit: plan.count("reduce_scatter", unit=unit) for unit in plan.units()},
                         {"root": 1, "layers.0": 2, "layers.1": 2, "layers.2": 2}, f"{after}, {policy}: reductions")


@test
def sequence_c_of_each_pass():
    # The backward of the second loss gathers the first branch, which the backward of the first loss then reads.
    plan = Plan(zoo("two-losses"), ["mesh.shard=4", NO_FORWARD, PER_PASS])
    expect_equal(" ".join(plan.events("forward", only="U")), "U(0) U(1.lin1) U(1.lin2)", "forward")
    expect_equal(" ".join(plan.events("backward", only="UP")),
                 "U(1.lin2) U(1.lin1) P(1.lin2) U(0) P(0) U(0) P(1.lin1) P(0)", "backward")
    expect_equal({unit: plan.count("reduce_scatter", unit=unit) for unit in plan.units()},
                 {"root": 0, "0": 2, "1.lin1": 1, "1.lin2": 1}, "reductions")


@test
def numbers_of_each_pass():
    # The sums over passes are of shards: equal to the default but for the order of sums.
    for model in (toy(2, "two-forwards"), zoo("two-losses"), zoo("multi-forward")):
        for recipe in (["mesh.shard=4"], ["mesh.shard=4", "sharding.strategy=no_shard"], ["mesh.shard=2", "mesh.replicate=2"], ["mesh.shard=2", "mesh.tensor=2"], [],
                       ["mesh.shard=2", "gradient.microbatches=2"], ["mesh.shard=2", "gradient.microbatches=2", "gradient.sync=every"],
                       ["mesh.shard=2", "mesh.replicate=2", "gradient.microbatches=3", "gradient.sync=reduce_scatter_only"],
                       ["mesh.shard=2", "gradient.microbatches=3", "gradient.sync=[false, true, true]"],
                       ["mesh.shard=2", 'memory.offload=["parameters", "optimizer"]', "gradient.microbatches=2"], ["mesh.shard=2", "sharding.units=root"],
                       ["mesh.shard=2", "recompute.policy=block"], ["mesh.shard=2", "schedule.reduce_buffers=3"]):
            expect_near_runs(train(Plan(model, ADAM + recipe + [PER_PASS]), steps=5), train(Plan(model, ADAM + recipe), steps=5), 2e-5,
                      f"{model.name}, {recipe}", weights=1e-3)


@test
def sequence_d():
    model = toy(4)
    backward = "U(root) U(3) U(2) R(3) P(3) U(1) R(2) P(2) U(0) R(1) P(1) R(0) P(0) R(root) P(root)"
    for distance, forward in ((0, "U(root) U(0) R(0) U(1) R(1) U(2) R(2) U(3) R(3) R(root)"),
                              (1, "U(root) U(0) U(1) R(0) U(2) R(1) U(3) R(2) R(3) R(root)"),
                              (2, "U(root) U(0) U(1) U(2) R(0) U(3) R(1) R(2) R(3) R(root)"),
                              (3, "U(root) U(0) U(1) U(2) U(3) R(0) R(1) R(2) R(3) R(root)")):
        table = {i: [f"layers.{i + k}" for k in range(1, distance + 1) if i + k < 4] for i in range(4)}
        text = ", ".join(f'"layers.{i}"={json.dumps(names)}' for i, names in table.items())
        # By distance, and by table. In both cases the root prefetches its first layer.
        for given in ([f"{distance}"] if distance == 0 else [f"{distance}", '{root=["layers.0"], ' + text + "}"]):
            plan = Plan(model, FOUR + ["recompute.policy=block", f"schedule.forward_prefetch={given}"])
            expect_equal(short(plan.events("forward")), forward, f"forward, {given}")
            expect_equal(short(plan.events("backward")), backward, f"backward, {given}")


@test
def sequence_e():
    model = toy(4)
    for distance, backward in (
            (0, "U(root) U(3) R(3) P(3) U(2) R(2) P(2) U(1) R(1) P(1) U(0) R(0) P(0) R(root) P(root)"),
            (1, "U(root) U(3) U(2) R(3) P(3) U(1) R(2) P(2) U(0) R(1) P(1) R(0) P(0) R(root) P(root)"),
            (2, "U(root) U(3) U(2) U(1) R(3) P(3) U(0) R(2) P(2) R(1) P(1) R(0) P(0) R(root) P(root)"),
            (3, "U(root) U(3) U(2) U(1) U(0) R(3) P(3) R(2) P(2) R(1) P(1) R(0) P(0) R(root) P(root)")):
        table = ", ".join(f'"layers.{i}"={json.dumps([f"layers.{i - k}" for k in range(1, distance + 1) if i - k >= 0])}'
                          for i in range(4))
        for given in (f"{distance}", '{root=["layers.3"], ' + table + "}"):
            plan = Plan(model, FOUR + ["recompute.policy=block", NO_FORWARD, f"schedule.backward_prefetch={given}"])
            expect_equal(short(plan.events("forward")), "U(root) U(0) R(0) U(1) R(1) U(2) R(2) U(3) R(3) R(root)", f"forward, {given}")
            expect_equal(short(plan.events("backward")), backward, f"backward, {given}")
            if distance == 0:
                continue
            # The root prefetches one layer at any distance: the next gather is issued after the root's compute.
            gathers = [e["i"] for e in plan.description["events"] if e["entry"] == "train_step" and e["phase"] == "backward" and e["what"] == "unshard"]
            root = [i for i, phase, unit, _ in launches(plan) if phase == "backward" and unit == "root"]
            expect(gathers[1] < root[0] < gathers[2], f"{given}: expected compute of the root between the gathers {gathers[1:3]} but got {root[0]}")


@test
def sequence_f():
    # Recompute within recompute: the first weights of each FFN are a unit in their block's.
    model = zoo("nested-recompute", "tied=false")
    units = ('sharding.units={E=["tok_embeddings*", "pos_embeddings*"], NO=["norm*", "output*"], ' +
             ", ".join(f'L{i}=["layers.{i}"], w{i}=["layers.{i}.feed_forward.w1.*"]' for i in range(3)) + "}")
    recipe = FOUR + ["recompute.policy=marked", NO_FORWARD, units]
    # A list in the recipe replaces the prefetches of a unit: w2 inside L2 is gathered when the recompute reads it.
    for prefetch, backward in (
            ([], "U(NO) U(L2) R(NO) U(w2) U(L1) R(w2) R(L2) U(w1) U(L0) R(w1) R(L1) U(w0) U(E) R(w0) R(L0) R(E)"),
            (['schedule.backward_prefetch={NO=["L2"], L2=["L1", "w1"], L1=["L0", "w0"], L0=["E"]}'],
             "U(NO) U(L2) R(NO) U(L1) U(w1) U(w2) R(w2) R(L2) U(L0) U(w0) R(w1) R(L1) U(E) R(w0) R(L0) R(E)")):
        plan = Plan(model, recipe + prefetch)
        expect_equal(" ".join(plan.events("backward", only="UR")), backward, f"backward, {prefetch}")
    wanted = train(Plan(model, FOUR + [units]))
    expect_same_bits(train(Plan(model, recipe)), wanted, "recomputed")


@test
def units_of_several_blocks():
    model = toy(5, "transformer", "tied=false")
    units = ('sharding.units={a=["layers.0"], b=["layers.1", "layers.2"], c=["layers.3", "layers.4"], '
             'e=["tok_embeddings*", "pos_embeddings*"], n=["norm*", "output*"]}')
    plan = Plan(model, ["mesh.shard=4", units, "sharding.reshard_after_forward=false", NO_FORWARD])
    expect_equal(" ".join(plan.events("forward", only="U")), "U(e) U(a) U(b) U(c) U(n)", "forward")
    # The launches of a block are in its unit, with or without parameters.
    expect_equal([unit for _, phase, unit, kernel in launches(plan) if phase == "forward" and kernel == "attention"],
                 ["a", "b", "b", "c", "c"], "units of the attention's launches")
    plan = Plan(model, ["mesh.shard=4", units, "sharding.reshard_after_forward={n=false, \"*\"=true}",
                        "sharding.unshard_in_backward={e=false}", NO_FORWARD])
    expect_equal(" ".join(plan.events("backward", only="UP")), "U(c) P(n) U(b) P(c) U(a) P(b) P(a) P(e)", "backward")


@test
def unused_parameters_in_a_unit():
    plan = Plan(zoo("unused-linear"), ["mesh.shard=4", NO_FORWARD])
    expect_equal(" ".join(plan.events("forward", only="U")), "U(root) U(0) U(1)", "forward")
    expect_equal(" ".join(plan.events("backward", only="UP")), "U(1) U(0) P(1) P(0) P(root)", "backward")
    # A weight of 16 x 16 and its bias; of the unused linear there is no gradient.
    expect_equal({c["bytes_in"] for c in plan.collectives("reduce_scatter", unit="0")}, {4 * (16 * 16 + 16)}, "bytes reduced")


@test
def redundant_prefetch():
    model = zoo("mlp", "dim=16")
    plain = Plan(model, FOUR)
    redundant = Plan(model, FOUR + ['schedule.backward_prefetch={in_proj=["out_proj"]}'])
    for kind in ("all_gather", "reduce_scatter"):
        expect_equal(redundant.count(kind), plain.count(kind), kind)
    expect_same_bits(train(redundant), train(plain), "redundant prefetch")
    # A unit that prefetches itself: its buffer is occupied until then.
    twice = [Plan(toy(3, "two-forwards"), FOUR + [NO_FORWARD, f"schedule.backward_prefetch={given}"])
             for given in ('{"layers.2"=["layers.2"]}', '{"layers.2"=[]}')]
    expect_equal(twice[0].events(), twice[1].events(), "events of a unit that prefetches itself")
    expect_same_bits(train(twice[0]), train(twice[1]), "a unit that prefetches itself")


@test
def prefetch_by_table():
    # The listed units are gathered with the root, before their first use.
    model = zoo("mlp-sequence", "count=3", "dim=8")
    plan = Plan(model, ["mesh.shard=2", 'schedule.forward_prefetch={"0"=["1", "2"]}', "sharding.reshard_after_forward=false"])
    expect_equal(" ".join(plan.events("forward", only="U")), "U(0) U(1) U(2)", "forward")
    expect_near_runs(train(plan, steps=10), train(Plan(model, ["gradient.microbatches=2"]), steps=10), 2e-5, "prefetch by table")


@test
def empty_units():
    plan = Plan(toy(2), ["mesh.shard=2", 'sharding.units={none=[], a=["layers.0"]}'])
    expect("none" in plan.units(), "expected a unit without parameters")
    expect_equal([e for e in plan.events() if "(none)" in e], [], "events of the unit without parameters")
    expect_equal([c for c in plan.collectives() if c["unit"] == "none"], [], "collectives of the unit without parameters")
    # A block that has compute but whose parameters are all in a different unit.
    plan = Plan(toy(2), ["mesh.shard=2", 'sharding.units={none=["layers.0"], a=["layers.0.*"]}'])
    expect("none" in {unit for _, _, unit, _ in launches(plan)}, "expected launches of the unit without parameters")
    expect_equal([e for e in plan.events() if "(none)" in e], [], "events of a block without parameters")


def factors(plan):
    """The factors and reductions of gradients in the backward, in order."""
    return [float(re.search(r"factor = ([0-9.e+-]+)", one.operands)[1]) if one.what == "scale" else one.what
            for one in plan.instructions() if one.phase == "backward" and one.what in ("scale", "reduce_scatter", "all_reduce")]


@test
def predivide_and_postdivide_factors_of_f16():
    # Predivide and postdivide factors of f16 by the divisor.
    table = {2: (2, 1), 3: (2, 1.5), 4: (2, 2), 8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8), 128: (16, 8)}
    model = zoo("mlp", "dim=16")
    for ranks, (before, after) in table.items():
        for mesh in ([f"mesh.shard={ranks}"], ["mesh.replicate=2", f"mesh.shard={ranks // 2}"]):
            if ranks % 2 and len(mesh) == 2:
                continue
            plan = Plan(model, mesh + ["precision.reduce=f16", "sharding.units=root"])
            found = factors(plan)
            wanted = [1 / before] * 4 + [c["kind"] for c in plan.collectives(phase="backward") if c["kind"] != "all_gather"]
            wanted += [1 / after] * 4 if after != 1 else []
            expect(len(found) == len(wanted) and all(a == b if isinstance(a, str) or isinstance(b, str) else
                                                     math.isclose(a, b, rel_tol=1e-12) for a, b in zip(found, wanted)),
                   f"{mesh}: factors, expected {wanted} but got {found}")
            expect_equal({c["op"] for c in plan.collectives() if c["unit"] and c["kind"] != "all_gather"}, {"sum"}, f"{mesh}: reductions")
            expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")} - {"f16"}, set(), f"{mesh}: dtypes")
    # The range of f32 and bf16 suffices for the sum: one mean without other factors.
    for dtype in ("f32", "bf16"):
        plan = Plan(model, ["mesh.shard=128", f"precision.reduce={dtype}"])
        expect_equal([f for f in factors(plan) if not isinstance(f, str)], [], f"factors of {dtype}")
        expect_equal({c["op"] for c in plan.collectives("reduce_scatter")}, {"mean"}, f"reduction of {dtype}")
    # The result is the mean.
    expect_near_runs(train(Plan(model, ["mesh.shard=4", "precision.reduce=f16"])), train(Plan(model, ["mesh.shard=4"])), 5e-3, "f16 sums")


@test
def divide_factor_of_one_unit():
    model = toy(2, "transformer", "tied=false")
    for mesh, scatter in ((["mesh.shard=4"], 4), (["mesh.replicate=2", "mesh.shard=2"], 2), (["mesh.replicate=4"], 1)):
        for factor in (8, 4):
            recipe = mesh + [f"gradient.divide={{root={factor}}}", "sharding.reshard_after_forward=false"]
            plan = Plan(model, recipe)
            ops = {(c["unit"] == "root", c["kind"], c["op"]) for c in plan.collectives() if c["unit"] and c["kind"] != "all_gather"}
            if scatter > 1:
                wanted = {(True, "reduce_scatter", "mean" if factor == scatter else "premul_sum"), (False, "reduce_scatter", "mean")}
                if scatter < 4:
                    wanted |= {(True, "all_reduce", "sum"), (False, "all_reduce", "mean")}
            else:
                wanted = {(True, "all_reduce", "mean" if factor == 4 else "premul_sum"), (False, "all_reduce", "mean")}
            expect_equal(ops, wanted, f"{recipe}: reductions")
    # A root without parameters divides nothing.
    mlps = zoo("mlp-sequence", "count=3", "dim=16")
    narrow = ["mesh.shard=4", "precision.compute=bf16", "precision.reduce=f32"] + ADAM
    expect_same_bits(train(Plan(mlps, narrow + ["gradient.divide={root=4}"])), train(Plan(mlps, narrow)), "a root without parameters")


@test
def force_sum():
    model = toy(2)
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"]):
        kinds = {"reduce_scatter", "all_reduce"} if len(mesh) == 2 else {"reduce_scatter"}
        for force, op in (("false", "mean"), ("true", "sum")):
            plan = Plan(model, mesh + [f"gradient.force_sum={force}"])
            expect_equal({(c["kind"], c["op"]) for c in plan.collectives() if c["unit"] and c["kind"] != "all_gather"},
                         {(kind, op) for kind in kinds}, f"{mesh}, {force}")
            counts = {c["bytes_out"] // 4 for c in plan.collectives("reduce_scatter", unit="layers.0")}
            expect_equal(counts, {3216 // (4 if len(mesh) == 1 else 2)}, f"{mesh}, {force}: elements of a block's shard")
        expect_near_runs(train(Plan(model, mesh + ["gradient.force_sum=true"])), train(Plan(model, mesh)), 1e-5, f"{mesh}: sums")


@test
def force_sum_on_one_rank():
    model = zoo("mlp", "dim=32")
    for mesh in (["mesh.shard=1"], ["mesh.shard=1", "gradient.force_sum=true"]):
        expect_equal(Plan(model, mesh).description["collectives"], [], f"{mesh}: collectives")
    expect_same_bits(train(Plan(model, ["gradient.force_sum=true"])), train(Plan(model, [])), "sums of one rank")


@test
def resharded_over_eight_of_128_ranks():
    # Sharded over 128 ranks, resharded over eight: groups of 128 in the forward, of eight in the backward.
    plan = Plan(toy(2), ["mesh.shard=128", "sharding.reshard_after_forward=8"])
    expect_equal({(c["phase"], c["group"]) for c in plan.collectives("all_gather")}, {("forward", 128), ("backward", 8)}, "groups")
    wanted = train(Plan(toy(2), ["mesh.shard=8"]))
    expect_same_bits(train(Plan(toy(2), ["mesh.shard=8", "sharding.reshard_after_forward=4"])), wanted, "resharded over four")


@test
def initial_weights_of_a_sharded_plan():
    # Without a step the saved weights are the initial weights of one rank.
    full = train(Plan(zoo("mlp", "dim=4"), []), steps=0).weights
    expect(train(Plan(zoo("mlp", "dim=4"), ["mesh.shard=2"]), steps=0).weights == full, "expected the initial weights")


main(no_empty_loops=True)
