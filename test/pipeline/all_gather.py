"""`model.all_gather` in contrastive models: the loss and the gradients on several ranks are those of one rank with all rows, whose model has no collective."""

import random

from sluice import *

ROWS, IN, OUT = 8, 3, 5
SGD = ["optimizer.name=sgd", "optimizer.lr=1.0"]
MESHES = ({"shard": 2}, {"replicate": 2}, {"shard": 4}, {"replicate": 2, "shard": 2})


def f32(*shape):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + "f32>"


def gathered(name, value, rows, ranks):
    """The definition of `%name`: the value of all ranks. Without ranks, the name of the value itself."""
    if not ranks:
        return value, ""
    return f"%{name}", f"%{name} = model.all_gather {value} : ({f32(rows, OUT)}) -> {f32(rows * ranks, OUT)}\n"


def model(form, ranks=None):
    """Two towers, and the products of their rows with each other plus a parameter for each pair. Each row is to be the nearest of its own pair. `form`: `all`, the
    loss of all rows on each rank; `own`, that of the rank's rows; `block`, with the first gather in a block, whose result is squared; `scatter`, with the sums over ranks of the gathered rows."""
    rows = ROWS // (ranks or 1)
    a, gather_a = gathered("ga", "%a", rows, ranks)
    b, gather_b = gathered("gb", "%b", rows, ranks)
    tower = f"%a = model.matmul %x, %u : ({f32(rows, IN)}, {f32(IN, OUT)}) -> {f32(rows, OUT)}\n"
    first = tower + gather_a
    if form == "block":
        # The derivative of the product reads the gathered rows, which are recomputed.
        first = f"""%square = model.block "tower" -> {f32(ROWS, OUT)} {{
          {first}
          %aa = model.multiply {a}, {a} : ({f32(ROWS, OUT)}, {f32(ROWS, OUT)}) -> {f32(ROWS, OUT)}
          model.yield %aa : {f32(ROWS, OUT)}
        }}
        """
        a = "%square"
    own = form in ("own", "scatter")
    left, labels = (rows, "%class") if own else (ROWS, "%i")
    targets = f', %class: tensor<{rows}xi32> {{model.input = "class", model.limit = {ROWS} : i64}}' if own else ""
    if form == "own":
        first, a = tower, "%a"
    elif form == "scatter":
        sums = f"model.reduce_scatter %ga : ({f32(ROWS, OUT)}) -> {f32(rows, OUT)}" if ranks else f"model.scale %a {{factor = 4.0 : f64}} : {f32(rows, OUT)}"
        first, a = first + f"%s = {sums}\n", "%s"
    pair = f"""%p = model.read @pair : {f32(ROWS)}
    %q = model.add %l, %p : ({f32(left, ROWS)}, {f32(ROWS)}) -> {f32(left, ROWS)}"""
    path = SCRATCH / f"{form}-{ranks}.mlir"
    path.write_text(f"""
module attributes {{model.name = "pairs", model.batch = {rows} : i64}} {{
  model.parameter @u : {f32(IN, OUT)} normal(0.0, 0.7)
  model.parameter @v : {f32(IN, OUT)} normal(0.0, 0.7)
  model.parameter @pair : {f32(ROWS)} normal(0.0, 0.3)
  func.func @train_step(%x: {f32(rows, IN)} {{model.input = "x"}}, %y: {f32(rows, IN)} {{model.input = "y"}}{targets}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %u = model.read @u : {f32(IN, OUT)}
    %v = model.read @v : {f32(IN, OUT)}
    {first}
    %b = model.matmul %y, %v : ({f32(rows, IN)}, {f32(IN, OUT)}) -> {f32(rows, OUT)}
    {gather_b}
    %l = model.matmul {a}, {b} {{transpose_rhs}} : ({f32(left, OUT)}, {f32(ROWS, OUT)}) -> {f32(left, ROWS)}
    {pair}
    %i = model.iota 0 : tensor<{ROWS}xi32>
    %loss, %lse = model.cross_entropy %q, {labels} {{reduction = #model.reduction<mean>}} : ({f32(left, ROWS)}, tensor<{left}xi32>) -> (tensor<f32>, tensor<{left}xf32>)
    return %loss : tensor<f32>
  }}
}}
""")
    return path


@functools.cache
def data(batches):
    draw = random.Random(batches)
    count = batches * ROWS
    numbers = {name: struct.pack(f"<{count * IN}f", *(draw.gauss(0, 1) for _ in range(count * IN))) for name in ("x", "y")}
    numbers["class"] = struct.pack(f"<{count}i", *(row % ROWS for row in range(count)))
    header, joined = {}, b""
    for name, part in numbers.items():
        header[name] = {"dtype": "I32" if name == "class" else "F32", "shape": [count] + [IN] * (name != "class"),
                        "data_offsets": [len(joined), len(joined) + len(part)]}
        joined += part
    path = SCRATCH / f"pairs-{batches}.safetensors"
    path.write_bytes(join_safetensors(header, joined))
    return path


def axes(mesh):
    return [f"mesh.{axis}={size}" for axis, size in mesh.items()]


def parity(form, mesh, *more, precision=(), microbatches=1, steps=2, tolerance=2e-6):
    settings = SGD + [f"gradient.microbatches={microbatches}", *precision]
    batches = data(2 * microbatches)
    ranks = math.prod(size for axis, size in mesh.items() if axis != "tensor")
    plan = Plan(model(form, ranks), axes(mesh) + settings + list(more)).check()
    wanted = train(Plan(model(form), settings), steps=steps, data=batches)
    expect_near_runs(train(plan, steps=steps, data=batches), wanted, tolerance, f"{form}, {mesh}, {more}", weights=10 * tolerance)


@test
def loss_of_all_rows():
    for mesh in MESHES:
        parity("all", mesh)


@test
def loss_of_own_rows_among_all():
    for mesh in MESHES:
        parity("own", mesh)


@test
def one_collective_each():
    plan = Plan(model("own", 2), ["mesh.shard=2"] + SGD)
    expect_equal([(c["kind"], c["phase"], c.get("op")) for c in plan.collectives() if c["unit"] is None and c["kind"] != "all_reduce"],
                 [("all_gather", "forward", None), ("reduce_scatter", "backward", "sum")], "collectives of the model")


@test
def parameters_kept_over_a_part_of_the_ranks():
    """The axis `shard` consists of two."""
    parity("all", {"shard": 4}, "sharding.reshard_after_forward=2")


@test
def microbatches():
    for mesh in MESHES[2:]:
        parity("own", mesh, microbatches=2)


@test
def recompute():
    plan = Plan(model("block", 2), ["mesh.shard=2", "recompute.policy=block"] + SGD)
    expect_equal(sum(c["unit"] is None for c in plan.collectives("all_gather")), 3, "gathers of the model: one is recomputed")
    for mesh in MESHES[1:3]:
        parity("block", mesh, "recompute.policy=block")


@test
def sums_of_rows():
    for mesh in MESHES[2:]:
        parity("scatter", mesh)


@test
def with_a_tensor_axis():
    """The rows are uneven shards along the tensor axis, which are joined before they are gathered."""
    parity("own", {"shard": 2, "tensor": 2}, 'sharding.tensor={"u"="column", "v"="column"}')
    parity("all", {"replicate": 2, "tensor": 2}, 'sharding.tensor={"u"="column", "v"="column"}')


@test
def low_precision():
    parity("own", {"shard": 2}, precision=["precision.compute=bf16"], steps=1, tolerance=2e-3)


@test
def one_rank_has_no_collective():
    expect_equal(Plan(model("all", 1), SGD).collectives(), [], "collectives of one rank")
    expect(train(Plan(model("all", 1), SGD), data=data(3)).weights == train(Plan(model("all"), SGD), data=data(3)).weights,
           "expected the weights of the model without collectives")


@test
def refusals():
    expect_refused(model("all", 2), ["mesh.shard=4"],
                   "all-2.mlir:10:7: error: 'model.all_gather' op data-parallel ranks of the type, expected 4 (mesh.replicate times mesh.shard) but got 2",
                   "note: give the result 16 rows, 4 of each rank, or compile for 2 data-parallel ranks")
    expect_refused(model("all", 2), [], "data-parallel ranks of the type, expected 1 (mesh.replicate times mesh.shard) but got 2")


main()
