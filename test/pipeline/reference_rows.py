"""Rows of the reference with gradients and parameters after every step, at the reference's tolerances of f32 (parity.py)."""

from checkpoint import train_with_states
from parity import *
from sluice import *

# The reference's sizes: vocabulary 1024, 3 rows of 64 tokens.
TOKENS = ("vocab=1024", "max_sequence=64", "sequence=64", "batch=3")
HOST = 'memory.offload=["parameters", "optimizer"]'
POLICIES = [[f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}"] for after in ("true", "false") for policy in ("none", "block")]


@test
def uneven_shards_in_one_unit():
    for sizes in ((16, 15, 8), (7, 15, 3), (16, 17, 8)):
        model = zoo("linear-relu-linear", *(f"{key}={size}" for key, size in zip(("in", "hidden", "out"), sizes)), "batch=4")
        for ranks in (1, 2, 4, 8):
            parity(model, [f"mesh.shard={ranks}"], ranks, [["sharding.units=root"]])


@test
def largest_dim():
    for sizes in (("in=16", "hidden=32", "out=8"), ("in=16", "hidden=16", "out=8")):
        parity(zoo("linear-relu-linear", *sizes, "batch=4"), ["mesh.shard=4", "sharding.units=root"], 4, [["sharding.dim=largest"]])
    model = zoo("transformer", "layers=3", "dropout=0")
    parity(model, ["mesh.shard=4"], 4, [["sharding.dim=largest"]])
    for name, parameter in Plan(model, ["mesh.shard=4", "sharding.dim=largest"]).parameters().items():
        expect_equal(parameter["dim"], parameter["shape"].index(max(parameter["shape"])), f"'{name}' of {parameter['shape']}: sharded dim")
    parity(zoo("mlp", "dim=4"), ["mesh.shard=2"], 2, [['sharding.dim={"*.weight"=1}']])


@test
def units_of_a_transformer():
    model = zoo("transformer", "layers=3", "dropout=0", *TOKENS)
    parity(model, ["mesh.shard=4"], 4, [[f"sharding.reshard_after_forward={after}"] for after in ("true", "false", "2")])
    parity(model, ["mesh.shard=2"], 2, [[HOST, f"memory.pinned={pinned}"] for pinned in ("true", "false")])


@test
def prefetch_of_two_units():
    parity(zoo("transformer", "layers=8", "dropout=0"), ["mesh.shard=4"], 4, [["schedule.forward_prefetch=2", "schedule.backward_prefetch=2"]])


@test
def recompute_and_units_of_several_blocks():
    untied, tied = (zoo("transformer", "layers=3", "dropout=0", *TOKENS, *more) for more in (("tied=false",), ()))
    several = 'a=["layers.0"], b=["layers.1", "layers.2"]'
    for model, units in ((tied, []),
                         (untied, [f'sharding.units={{{several}, e=["tok_embeddings*", "pos_embeddings*"], n=["norm*", "output*"]}}',
                                   "sharding.unshard_in_backward={e=false}"]),
                         (tied, [f'sharding.units={{{several}, e=["tok_embeddings*"], n=["norm*"]}}'])):
        parity(model, ["mesh.shard=2"], 2, [policy + units for policy in POLICIES])


@test
def tied_parameters():
    parity(zoo("transformer", "layers=3", "dropout=0"), ["mesh.shard=4"], 4, POLICIES)
    parity(zoo("transformer", "layers=1", "dropout=0", "vocab=17"), ["mesh.shard=4"], 4, [[]])


@test
def several_uses_and_entry_points():
    parity(zoo("multi-forward", "batch=32"), ["mesh.shard=4"], 4, [[f"sharding.reshard_after_forward={after}"] for after in ("true", "false", "2")])
    parity(zoo("two-forwards", "layers=3"), ["mesh.shard=4"], 4, POLICIES)
    parity(zoo("unused-linear"), ["mesh.shard=4"], 4, [[]])
    sequence = zoo("mlp-sequence", "count=3", "dim=32")
    parity(sequence, ["mesh.shard=4"], 4, [[]], options=("--entries", "train_first"))
    parity(sequence, ["mesh.shard=4"], 4, [[]], options=("--entries", "train_step,train_first"))


@test
def nested_units_with_recompute_in_two_forwards():
    """Two forwards and one backward, with units inside the units of blocks: the recompute of each forward gathers both, and each unit is reduced
    once."""
    layers = range(3)
    units = ("sharding.units={" + ", ".join(f'L{i}=["layers.{i}"], w{i}=["layers.{i}.feed_forward.w1.*"]' for i in layers) + "}")
    model = zoo("two-forwards", "layers=3")
    base = ["mesh.shard=4", "sharding.reshard_after_forward=true", "schedule.forward_prefetch=0", "schedule.backward_prefetch=0"]
    for policy in ("none", "block"):
        nested = base + [units, f"recompute.policy={policy}"]
        plan = Plan(model, nested)
        # Each half of the backward needs the outer unit from the recompute of its first norm on, and releases it after the last use.
        expect_equal([plan.count("reduce_scatter", unit=unit) for unit in plan.units()], [1] * 7, f"{policy}: reductions")
        gathers = collections.Counter(e["unit"] for e in plan.description["events"] if e["entry"] == "train_step" and e["what"] == "unshard" and
                                      e["phase"] == "backward")
        expect_equal({unit: gathers[unit] for unit in plan.units() if unit != "root"}, {unit: 2 for unit in plan.units() if unit != "root"},
                     f"{policy}: gathers of two halves of the backward")
        for steps, optimizer in ((1, ONE), (10, ADAM)):
            expect_same_bits(train(Plan(model, nested + optimizer), steps=steps), train(Plan(model, base + optimizer), steps=steps),
                      f"{policy}: nested units", norm=False)
    # A nested unit also has a member that no forward uses.
    unused = SCRATCH / "two-forwards-unused.mlir"
    unused.write_text(model.read_text().replace("  model.parameter ", '  model.parameter @"layers.1.unused.weight" : tensor<3x3xf32> ones\n  model.parameter ', 1))
    member = units.replace('"layers.1.feed_forward.w1.*"', '"layers.1.feed_forward.w1.*", "layers.1.unused.*"')
    for after, (which, nested) in itertools.product(("true", "false"), ((model, units), (unused, member))):
        parity(which, ["mesh.shard=4", f"sharding.reshard_after_forward={after}"], 4, [[nested, "recompute.policy=block"]])
    members = {unit["name"]: {p["name"] for p in unit["parameters"]} for unit in Plan(unused, ["mesh.shard=4", member]).description["units"]}
    expect("layers.1.unused.weight" in members["w1"], f"expected an unused member of a nested unit but got {members}")


@test
def sharded_tensors_of_two_and_three_axes():
    """The full grid of the rows, an idle third axis included: resharding policy by recompute, for even and uneven dims."""
    split = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
    for dim in (3, 5, 6, 16, 17):
        model = zoo("mlp-stack", f"dim={dim}", "batch=8")
        start = train(Plan(model, []), steps=0).weights
        for mesh, ranks in ((["mesh.pipeline=1", "mesh.shard=2", "mesh.tensor=2"], 2),
                            (["mesh.replicate=2", "mesh.shard=2", "mesh.tensor=2"], 4)):
            parity(model, mesh + [split], ranks, POLICIES, data="random:4")
            plan = Plan(model, mesh + [split] + POLICIES[0] + ADAM)
            expect(train(plan, steps=0).weights == start, f"{dim}, {mesh}: expected the initial weights of one rank")
            expect_equal([(a["axis"], a["size"]) for a in plan.description["mesh"] if a["axis"] != "replicate" or a["size"] > 1],
                         [("replicate", 2)] * (ranks == 4) + [("shard", 2), ("tensor", 2)], f"{dim}: mesh")
            for name, parameter in plan.parameters().items():
                split_dim = parameter["part"]["dim"] if "part" in parameter else None
                expect_equal((parameter["dim"], split_dim), (0, 0 if "in_proj" in name else 1 if name.endswith("weight") else None),
                             f"{dim}, '{name}': dims of the axes shard and tensor")


@test
def replicas_of_shards():
    """Four ranks in two replicas of two shards, and two replicas with a shard axis of one rank: the 48 combinations of the row on four ranks, with
    parameters and states in host memory that is pinned or not, and half of them on two."""
    runs = 0
    for dim in (3, 16, 17):
        model = zoo("norm-mlps", f"dim={dim}", "batch=8")
        for mesh, ranks, pinned in ((["mesh.replicate=2", "mesh.shard=2"], 4, ("true", "false")), (["mesh.replicate=2", "mesh.shard=1"], 2, ("true",))):
            recipes = [[*policy, f"gradient.sync={sync}", HOST, f"memory.pinned={pin}"]
                       for policy in POLICIES for sync in ("last", "every") for pin in pinned]
            parity(model, mesh, ranks, recipes + [POLICIES[0], POLICIES[3]], steps=5, microbatches=3)
            runs += len(recipes)
    expect_equal(runs, 48 + 24, "combinations in host memory")


@test
def parameters_of_another_method():
    """Batch 4 on each of two ranks."""
    parity(zoo("vision"), ["mesh.shard=2"], 2, [[]], steps=1)


@test
def divisors_of_one_unit():
    """The gradients of the root are divided by the factor instead of the four ranks: they are 4 / factor times those of one rank without a divisor.
    Adam's steps do not depend on a factor of the gradients, apart from its epsilon."""
    model = zoo("transformer", "tied=false", "dropout=0")
    adamw = ["optimizer.name=adamw", "optimizer.lr=0.01"]
    alone = train_with_states(Plan(model, ["gradient.microbatches=4"] + adamw), steps=10)
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=4", "mesh.shard=1"]):
        for factor in (8, 4):
            plan = Plan(model, mesh + [f"gradient.divide={{root={factor}}}", "sharding.reshard_after_forward=false"] + adamw)
            found = train_with_states(plan, steps=10)
            root = next(unit["parameters"] for unit in plan.description["units"] if unit["name"] == "root")
            expect(root, "expected parameters of the root")
            for states, parameter in itertools.product(found.states, root):
                mean = f"optimizer.state.{parameter['name']}.exp_avg"
                values = struct.unpack(f"<{len(states[mean]) // 4}f", states[mean])
                states[mean] = struct.pack(f"<{len(values)}f", *(value * factor / 4 for value in values))
            same_states(found, alone, f"{mesh}, divided by {factor}")


def schedule(pattern):
    return "gradient.sync=[" + ", ".join(str(one).lower() for one in pattern) + "]"


@test
def accumulation_against_one_pass():
    """Micro-batches of two ranks against one pass over all their rows: 36 runs with nine micro-batches, 18 with three in host memory.
    The loss is a sum over rows, and a step takes the mean of its micro-batches and ranks."""
    F, T = False, True
    model, runs = zoo("encoder-decoder", "batch=2"), 0
    for patterns, host in ((([F, F, F, T, T, T, F, F, T], [T, T, T, F, F, F, T, T, T]), []), (([F, F, T],), [HOST])):
        parts = 2 * len(patterns[0])
        whole = zoo("encoder-decoder", f"batch={2 * parts}")
        once = train(Plan(whole, ["optimizer.name=sgd", f"optimizer.lr={1 / parts}"]), steps=1)
        once = once._replace(loss=[once.loss[0] / parts])
        for prefetch, strategy, dim in itertools.product(("none", "pre", "post"), ("full_shard", "shard_grad_op", "no_shard"), ("first", "flat")):
            for pattern in patterns:
                recipe = ["mesh.shard=2", f"gradient.microbatches={len(pattern)}", f"schedule.backward_prefetch={prefetch}",
                          f"sharding.strategy={strategy}", f"sharding.dim={dim}", schedule(pattern)] + host
                same_gradients(train(Plan(model, recipe + ONE), steps=1), once, f"{recipe}")
                runs += 1
    expect_equal(runs, 36 + 18, "runs")


@test
def accumulation_modes():
    """Micro-batches of two rows, three a step: which units defer their reductions, and where parameters remain gathered."""
    model = zoo("linear-mlps", "count=3", "dim=32")
    modes = ["last", "reduce_scatter_only", '{"1"="last", "2"="last", "*"="every"}', '{root="last", "*"="every"}']
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"]):
        recipes = [[f"sharding.reshard_after_forward={after}", f"gradient.sync={mode}"] for after in ("true", "false", "2")
                   for mode in (modes if len(mesh) == 2 else modes[:1] + modes[2:])]
        recipes += [["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last"],
                    ["sharding.reshard_after_forward=false", 'gradient.sync={root="last", "*"="every"}', 'sharding.reshard_after_backward={root="last"}'],
                    ["sharding.reshard_after_forward=true", HOST]]
        parity(model, mesh, 4, recipes, steps=5, microbatches=3)
    parity(zoo("transformer", "dropout=0"), ["mesh.shard=4"], 4,
           [["sharding.reshard_after_forward=false"] + more for more in ([], ["sharding.reshard_after_backward=last"])], microbatches=3)


@test
def ranks_without_rows():
    """1 to 8 ranks: dims below, at and above the number of ranks."""
    model = zoo("linear-relu-linear", "in=5", "hidden=7", "out=3", "batch=2")
    for ranks in range(1, 9):
        parity(model, [f"mesh.shard={ranks}"], ranks, [["sharding.dim=first"], ["sharding.dim=flat"]], steps=1)


@test
def frozen_parameters():
    parity(zoo("linear-mlps", "count=3", "dim=8"), [], 4,
           [["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.shard=4", "sharding.reshard_after_forward=2"],
            ["mesh.shard=4", "sharding.dim=flat", "recompute.policy=block"]], extra=['parameters.frozen=["1.*", "2.in_proj.weight"]'])


@test
def sync_by_unit_and_mesh():
    syncs = ("[true, false, true]", '{"1"=[false, true, true], "2"="every", "*"=[true, false, true]}')
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=4"]):
        recipes = [[f"sharding.reshard_after_forward={after}", f"gradient.sync={sync}"]
                   for after in (("true", "false") if mesh == ["mesh.replicate=4"] else ("true", "false", "2")) for sync in syncs]
        parity(zoo("linear-mlps", "count=3", "dim=32"), mesh, 4, recipes, steps=5, microbatches=3)


main(no_empty_loops=True)
