"""Parameters sharded along any dim or by elements: the same numbers as along dim 0, dense weights, copies, memory."""

from sluice import *

FLAT, LARGEST = "sharding.dim=flat", "sharding.dim=largest"


def layouts(model, mesh, recipes=([],), dims=(FLAT, LARGEST), steps=3):
    """Losses and weights have the bits of chunks along dim 0; the norm adds up shards in a different order."""
    for recipe in recipes:
        wanted = train(Plan(model, mesh + recipe), steps=steps)
        for dim in dims:
            expect_same_bits(train(Plan(model, mesh + recipe + [dim]), steps=steps), wanted, f"{mesh + recipe + [dim]}", norm=False)


@test
def uneven_dims():
    # 7 ranks divide no extent, and some ranks have no elements.
    for mesh in (["mesh.shard=4"], ["mesh.shard=7"], ["mesh.replicate=2", "mesh.shard=3"]):
        layouts(gpt2_tiny(), mesh)
    # By table: the ranks divide neither extent of a weight.
    model = zoo("linear-relu-linear", "in=7", "hidden=15", "out=3")
    for ranks in (2, 4, 6):
        layouts(model, [f"mesh.shard={ranks}"], ([], ["sharding.reshard_after_forward=true"]), dims=['sharding.dim={"*.weight"=1}'])
        found = Plan(model, [f"mesh.shard={ranks}", 'sharding.dim={"*.weight"=1}']).parameters()["0.weight"]
        expect_equal((found["dim"], found["local"]), (1, [15, -(-7 // ranks)]), f"{ranks} ranks: sharding of the first weight")


@test
def layouts_and_resharding():
    layouts(gpt2_tiny(), ["mesh.shard=4", "gradient.microbatches=2"],
            ([], ["sharding.reshard_after_forward=2"], ["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last"],
             ["gradient.sync=every"], ["recompute.policy=block"], ["precision.compute=bf16"]))
    layouts(gpt2_tiny(), ["mesh.shard=6"], (["sharding.reshard_after_forward=3"], ["sharding.reshard_after_forward=2"]))


@test
def one_unit_on_the_largest_dim():
    # Even shapes.
    for sizes in (("in=16", "hidden=32", "out=8"), ("in=16", "hidden=16", "out=8")):
        layouts(zoo("linear-relu-linear", *sizes, "batch=4"), ["mesh.shard=4", "sharding.units=root"], dims=[LARGEST], steps=10)
        plan = Plan(zoo("linear-relu-linear", *sizes, "batch=4"), ["mesh.shard=4", "sharding.units=root", LARGEST])
        for parameter in plan.parameters().values():
            expect_equal(parameter["dim"], parameter["shape"].index(max(parameter["shape"])), f"dim of {parameter['name']}")
            expect_equal(parameter["padding"], 0, f"padding of {parameter['name']}")


@test
def transformer_on_the_largest_dim():
    # One rank without sharding has the same numbers.
    model = zoo("transformer", "layers=3", "dropout=0")
    layouts(model, ["mesh.shard=4"], dims=[LARGEST], steps=5)
    expect_near_runs(train(Plan(model, ["mesh.shard=4", LARGEST]), steps=5),
                     train(Plan(model, ["gradient.microbatches=4"]), steps=5), 2e-5, "against one rank", weights=5e-4)


@test
def shards_and_gathered_parameters_are_dense():
    # Weights on dim 1, biases on dim 0; kernels read gathered parameters, and write gradients, with the strides of their shape.
    model = zoo("mlp", "dim=4")
    plan = Plan(model, ["mesh.shard=2", 'sharding.dim={"*.weight"=1}'])
    for name, parameter in plan.parameters().items():
        dim = 1 if name.endswith("weight") else 0
        local = list(parameter["shape"])
        local[dim] //= 2
        expect_equal((parameter["dim"], parameter["local"], parameter["padding"]), (dim, local, 0), name)
        reads = [operand for line in plan.text.splitlines() if "matmul" in line for operand in line.split("%") if operand.startswith(f"{name}.gathered")]
        expect(reads and not any("strides" in operand for operand in reads), f"{name}: expected dense reads but got {reads}")
    writes = [one.operands.split(" -> ")[1] for one in plan.instructions() if one.phase == "backward" and one.what in ("matmul", "reduce_sum")]
    shards = [operand for one in plan.instructions() if one.phase == "update" for operand in one.operands.split("%") if ".gradient_shard." in operand]
    for dense in writes, shards:
        expect(len(dense) >= len(plan.parameters()) and not any("strides" in operand for operand in dense), f"expected dense gradients but got {dense}")
    layouts(model, ["mesh.shard=2"], dims=['sharding.dim={"*.weight"=1}'], steps=10)


@test
def flat_sharding():
    plan, rows = (Plan(gpt2_tiny(), ["mesh.shard=7"] + more) for more in ([FLAT], []))
    for name, parameter in plan.parameters().items():
        elements = math.prod(parameter["shape"])
        chunk = -(-elements // 7)
        expect_equal((parameter["dim"], parameter["local"], parameter["padding"]),
                     (0 if len(parameter["shape"]) == 1 else "flat", [chunk], 7 * chunk - elements), name)
        expect(parameter["padding"] < 7, f"{name}: padding, expected less than the ranks but got {parameter['padding']}")
    sums = [sum(p["padding"] for p in one.parameters().values()) for one in (plan, rows)]
    expect(sums[0] < sums[1] / 10, f"padding: expected far less than {sums[1]} but got {sums[0]}")
    # No copies, as along dim 0.
    expect_equal(plan.count_instructions("copy"), rows.count_instructions("copy"), "copies")


@test
def copies_of_other_dims():
    # One copy after each gather and one before each reduction of a weight that is not sharded along dim 0.
    model = zoo("mlp", "dim=16")
    first = Plan(model, ["mesh.shard=4", "sharding.units=root", "sharding.reshard_after_forward=true"])
    other = Plan(model, ["mesh.shard=4", "sharding.units=root", "sharding.reshard_after_forward=true",
                         'sharding.dim={"*.weight"=1}'])
    expect_equal(other.count_instructions("copy") - first.count_instructions("copy"), 2 * (2 + 1), "copies of two weights, two gathers and a reduction")
    for kind in ("all_gather", "reduce_scatter"):
        expect_equal([(c["bytes_in"], c["bytes_out"]) for c in other.collectives(kind)],
                     [(c["bytes_in"], c["bytes_out"]) for c in first.collectives(kind)], f"bytes of {kind}")


@test
def weights_load_and_save():
    # Every sharding loads the files of all others and saves the same file.
    start = SCRATCH / "start"
    run("sluice-train", Plan(gpt2_tiny(), ["mesh.shard=4"]).path, "--data", "random:5", "--steps", "2", "--save", start, "--quiet")
    wanted = (start / "model.safetensors").read_bytes()
    for mesh in (["mesh.shard=4"], ["mesh.shard=7"], ["mesh.replicate=2", "mesh.shard=3"]):
        for dim in ([], [FLAT], [LARGEST]):
            loaded = train(Plan(gpt2_tiny(), mesh + dim + ["optimizer.lr=0", "optimizer.weight_decay=0"]), "--init", start, steps=1)
            expect(loaded.weights == wanted, f"{mesh + dim}: expected the weights as loaded but got others")
    initial = {train(Plan(gpt2_tiny(), mesh + ["optimizer.lr=0", "optimizer.weight_decay=0"]), "--seed", "9", steps=1).weights
            for mesh in ([], ["mesh.shard=4", FLAT], ["mesh.shard=7", LARGEST], ["mesh.shard=7", FLAT], ["mesh.shard=3"])}
    expect_equal(len(initial), 1, "different initial weights")


@test
def shards_of_one_element():
    # Each rank has one element of a bias, and of an unused bias with one element in total: the padding differs.
    for settings in (["mesh.shard=6"], ["mesh.shard=3", 'sharding.replicated=["*.weight"]']):
        for model in (zoo("unused-linear", "dim=5"), zoo("mlp-stack", "dim=5")):
            plan = Plan(model, settings + ["optimizer.name=sgd"])
            alone = Plan(model, [f"gradient.microbatches={settings[0][-1]}", "optimizer.name=sgd"])
            expect_near_runs(train(plan), train(alone), 1e-4, f"{model.stem}, {settings}", weights=1e-4)


@test
def refusals():
    expect_refused(gpt2_tiny(), ["mesh.shard=4", "sharding.dim=1"], "--set sharding.dim=1: value of 'sharding.dim' for parameter '",
                   "expected a dim below 1 but got 1")
    expect_refused(gpt2_tiny(), ["mesh.shard=4", 'sharding.dim={"x*"=1}'], "'x*' in 'sharding.dim' matches no parameter")
    expect_refused(gpt2_tiny(), ["mesh.shard=4", "sharding.dim=last"], "value of 'sharding.dim', expected ", "\"largest\"", "but got \"last\"")
    expect_refused(gpt2_tiny(), ["mesh.shard=4", 'sharding.dim={"h.*"=0, "*.weight"=1}'], "is ambiguous: globs give")


main(no_empty_loops=True)
