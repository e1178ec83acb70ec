"""`model.saved`: the bytes that PyTorch saves for the backward where the import has other ops, as pairs for f32 and 16-bit compute."""

from archives import *
from sluice import *

ROWS, LENGTH, HEADS, SIZE = 2, 4, 4, 8
WIDTH = HEADS * SIZE
VALUES = ROWS * LENGTH * WIDTH


def built(build, loss=None, rows=ROWS, length=LENGTH):
    """mean(build(x w) v)"""
    archive = Archive()
    x = archive.input("x", [rows, length, WIDTH])
    y = archive.op("linear.default", [rows, length, WIDTH], input=x, weight=archive.parameter("w", [WIDTH, WIDTH]))
    z = build(archive, y)
    v = archive.op("linear.default", [rows, length, WIDTH], input=z, weight=archive.parameter("v", [WIDTH, WIDTH]))
    archive.output(archive.op("mean.default", [], self=v) if loss is None else loss(archive, v))
    return archive


def saved_by(name, build, loss=None):
    """The pairs by op."""
    return pairs_in(run("sluice-import", "export", built(build, loss).save(SCRATCH / f"{name}.pt2"), "-o", "-").stdout)


def pairs_in(text):
    found = {}
    for op, numbers in re.findall(r"model\.(\w+) .*model\.saved = array<i64: ([0-9, ]+)>", text):
        each = [int(number) for number in numbers.split(", ")]
        found.setdefault(op, []).extend(zip(each[::2], each[1::2]))
    return {op: sorted(pairs) for op, pairs in found.items()}


def pointwise(archive, op, **arguments):
    sizes = max((archive.tensors[each]["sizes"] for each in arguments.values() if isinstance(each, str) and each in archive.tensors), key=len)
    return archive.op(op, [size["as_int"] for size in sizes], **arguments)


def gelu(archive, x):
    cube = pointwise(archive, "pow.Tensor_Scalar", self=x, exponent=3.0)
    inner = pointwise(archive, "add.Tensor", self=x, other=pointwise(archive, "mul.Tensor", self=cube, other=0.044715))
    tanh = pointwise(archive, "tanh.default", self=pointwise(archive, "mul.Tensor", self=inner, other=0.7978845608028654))
    half = pointwise(archive, "mul.Tensor", self=x, other=0.5)
    return pointwise(archive, "mul.Tensor", self=half, other=pointwise(archive, "add.Tensor", self=tanh, other=1.0))


@test
def gelu_that_is_written_out():
    """x / 2, the tangent and one more than it: of seven tensors the others are not saved, and x is a value of the model."""
    expect_equal(saved_by("gelu", gelu), {"gelu": [(4 * VALUES, 2 * VALUES)] * 3}, "saved tensors")
    expect_equal(saved_by("plain", lambda archive, x: pointwise(archive, "gelu.default", self=x, approximate="tanh")), {}, "saved tensors of one op")


@test
def each_shape_has_its_own():
    path = built(gelu, rows=7, length=5).save(SCRATCH / "shapes.pt2", make_dynamic({7: "s0", 5: "s1"}))
    text = run("sluice-import", "export", path, "--shapes", "2x4,3x6", "-o", "-").stdout
    entries = {name: pairs_in(body) for name, body in re.findall(r"func\.func @(train_step\w*)(.*?)\n  }", text, re.S)}
    expect_equal(entries, {name: {"gelu": [(4 * values, 2 * values)] * 3} for name, values in (("train_step", 8 * WIDTH), ("train_step_3x6", 18 * WIDTH))},
                 "saved tensors by entry point")


@test
def copies_of_views():
    """A copy is saved by the product after it; a view is not."""
    turned = lambda archive, x: archive.op("view.default", [ROWS, LENGTH, SIZE, HEADS], self=x, size=[ROWS, LENGTH, SIZE, HEADS])

    def copied(archive, x):
        y = archive.op("transpose.int", [ROWS, LENGTH, HEADS, SIZE], self=turned(archive, x), dim0=2, dim1=3)
        archive.tensors[y]["strides"] = [{"as_int": each} for each in (LENGTH * WIDTH, WIDTH, 1, HEADS)]
        return archive.op("reshape.default", [ROWS, LENGTH, WIDTH], self=y, shape=[ROWS, LENGTH, WIDTH])

    def viewed(archive, x):
        return archive.op("reshape.default", [ROWS, LENGTH, WIDTH], self=turned(archive, x), shape=[ROWS, LENGTH, WIDTH])
    expect_equal(saved_by("copied", copied), {"matmul": [(4 * VALUES, 2 * VALUES)]}, "a copy")
    expect_equal(saved_by("viewed", viewed), {}, "a view")


@test
def masks_and_repeated_heads_of_attention():
    """The mask in floats, and keys and values that are repeated for heads that share them."""
    def attention(archive, x):
        heads = lambda count: archive.op("transpose.int", [ROWS, count, LENGTH, SIZE], dim0=1, dim1=2, self=archive.op(
            "view.default", [ROWS, LENGTH, count, SIZE], size=[ROWS, LENGTH, count, SIZE],
            self=archive.op("linear.default", [ROWS, LENGTH, count * SIZE], input=x, weight=archive.parameter(f"w{len(archive.nodes)}", [count * SIZE, WIDTH]))))

        def repeated(x):
            x = archive.op("unsqueeze.default", [ROWS, 2, 1, LENGTH, SIZE], self=x, dim=2)
            x = archive.op("expand.default", [ROWS, 2, 2, LENGTH, SIZE], self=x, size=[ROWS, 2, 2, LENGTH, SIZE])
            archive.tensors[x]["strides"] = [{"as_int": each} for each in (2 * LENGTH * SIZE, SIZE, 0, 2 * SIZE, 1)]
            return archive.op("reshape.default", [ROWS, HEADS, LENGTH, SIZE], self=x, shape=[ROWS, HEADS, LENGTH, SIZE])
        q, k, v = heads(HEADS), heads(2), heads(2)
        k, v = repeated(k), repeated(v)
        mask = archive.buffer("mask", [LENGTH, LENGTH], [row >= column for row in range(LENGTH) for column in range(LENGTH)], BOOL)
        out = archive.op("scaled_dot_product_attention.default", [ROWS, HEADS, LENGTH, SIZE], query=q, key=k, value=v, attn_mask=mask)
        rows = archive.op("transpose.int", [ROWS, LENGTH, HEADS, SIZE], self=out, dim0=1, dim1=2)
        archive.tensors[out]["strides"] = [{"as_int": each} for each in (LENGTH * WIDTH, SIZE, WIDTH, 1)]
        return archive.op("reshape.default", [ROWS, LENGTH, WIDTH], self=rows, shape=[ROWS, LENGTH, WIDTH])
    scores = LENGTH * LENGTH
    expect_equal(saved_by("attention", attention), {"attention": [(4 * scores, 2 * scores)] + [(4 * VALUES, 2 * VALUES)] * 2}, "saved tensors")


@test
def conversions_of_types():
    """With 16-bit compute a conversion to f32 is a tensor, and so is that back; with f32 compute neither is."""
    def norm(archive, x):
        wide = pointwise(archive, "to.dtype", self=x, dtype={"as_scalar_type": F32})
        square = pointwise(archive, "pow.Tensor_Scalar", self=wide, exponent=2.0)
        mean = archive.op("mean.dim", [ROWS, LENGTH, 1], self=square, dim=[-1], keepdim=True)
        root = archive.op("rsqrt.default", [ROWS, LENGTH, 1], self=archive.op("add.Tensor", [ROWS, LENGTH, 1], self=mean, other=1e-6))
        narrow = pointwise(archive, "to.dtype", self=pointwise(archive, "mul.Tensor", self=wide, other=root), dtype={"as_scalar_type": F32})
        return pointwise(archive, "mul.Tensor", self=archive.parameter("scale", [WIDTH]), other=narrow)
    rows = 4 * ROWS * LENGTH
    expect_equal(saved_by("norm", norm), {"rms_norm": sorted([(rows, rows), (0, 4 * VALUES), (4 * VALUES, 0), (0, 2 * VALUES)])}, "saved tensors")


@test
def losses_have_the_type_of_their_logits():
    def loss(is_wide):
        def build(archive, x):
            if is_wide:
                x = pointwise(archive, "to.dtype", self=x, dtype={"as_scalar_type": F32})
            logits = archive.op("view.default", [ROWS * LENGTH, WIDTH], self=x, size=[ROWS * LENGTH, WIDTH])
            targets = archive.op("view.default", [ROWS * LENGTH], I64, self=archive.input("targets", [ROWS, LENGTH], I64), size=[ROWS * LENGTH])
            return archive.op("cross_entropy_loss.default", [], self=logits, target=targets)
        return build
    same = lambda archive, x: x
    expect_equal(saved_by("narrow", same, loss(False)), {"cross_entropy": [(4 * VALUES, 2 * VALUES)]}, "log-probabilities in the compute type")
    expect_equal(saved_by("wide", same, loss(True)), {"cross_entropy": [(4 * VALUES, 4 * VALUES)]}, "log-probabilities in f32")


@test
def nothing_is_saved_without_gradient():
    def detached(archive, x):
        return pointwise(archive, "add.Tensor", self=gelu(archive, x), other=gelu(archive, pointwise(archive, "detach.default", self=x)))
    expect_equal(saved_by("detached", detached), {"gelu": [(4 * VALUES, 2 * VALUES)] * 3}, "saved tensors")


main(no_empty_loops=True)
