"""Two spellings of one computation give one plan: their archives differ, and the descriptions and the bits of the runs are equal."""

from archives import *
from sluice import *

ROWS, WIDTH, HEADS, SIZE = 2, 4, 2, 8


def described_and_trained(name, archive):
    """The description of the plan without names of the archive, and a run."""
    path = archive.save(SCRATCH / f"{name}.pt2")
    model = SCRATCH / f"{name}.mlir"
    run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"))
    plan = Plan(model, ["mesh.shard=2"]).check()
    return plan.description, train(plan, "--init", model.with_suffix(".safetensors"))


def same_plan(name, *archives):
    results = [described_and_trained(f"{name}-{i}", archive) for i, archive in enumerate(archives)]
    for i, (description, done) in enumerate(results[1:], 1):
        first, wanted = results[0]
        for key in ("collectives", "arenas", "memory"):
            expect_equal(description[key], first[key], f"{name}, spelling {i}: {key}")
        expect_same_bits(done, wanted, f"{name}, spelling {i}")
    return results[0][1]


def with_layer(build):
    """loss = mean(build(x w))."""
    archive = Archive()
    x, w = archive.input("x", [ROWS, SIZE]), archive.parameter("w", [SIZE, SIZE])
    y = archive.op("linear.default", [ROWS, SIZE], input=x, weight=w)
    archive.output(archive.op("mean.default", [], self=build(archive, y)))
    return archive


@test
def writes_and_new_tensors():
    """y[:, 2:5] *= 3, seen through another view of y, and the same with new tensors."""
    def in_place(archive, y):
        turned = archive.op("t.default", [SIZE, ROWS], self=y)
        archive.op("mul_.Tensor", [ROWS, 3], self=archive.op("slice.Tensor", [ROWS, 3], self=y, dim=1, start=2, end=5), other=3.0)
        return archive.op("add.Tensor", [ROWS, SIZE], self=y, other=archive.op("t.default", [ROWS, SIZE], self=turned))

    def functional(archive, y):
        part = lambda start, end: archive.op("slice.Tensor", [ROWS, end - start], self=y, dim=1, start=start, end=end)
        middle = archive.op("mul.Tensor", [ROWS, 3], self=part(2, 5), other=3.0)
        z = archive.op("cat.default", [ROWS, SIZE], tensors=[part(0, 2), middle, part(5, SIZE)], dim=1)
        return archive.op("add.Tensor", [ROWS, SIZE], self=z, other=z)

    def through_reshape(archive, y):
        flat = archive.op("reshape.default", [ROWS * SIZE], self=y, shape=[ROWS * SIZE])
        wide = archive.op("view.default", [ROWS, SIZE], self=flat, size=[ROWS, SIZE])
        archive.op("mul_.Tensor", [ROWS, 3], self=archive.op("slice.Tensor", [ROWS, 3], self=wide, dim=1, start=2, end=5), other=3.0)
        return archive.op("add.Tensor", [ROWS, SIZE], self=y, other=y)
    done = same_plan("write", with_layer(functional), with_layer(in_place), with_layer(through_reshape))
    untouched = described_and_trained("untouched", with_layer(lambda archive, y: archive.op("add.Tensor", [ROWS, SIZE], self=y, other=y)))[1]
    expect(done.loss != untouched.loss, "the write has no effect")


@test
def a_write_to_a_copy_stays_there():
    def build(op, **arguments):
        def with_copy(archive, y):
            copy = archive.op(op, [ROWS, SIZE], self=y, **arguments)
            archive.op("mul_.Tensor", [ROWS, SIZE], self=copy, other=3.0)
            return archive.op("relu.default", [ROWS, SIZE], self=y)
        return with_layer(with_copy)
    plain = with_layer(lambda archive, y: archive.op("relu.default", [ROWS, SIZE], self=y))
    same_plan("copy", plain, build("clone.default"))
    shared = described_and_trained("shared", build("contiguous.default"))[1]
    expect(shared.loss != described_and_trained("plain", plain)[1].loss, "a contiguous tensor is its own contiguous form")


@test
def random_numbers_in_place():
    """dropout_ is dropout; bernoulli_ with its division is a dropout of ones, one number for each row."""
    functional = lambda archive, y: archive.op("dropout.default", [ROWS, SIZE], input=y, p=0.25, train=True)
    in_place = lambda archive, y: archive.op("dropout_.default", [ROWS, SIZE], self=y, p=0.25, train=True)
    same_plan("dropout", with_layer(functional), with_layer(in_place))

    def depth(archive, y):
        noise = archive.op("empty.memory_format", [ROWS, 1], size=[ROWS, 1])
        archive.op("bernoulli_.float", [ROWS, 1], self=noise, p=0.75)
        archive.op("div_.Tensor", [ROWS, 1], self=noise, other=0.75)
        return archive.op("mul.Tensor", [ROWS, SIZE], self=y, other=noise)
    path = with_layer(depth).save(SCRATCH / "depth.pt2")
    losses = []
    for options in ([], ["--dropout", "0"]):
        model = SCRATCH / f"depth-{len(losses)}.mlir"
        run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"), *options)
        losses.append(train(Plan(model).check(), "--init", model.with_suffix(".safetensors"), steps=8, data="random:8").loss)
    plain = with_layer(lambda archive, y: y).save(SCRATCH / "plain.pt2")
    run("sluice-import", "export", plain, "-o", SCRATCH / "plain.mlir", "--weights", SCRATCH / "plain.safetensors")
    wanted = train(Plan(SCRATCH / "plain.mlir").check(), "--init", SCRATCH / "plain.safetensors", steps=8, data="random:8").loss
    expect_near(losses[1], wanted, 1e-6, "losses without dropout")
    expect(any(abs(a - b) > 1e-3 * abs(b) for a, b in zip(losses[0], wanted)), "no row is left out")


def without_gradient(archive, value, sizes, build):
    """build(graph, value) in a region under torch.no_grad()."""
    inner = Graph()
    inner.inputs.append("given")
    result = build(inner, inner.value("given", sizes))
    return archive.op("higher_order.wrap_with_set_grad_enabled", sizes,
                      **{"": False, " ": {"as_graph": {"name": "g", "graph": inner.json([result])}}, "  ": value})


@test
def regions_without_gradient():
    """y * target has no gradient by the target, under torch.no_grad() as with detach()."""
    scale = lambda graph, y: graph.op("mul.Tensor", [ROWS, SIZE], self=y, other=3.0)
    product = lambda target: with_layer(lambda archive, y: archive.op("mul.Tensor", [ROWS, SIZE], self=y, other=target(archive, y)))
    region = product(lambda archive, y: without_gradient(archive, y, [ROWS, SIZE], scale))
    in_place = product(lambda archive, y: without_gradient(archive, y, [ROWS, SIZE], lambda graph, given: graph.op(
        "mul_.Tensor", [ROWS, SIZE], self=graph.op("clone.default", [ROWS, SIZE], self=given), other=3.0)))
    detached = product(lambda archive, y: archive.op("detach.default", [ROWS, SIZE], self=scale(archive, y)))
    stopped = same_plan("region", region, in_place, detached)
    full = described_and_trained("full", product(scale))[1]
    expect(full.loss[0] == stopped.loss[0] and full.norm[0] != stopped.norm[0], "the region has no effect on gradients")


@test
def parameters_without_gradient():
    """A weight that the loss depends on only without gradient is not trained, as torch leaves a parameter without grad alone."""
    def build(archive, y):
        target = archive.op("linear.default", [ROWS, SIZE], input=Value("x"), weight=archive.parameter("teacher", [SIZE, SIZE], [0.01 * (i % 5) for i in range(SIZE * SIZE)]))
        return archive.op("mul.Tensor", [ROWS, SIZE], self=y, other=archive.op("detach.default", [ROWS, SIZE], self=target))
    done = described_and_trained("teacher", with_layer(build))[1]
    held = tensors(done.weights)
    expect(all(abs(a - 0.01 * (i % 5)) < 1e-9 for i, a in enumerate(held["teacher"])), "the weight without gradient changed")
    expect(any(abs(a - 0.01 * (i + 1)) > 1e-6 for i, a in enumerate(held["w"])), "the other weight did not change")


def averaged(regions):
    """A buffer that follows the mean of y in two steps, each in a region under torch.no_grad(), or both in one."""
    archive = Archive()
    x, w, mean = archive.input("x", [ROWS, SIZE]), archive.parameter("w", [SIZE, SIZE]), archive.buffer("mean", [SIZE], [0.25 * i for i in range(SIZE)])
    y = archive.op("linear.default", [ROWS, SIZE], input=x, weight=w)

    def step(graph, mean, y):
        faded = graph.op("mul_.Tensor", [SIZE], self=mean, other=0.5)
        return graph.op("add_.Tensor", [SIZE], self=faded, other=graph.op("mean.dim", [SIZE], self=y, dim=[0]))

    def region(times, mean):
        inner = Graph()
        state = inner.value("mean_in", [SIZE])
        value = inner.value("y_in", [ROWS, SIZE])
        inner.inputs = [state, value]
        for _ in range(times):
            state = step(inner, state, value)
        result = archive.op("higher_order.wrap_with_set_grad_enabled", [[SIZE]], enabled=False, body={"as_graph": {"name": "body", "graph": inner.json([state])}}, mean=mean, y=y)
        return result[0]
    for times in regions:
        mean = region(times, mean)
    error = archive.op("sub.Tensor", [ROWS, SIZE], self=y, other=mean)
    archive.output(archive.op("mean.default", [], self=archive.op("mul.Tensor", [ROWS, SIZE], self=error, other=error)))
    return archive


@test
def states_in_several_regions():
    """A buffer that a region returns is the buffer: the next region writes to it too."""
    once = described_and_trained("once", averaged([1]))[1]
    twice = same_plan("twice", averaged([2]), averaged([1, 1]))
    expect(once.loss != twice.loss, "the second step has no effect")


@test
def states_of_booleans():
    """They are bytes in a plan; the weights and the archive have booleans."""
    archive = Archive()
    x, w = archive.input("x", [ROWS, SIZE]), archive.parameter("w", [SIZE, SIZE])
    seen = archive.buffer("seen", [SIZE], [False] * SIZE, kind=BOOL)
    y = archive.op("linear.default", [ROWS, SIZE], input=x, weight=w)
    positive = archive.op("gt.Scalar", [SIZE], BOOL, self=archive.op("select.int", [SIZE], self=y, dim=0, index=0), other=0.0)
    archive.op("logical_or_.default", [SIZE], BOOL, self=seen, other=positive)
    kept = archive.op("where.ScalarOther", [ROWS, SIZE], condition=seen, self=y, other=0.0)
    archive.output(archive.op("mean.default", [], self=archive.op("mul.Tensor", [ROWS, SIZE], self=kept, other=kept)))
    done = described_and_trained("booleans", archive)[1]
    expect(len(done.loss) > 1 and done.loss[-1] != 0, f"losses {done.loss}")


def attention(spelling, mask=None, wrap=""):
    """The spelling gets the archive, q, k and v as [B, H, T, D]."""
    archive = Archive()
    x, w = archive.input("x", [ROWS, WIDTH, SIZE]), archive.parameter(f"{wrap}w", [3 * SIZE, SIZE])
    joined = archive.op("linear.default", [ROWS, WIDTH, 3 * SIZE], module=f"{wrap}blocks.0", input=x, weight=w)
    parts = archive.op("split.Tensor", [[ROWS, WIDTH, SIZE]] * 3, self=joined, split_size=SIZE, dim=2)
    shape, turned = [ROWS, WIDTH, HEADS, SIZE // HEADS], [ROWS, HEADS, WIDTH, SIZE // HEADS]
    q, k, v = (archive.op("transpose.int", turned, self=archive.op("view.default", shape, self=part, size=shape), dim0=1, dim1=2) for part in parts)
    out = archive.op("transpose.int", shape, self=spelling(archive, q, k, v), dim0=1, dim1=2)
    archive.output(archive.op("mean.default", [], self=archive.op("reshape.default", [ROWS, WIDTH, SIZE], self=out, shape=[ROWS, WIDTH, SIZE])))
    return archive


SCORES, OUT = [ROWS, HEADS, WIDTH, WIDTH], [ROWS, HEADS, WIDTH, SIZE // HEADS]


def fused(**arguments):
    return lambda archive, q, k, v: archive.op("scaled_dot_product_attention.default", OUT, query=q, key=k, value=v, **arguments)


def by_parts(mask):
    """softmax(mask(q k^T / 2)) v."""
    def spelling(archive, q, k, v):
        turned = archive.op("transpose.int", [ROWS, HEADS, SIZE // HEADS, WIDTH], self=k, dim0=-2, dim1=-1)
        scores = archive.op("div.Tensor", SCORES, self=archive.op("matmul.default", SCORES, self=q, other=turned), other=2.0)
        weights = archive.op("softmax.int", SCORES, self=mask(archive, scores), dim=-1)
        return archive.op("matmul.default", OUT, self=weights, other=v)
    return spelling


def triangle(archive):
    ones = archive.op("ones.default", [WIDTH, WIDTH], BOOL, size=[WIDTH, WIDTH], dtype={"as_scalar_type": BOOL})
    return archive.op("tril.default", [WIDTH, WIDTH], BOOL, self=ones)


def distances(archive):
    """row - column."""
    steps = archive.op("arange.default", [WIDTH], I64, end=WIDTH)
    return archive.op("sub.Tensor", [WIDTH, WIDTH], I64, self=archive.op("unsqueeze.default", [WIDTH, 1], I64, self=steps, dim=1), other=steps)


@test
def masks():
    minus = float("-inf")
    filled = by_parts(lambda archive, s: archive.op("masked_fill.Scalar", SCORES, value=minus, self=s, mask=archive.op(
        "eq.Scalar", [WIDTH, WIDTH], BOOL, self=triangle(archive), other=0)))
    added = by_parts(lambda archive, s: archive.op("add.Tensor", SCORES, self=s, other=archive.op("triu.default", [WIDTH, WIDTH], diagonal=1, self=archive.op(
        "full.default", [WIDTH, WIDTH], size=[WIDTH, WIDTH], fill_value=-3.0e38))))
    compared = by_parts(lambda archive, s: archive.op("where.self", SCORES, condition=archive.op(
        "ge.Scalar", [WIDTH, WIDTH], BOOL, self=distances(archive), other=0), self=s, other=archive.op("full.default", [], size=[], fill_value=minus)))
    whole = lambda archive, q, k, v: fused(attn_mask=triangle(archive))(archive, q, k, v)
    causal = same_plan("causal", attention(fused(is_causal=True)), *map(attention, (whole, filled, added, compared)))
    every = same_plan("every", attention(fused()), attention(by_parts(lambda archive, s: s)))

    def window(archive, q, k, v):
        near = archive.op("lt.Scalar", [WIDTH, WIDTH], BOOL, self=distances(archive), other=2)
        return fused(attn_mask=archive.op("__and__.Tensor", [WIDTH, WIDTH], BOOL, self=triangle(archive), other=near))(archive, q, k, v)
    last_two = same_plan("window", attention(window))
    expect(len({causal.loss[0], every.loss[0], last_two.loss[0]}) == 3, "masks differ")


@test
def masks_of_capped_scores():
    """tanh of the scores keeps the op attention away: the mask is a comparison of positions, with the values of the mask."""
    def capped(mask):
        def spelling(archive, q, k, v):
            turned = archive.op("transpose.int", [ROWS, HEADS, SIZE // HEADS, WIDTH], self=k, dim0=-2, dim1=-1)
            scores = archive.op("tanh.default", SCORES, self=archive.op("matmul.default", SCORES, self=q, other=turned))
            return archive.op("matmul.default", OUT, self=archive.op("softmax.int", SCORES, self=mask(archive, scores), dim=-1), other=v)
        return spelling
    minus = -3.0e38
    added = lambda archive, s: archive.op("add.Tensor", SCORES, self=s, other=archive.op("triu.default", [WIDTH, WIDTH], diagonal=1, self=archive.op(
        "full.default", [WIDTH, WIDTH], size=[WIDTH, WIDTH], fill_value=minus)))
    chosen = lambda archive, s: archive.op("where.ScalarOther", SCORES, condition=triangle(archive), self=s, other=minus)
    causal = same_plan("capped", attention(capped(chosen)), attention(capped(added)))
    every = described_and_trained("capped-every", attention(capped(lambda archive, s: s)))[1]
    expect(causal.loss != every.loss, "the mask has no effect")


@test
def masks_of_no_kind_are_constants():
    """A mask of no kind, here of blocks of two, is an operand of the op and in the plan."""
    def blocks(archive):
        steps = archive.op("floor_divide.default", [WIDTH], I64, self=archive.op("arange.default", [WIDTH], I64, end=WIDTH), other=2)
        return archive.op("eq.Tensor", [WIDTH, WIDTH], BOOL, other=steps, self=archive.op("unsqueeze.default", [WIDTH, 1], I64, self=steps, dim=1))

    def hidden(archive):
        return archive.op("logical_not.default", [WIDTH, WIDTH], BOOL, self=blocks(archive))
    minus = float("-inf")
    fused_mask = lambda archive, q, k, v: fused(attn_mask=blocks(archive))(archive, q, k, v)
    chosen = lambda archive, s: archive.op("where.ScalarOther", SCORES, condition=blocks(archive), self=s, other=minus)
    filled = lambda archive, s: archive.op("masked_fill.Scalar", SCORES, self=s, mask=hidden(archive), value=minus)
    # The probabilities times 2 and half of the values: a softmax outside of attention.
    def by_hand(archive, q, k, v):
        turned = archive.op("transpose.int", [ROWS, HEADS, SIZE // HEADS, WIDTH], self=k, dim0=-2, dim1=-1)
        scores = archive.op("div.Tensor", SCORES, self=archive.op("matmul.default", SCORES, self=q, other=turned), other=2.0)
        weights = archive.op("mul.Tensor", SCORES, other=2.0, self=archive.op("softmax.int", SCORES, self=chosen(archive, scores), dim=-1))
        return archive.op("matmul.default", OUT, self=weights, other=archive.op("mul.Tensor", OUT, self=v, other=0.5))
    wanted, *found = (described_and_trained(f"blocks-{i}", attention(form))[1].loss for i, form in enumerate((by_hand, fused_mask, by_parts(chosen), by_parts(filled))))
    for losses in found:
        expect(len(losses) > 1 and all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(losses, wanted)), f"expected the losses {wanted} but got {losses}")
    path = attention(fused_mask).save(SCRATCH / "blocks.pt2")
    found = json.loads(run("sluice-import", "export", path, "-o", SCRATCH / "blocks.mlir", "--json").stdout)
    expect_equal(found["constants"], {"count": 1, "bytes": WIDTH * WIDTH}, "constants")


@test
def constants_of_more_than_a_mebibyte():
    archive = Archive()
    x = archive.input("x", [4, 1024])
    table = archive.op("mul.Tensor", [300, 1024], self=archive.op("arange.default", [1024], end=1024), other=archive.op(
        "unsqueeze.default", [300, 1], self=archive.op("arange.default", [300], end=300), dim=1))
    w = archive.parameter("w", [1024, 1024], payload="w", values=[0.001 * (i % 7) for i in range(1024 * 1024)])
    y = archive.op("matmul.default", [4, 300], self=archive.op("linear.default", [4, 1024], input=x, weight=w), other=archive.op("t.default", [1024, 300], self=table))
    archive.output(archive.op("mean.default", [], self=y))
    done = try_run("sluice-import", "export", archive.save(SCRATCH / "large.pt2"), "-o", SCRATCH / "large.mlir")
    expect(done.returncode == 1 and "constants of more than 1048576 bytes, up to one of shape " in done.stderr
           and "make it a parameter of the module with requires_grad=False" in done.stderr, done.stderr)


@test
def tables_of_relative_positions():
    """Tables [i, j] of integers that depend on j - i are the values of the diagonals."""
    length = 512
    archive = Archive()
    x = archive.input("x", [2, length])
    row = archive.op("unsqueeze.default", [1, length], I64, self=archive.op("arange.default", [length], I64, end=length), dim=0)
    column = archive.op("unsqueeze.default", [length, 1], I64, self=archive.op("arange.default", [length], I64, end=length), dim=1)
    far = archive.op("clamp.default", [length, length], I64, self=archive.op("sub.Tensor", [length, length], I64, self=row, other=column), min=-3, max=4)
    table = archive.op("add.Tensor", [length, length], I64, self=far, other=3)
    values = [0.5, -1.0, 2.0, 0.25, 1.5, -0.5, 3.0, 1.0]
    bias = archive.op("embedding.default", [length, length, 1], weight=archive.parameter("w", [8, 1], values), indices=table)
    bias = archive.op("view.default", [length, length], self=bias, size=[length, length])
    y = archive.op("matmul.default", [2, length], self=x, other=bias)
    archive.output(archive.op("mean.default", [], self=archive.op("mul.Tensor", [2, length], self=y, other=y)))
    path, model = archive.save(SCRATCH / "relative.pt2"), SCRATCH / "relative.mlir"
    found = json.loads(run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"), "--json").stdout)
    expect_equal(found["constants"], {"count": 1, "bytes": 8 * (2 * length - 1)}, "constants")
    plan = Plan(model, ["optimizer.lr=0"]).check()
    data = SCRATCH / "relative-x.safetensors"
    one = [0.0] * (2 * length)
    one[5] = one[length + 300] = 1.0
    data.write_bytes(join_safetensors({"x": {"dtype": "F32", "shape": [2, length], "data_offsets": [0, 8 * length]}}, struct.pack(f"<{2 * length}f", *one)))
    wanted = sum(values[max(-3, min(4, j - i)) + 3] ** 2 for i in (5, 300) for j in range(length)) / (2 * length)
    expect_near(train(plan, "--init", model.with_suffix(".safetensors"), data=data, steps=1).loss, [wanted], 1e-6, "the loss")


C64, PAIRS = 10, SIZE // 2


def as_complex(archive, value, shape):
    return archive.op("view_as_complex.default", shape, C64, self=archive.op("reshape.default", [*shape, 2], self=value, shape=[*shape, 2]))


@test
def products_of_complex_numbers():
    """As torch computes them on pairs: (a + bi)(c + di) of two computed tensors, and by a table of lengths and angles that is no rotation by position."""
    shape = [ROWS, PAIRS]

    def parts(archive, value):
        pairs = archive.op("reshape.default", [*shape, 2], self=value, shape=[*shape, 2])
        return [archive.op("select.int", shape, self=pairs, dim=-1, index=i) for i in range(2)]

    def by_parts(archive, a, b):
        (ar, ai), (br, bi) = a, b
        times = lambda x, y: archive.op("mul.Tensor", shape, self=x, other=y)
        real = archive.op("sub.Tensor", shape, self=times(ar, br), other=times(ai, bi))
        imaginary = archive.op("add.Tensor", shape, self=times(ar, bi), other=times(ai, br))
        return archive.op("reshape.default", [ROWS, SIZE], self=archive.op("stack.default", [*shape, 2], tensors=[real, imaginary], dim=-1), shape=[ROWS, SIZE])

    def product(archive, a, b):
        pairs = archive.op("view_as_real.default", [*shape, 2], self=archive.op("mul.Tensor", shape, C64, self=a, other=b))
        return archive.op("reshape.default", [ROWS, SIZE], self=pairs, shape=[ROWS, SIZE])

    def angles(archive):
        steps = archive.op("arange.default", [PAIRS], end=PAIRS)
        return archive.op("mul.Tensor", [PAIRS], self=steps, other=steps), archive.op("add.Tensor", [PAIRS], self=steps, other=0.5)

    def squared(archive, y):
        return product(archive, as_complex(archive, y, shape), as_complex(archive, archive.op("add.Tensor", [ROWS, SIZE], self=y, other=1.0), shape))

    def squared_by_parts(archive, y):
        return by_parts(archive, parts(archive, y), parts(archive, archive.op("add.Tensor", [ROWS, SIZE], self=y, other=1.0)))

    def turned(archive, y):
        lengths, angle = angles(archive)[::-1]
        table = archive.op("polar.default", [PAIRS], C64, abs=lengths, angle=angle)
        wide = archive.op("unsqueeze.default", [1, PAIRS], C64, self=archive.op("slice.Tensor", [PAIRS], C64, self=table, dim=-1, start=0, end=PAIRS), dim=-2)
        return product(archive, wide, as_complex(archive, y, shape))

    def turned_by_parts(archive, y):
        lengths, angle = angles(archive)[::-1]
        table = [archive.op("mul.Tensor", [PAIRS], self=lengths, other=archive.op(f"{function}.default", [PAIRS], self=angle)) for function in ("cos", "sin")]
        return by_parts(archive, table, parts(archive, y))

    losses = []
    for name, form, other in (("squared", squared, squared_by_parts), ("turned", turned, turned_by_parts)):
        found, wanted = (described_and_trained(f"{name}-{i}", with_layer(each))[1].loss for i, each in enumerate((form, other)))
        expect(len(found) > 1 and all(abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(found, wanted)), f"{name}: expected the losses {wanted} but got {found}")
        losses.append(found)
    expect(losses[0] != losses[1], "both forms have equal losses")


@test
def rotations_of_neighbours():
    """x cos + (-x1, x0, -x3, x2, ...) sin, with tables of pairs, is the rope of the same numbers as products of complex numbers, whose halves are permuted for it."""
    heads, size = 2, 4
    shape = [ROWS, WIDTH, heads, size]
    pairs = [*shape[:3], size // 2]

    def table(archive):
        """Angles of positions and pairs, [T, 1, D/2]."""
        steps = archive.op("unsqueeze.default", [WIDTH, 1], self=archive.op("arange.default", [WIDTH], end=WIDTH), dim=1)
        frequencies = archive.op("pow.Scalar", [size // 2], self=10000.0, exponent=archive.op(
            "mul.Scalar", [size // 2], self=archive.op("arange.default", [size // 2], end=size // 2), other=-2.0 / size))
        return archive.op("unsqueeze.default", [WIDTH, 1, size // 2], self=archive.op("mul.Tensor", [WIDTH, size // 2], self=steps, other=frequencies), dim=1)

    def built(rotate):
        archive = Archive()
        x, w = archive.input("x", [ROWS, WIDTH, heads * size]), archive.parameter("w", [heads * size, heads * size])
        y = archive.op("view.default", shape, size=shape, self=archive.op("linear.default", [ROWS, WIDTH, heads * size], input=x, weight=w))
        z = archive.op("mul.Tensor", shape, self=rotate(archive, y), other=archive.op("view.default", shape[1:], size=shape[1:], self=archive.op(
            "arange.default", [WIDTH * heads * size], end=WIDTH * heads * size)))
        archive.output(archive.op("mean.default", [], self=z))
        return archive

    def by_neighbours(archive, y):
        angles = archive.op("repeat_interleave.self_int", [WIDTH, 1, size], self=table(archive), repeats=2, dim=-1)
        part = lambda first: archive.op("slice.Tensor", pairs, self=y, dim=3, start=first, end=size, step=2)
        turned = archive.op("stack.default", [*pairs, 2], dim=-1, tensors=[archive.op("neg.default", pairs, self=part(1)), part(0)])
        turned = archive.op("view.default", shape, self=turned, size=shape)
        times = lambda value, function: archive.op("mul.Tensor", shape, self=value, other=archive.op(f"{function}.default", [WIDTH, 1, size], self=angles))
        return archive.op("add.Tensor", shape, self=times(y, "cos"), other=times(turned, "sin"))

    def by_complex(archive, y):
        angles = table(archive)
        ones = archive.op("full.default", [WIDTH, 1, size // 2], size=[WIDTH, 1, size // 2], fill_value=1.0)
        turned = archive.op("mul.Tensor", pairs, C64, self=archive.op("view_as_complex.default", pairs, C64, self=archive.op("view.default", [*pairs, 2], self=y, size=[*pairs, 2])),
                            other=archive.op("polar.default", [WIDTH, 1, size // 2], C64, abs=ones, angle=angles))
        return archive.op("view.default", shape, self=archive.op("view_as_real.default", [*pairs, 2], self=turned), size=shape)

    same_plan("neighbours", built(by_complex), built(by_neighbours))
    for i in range(2):
        text = (SCRATCH / f"neighbours-{i}.mlir").read_text()
        expect(text.count("model.rope") == 1 and "model.negate" not in text, f"spelling {i}: expected one rope")


@test
def complex_numbers_elsewhere_are_refused():
    for target, arguments in (("add.Tensor", {"other": 1.0}), ("mul.Tensor", {"other": 2.0}), ("exp.default", {})):
        archive = with_layer(lambda archive, y: archive.op("reshape.default", [ROWS, SIZE], shape=[ROWS, SIZE], self=archive.op(
            "view_as_real.default", [ROWS, PAIRS, 2], self=archive.op(target, [ROWS, PAIRS], C64, self=as_complex(archive, y, [ROWS, PAIRS]), **arguments))))
        done = try_run("sluice-import", "export", archive.save(SCRATCH / "complex.pt2"), "-o", SCRATCH / "complex.mlir")
        expect(done.returncode == 1 and f"'aten.{target}': complex numbers are moved and multiplied with each other only" in done.stderr
               and "write the module with real numbers" in done.stderr, done.stderr)


@test
def dynamic_sizes():
    """A program with dynamic sizes, and values for them, is that of the same sizes."""
    def lookup():
        archive = Archive()
        x, y = archive.input("x", [7, 5], I64), archive.input("y", [7, 5], I64)
        h = archive.op("embedding.default", [7, 5, 16], weight=archive.parameter("e", [32, 16]), indices=x)
        h = archive.op("view.default", [35, 16], self=h, size=[35, 16])
        h = archive.op("linear.default", [35, 32], input=h, weight=archive.parameter("w", [32, 16]))
        archive.output(archive.op("cross_entropy_loss.default", [], self=h, target=archive.op("reshape.default", [35], I64, self=y, shape=[-1])))
        return archive
    static = lookup().save(SCRATCH / "static.pt2")
    moving = lookup().save(SCRATCH / "dynamic.pt2", make_dynamic({7: "s17", 5: "s27"}))
    texts = []
    for path, options in ((static, []), (moving, ["--batch", "7", "--set", "s27=5"]), (moving, ["--set", "s17=7", "--set", "s27=5"])):
        run("sluice-import", "export", path, "-o", SCRATCH / "sizes.mlir", *options)
        texts.append((SCRATCH / "sizes.mlir").read_text().replace('"dynamic"', '"static"'))
    expect_equal(texts[1], texts[0], "with --batch")
    expect_equal(texts[2], texts[0], "with --set")
    run("sluice-import", "export", moving, "-o", SCRATCH / "sizes.mlir", "--batch", "3", "--set", "s27=9")
    expect("tensor<3x9xi64>" in (SCRATCH / "sizes.mlir").read_text(), "expected inputs of other sizes")


@test
def initial_values_by_module():
    reference = REFERENCE / "export"
    text = {}
    for name in ("nanogpt", "gpt2"):
        run("sluice-import", "export", reference / name / "model.pt2", "-o", SCRATCH / "initial.mlir", "--initialize")
        text[name] = (SCRATCH / "initial.mlir").read_text()
        expect("undefined" not in text[name], f"{name}: a parameter without initial values")
    expect(re.search(r"@\S*ln_f\.weight : tensor<\d+xf32> ones", text["gpt2"]), text["gpt2"][:2000])
    expect(re.search(r"@\S*ln_f\.bias : tensor<\d+xf32> zeros", text["gpt2"]), text["gpt2"][:2000])
    expect(re.search(r"@\S*c_attn\.weight : tensor<\S+> normal\(0\.0+e?\+?0*, (2\.0+e-02|0\.02)\)", text["gpt2"]), text["gpt2"][:2000])
    expect(re.search(r"@\S*wte\.weight : tensor<\S+> normal\(0\.0\S*, 1\.0", text["gpt2"]), text["gpt2"][:2000])
    linear = re.findall(r"model\.parameter @(\S+)\.weight : tensor<\d+x(\d+)xf32> uniform\((\S+), (\S+)\)", text["nanogpt"])
    biases = dict(re.findall(r"model\.parameter @(\S+)\.bias : tensor<\d+xf32> uniform\(\S+, (\S+)\)", text["nanogpt"]))
    expect(len(linear) > 3 and len(biases) > 0, text["nanogpt"][:2000])
    for name, inputs, low, high in linear:
        bound = int(inputs) ** -0.5
        for found in (-float(low), float(high), float(biases.get(name, high))):
            expect(abs(found - bound) <= 1e-6 * bound, f"{name}: expected the bound {bound} but got {found}")
    done = try_run("sluice-import", "export", reference / "weight-norm/model.pt2", "-o", SCRATCH / "initial.mlir", "--initialize")
    expect(done.returncode == 1 and "--initialize: no rule for the initial values of '" in done.stderr and "in a module of type" in done.stderr
           and "leave out --initialize, and load the module's own values with sluice-train --init" in done.stderr, done.stderr)


@test
def reports():
    archive = attention(by_parts(lambda archive, s: archive.op("tanh.default", SCORES, self=s)))
    loss = archive.outputs.pop()[0]
    archive.output(archive.op("dropout.default", [], input=loss, p=0.1, train=False))
    path = archive.save(SCRATCH / "report.pt2")
    done = run("sluice-import", "export", path, "-o", SCRATCH / "report.mlir", "--report")
    for text in ("parameters  1 with 192 elements, 0 other names of tied ones, 0 frozen", "states      0", "constants   0 in 0 B", "blocks      0", "         3  matmul",
                 "softmax in no attention, 1 times: ", " for the backward, 1 ops on this line",
                 "warning: all 1 dropouts are off: the module was exported in eval mode, and trains without dropout"):
        expect(text in done.stderr, f"expected '{text}' in {done.stderr}")
    text = Plan(SCRATCH / "report.mlir").text
    expect(re.search(r" loc\(blocks\.0 \(model\.py:\d+\)\)", text), "no instruction has the module and the user's line")
    whole = run("sluice-import", "export", attention(fused(is_causal=True)).save(SCRATCH / "whole.pt2"), "-o", SCRATCH / "whole.mlir", "--report").stderr
    expect("         1  attention, causal" in whole and "softmax" not in whole and "warning" not in whole, whole)
    found = json.loads(run("sluice-import", "export", path, "-o", SCRATCH / "report.mlir", "--json").stdout)
    expect_equal({key: found[key] for key in ("parameters", "states", "constants", "blocks")},
                 {"parameters": {"count": 1, "elements": 192, "frozen": 0, "ties": 0}, "states": 0, "constants": {"count": 0, "bytes": 0}, "blocks": []}, "report")
    expect_equal(found["composites"], {"matmul": 3}, "composites")
    expect_equal([(each["op"], each["composite"], each["count"]) for each in found["missed"]], [("softmax", "attention", 1)], "missed composites")
    size = 4
    for extent in SCORES:
        size *= extent
    expect_equal(found["missed"][0]["bytes"], size, "bytes of the weights of attention")
    expect_equal(len(found["warnings"]), 1, "warnings")
    done = try_run("sluice-import", "export", path, "-o", "-", "--json")
    expect(done.returncode == 2 and "--json prints on standard output, expected a file for --output" in done.stderr, done.stderr)


@test
def wrapping_modules():
    def stack(prefix):
        archive = Archive()
        y = archive.input("x", [ROWS, SIZE])
        for i in range(3):
            w = archive.parameter(f"{prefix}layers.{i}.w", [SIZE, SIZE])
            y = archive.op("linear.default", [ROWS, SIZE], input=y, weight=w)
            stack = "L__self__,,m.Model"
            path = ""
            for part in f"{prefix}layers.{i}".split("."):
                path = f"{path}.{part}".strip(".")
                kind = "m.Layer" if part.isdigit() else "m.Wrapper"
                if part != "layers":
                    stack += f";L__self__{path},{path},{kind}"
            archive.nodes[-1]["metadata"]["nn_module_stack"] = stack
        archive.output(archive.op("mean.default", [], self=y))
        return archive
    plain, _ = described_and_trained("plain", stack(""))
    wrapped, _ = described_and_trained("wrapped", stack("a.b."))
    expect_equal([unit["name"] for unit in plain["units"]], ["root"] + [f"layers.{i}" for i in range(3)], "units")
    expect_equal([unit["name"] for unit in wrapped["units"]], ["root"] + [f"a.b.layers.{i}" for i in range(3)], "units of the wrapped model")
    expect_equal(plain["arenas"], wrapped["arenas"], "arenas")


main()
