"""Random numbers of an archive: dropout inside of attention, and ops that draw numbers in each step."""

from archives import *
from sluice import *

ROWS, LENGTH, HEADS, SIZE = 4, 6, 2, 4
WIDTH = HEADS * SIZE


def imported(name, archive, *options):
    path, model = archive.save(SCRATCH / f"{name}.pt2"), SCRATCH / f"{name}.mlir"
    done = run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"), *options)
    return model, done


def losses(model, *settings, steps=4):
    return train(Plan(model, list(settings)).check(), "--init", model.with_suffix(".safetensors"), steps=steps, data="random:8").loss


def attention(build):
    """loss = mean(build(q, k, v)), each [ROWS, HEADS, LENGTH, SIZE], with weights large enough that scores differ."""
    archive = Archive()
    x = archive.input("x", [ROWS, LENGTH, WIDTH])

    def part(name):
        weight = archive.parameter(name, [WIDTH, WIDTH], [((7 * i + ord(name)) % 11 - 5) / 8 for i in range(WIDTH * WIDTH)])
        y = archive.op("linear.default", [ROWS, LENGTH, WIDTH], input=x, weight=weight)
        y = archive.op("view.default", [ROWS, LENGTH, HEADS, SIZE], self=y, size=[ROWS, LENGTH, HEADS, SIZE])
        return archive.op("transpose.int", [ROWS, HEADS, LENGTH, SIZE], self=y, dim0=1, dim1=2)
    y = build(archive, part("q"), part("k"), part("v"))
    archive.output(archive.op("mean.default", [], self=archive.op("mul.Tensor", [ROWS, HEADS, LENGTH, SIZE], self=y, other=y)))
    return archive


def of_one_op(archive, q, k, v):
    return archive.op("scaled_dot_product_attention.default", [ROWS, HEADS, LENGTH, SIZE], query=q, key=k, value=v, dropout_p=0.25)


def written_out(archive, q, k, v, reads=1):
    scores = [ROWS, HEADS, LENGTH, LENGTH]
    turned = archive.op("transpose.int", [ROWS, HEADS, SIZE, LENGTH], self=k, dim0=2, dim1=3)
    product = archive.op("mul.Tensor", scores, self=archive.op("matmul.default", scores, self=q, other=turned), other=SIZE ** -0.5)
    weights = archive.op("dropout.default", scores, input=archive.op("softmax.int", scores, self=product, dim=3), p=0.25, train=True)
    y = archive.op("matmul.default", [ROWS, HEADS, LENGTH, SIZE], self=weights, other=v)
    if reads == 1:
        return y
    nothing = archive.op("mul.Tensor", [], self=archive.op("mean.default", [], self=weights), other=0.0)
    return archive.op("add.Tensor", [ROWS, HEADS, LENGTH, SIZE], self=y, other=nothing)


@test
def dropout_inside_of_attention():
    """One op, the same numbers as separate ops, which another reader of the weights keeps, on any mesh."""
    wanted = {}
    for name, build, isOne in (("one", of_one_op, True), ("written", written_out, True), ("separate", lambda *parts: written_out(*parts, reads=2), False)):
        model, done = imported(name, attention(build))
        expect("warning" not in done.stderr, f"{name}: {done.stderr}")
        text = model.read_text()
        expect(("model.attention" in text) == isOne and ("model.dropout" in text) != isOne, f"{name}: {text}")
        # Four rows in a step, and eight.
        for rows, settings in ((4, []), (4, ["mesh.tensor=2", "sharding.tensor=auto"]), (4, ["recompute.policy=block"]), (8, ["gradient.microbatches=2"]), (8, ["mesh.shard=2"])):
            found = losses(model, *settings)
            expect_near(found, wanted.setdefault(rows, found), 2e-5, f"{name} {settings}")
    model, _ = imported("without", attention(of_one_op), "--dropout", "0")
    text = model.read_text()
    expect("model.attention" in text and "dropout" not in text and "seed" not in text, text)
    expect(any(abs(a - b) > 1e-3 * abs(b) for a, b in zip(losses(model), wanted[4])), "dropout has no effect")


def drawn(op, sizes, reads=True, **arguments):
    """loss = mean(w op() + 0 x): the weights are ones, and the step does not change them."""
    archive = Archive()
    x, w = archive.input("x", [ROWS, sizes[-1]]), archive.parameter("w", sizes[-1:], [1.0] * sizes[-1])
    new = lambda: archive.op("empty.memory_format", sizes, size=sizes)
    given = {key: x if value == "x" else new() if value == "new" else value for key, value in arguments.items()}
    y = archive.op(op, sizes, **given)
    if op.startswith("randint"):
        y = archive.op("to.dtype", sizes, self=archive.op(op, sizes, I64, **given), dtype={"as_scalar_type": F32})
    loss = archive.op("mean.default", [], self=archive.op("mul.Tensor", sizes, self=y, other=w))
    nothing = archive.op("mul.Tensor", [], self=archive.op("mean.default", [], self=x), other=0.0)
    archive.output(archive.op("add.Tensor", [], self=loss, other=nothing) if reads else loss)
    return archive


@test
def numbers_without_data():
    """A model that reads no data has other numbers in each micro-batch and on each rank."""
    model, _ = imported("alone", drawn("rand.default", [ROWS, 64], reads=False, size=[ROWS, 64]))
    found = [losses(model, "optimizer.lr=0", *settings, steps=1)[0] for settings in ([], ["gradient.microbatches=2"], ["mesh.shard=2"])]
    expect(found[0] != found[1], f"two micro-batches have the numbers of one: {found}")
    expect_near(found[2:], found[1:2], 1e-6, "two ranks and two micro-batches")


@test
def numbers_of_a_step():
    count = 4096
    for op, sizes, arguments, mean, deviation in (("rand_like.default", [ROWS, count], {"self": "x"}, 0.5, 0.289), ("randn_like.default", [ROWS, count], {"self": "x"}, 0, 1),
                                                  ("rand.default", [ROWS, count], {"size": [ROWS, count]}, 0.5, 0.289), ("randn.default", [3, count], {"size": [3, count]}, 0, 1),
                                                  ("randint.low", [ROWS, count], {"low": -3, "high": 8, "size": [ROWS, count]}, 2, 3.16),
                                                  ("randint.default", [ROWS, count], {"high": 5, "size": [ROWS, count]}, 2, 1.41),
                                                  ("normal_.default", [ROWS, count], {"self": "new", "mean": 2.0, "std": 0.5}, 2, 0.5),
                                                  ("uniform_.default", [ROWS, count], {"self": "new", "from": -1.0, "to": 3.0}, 1, 1.155)):
        name = op.split(".")[0]
        model, _ = imported(name, drawn(op, sizes, **arguments))
        found = losses(model, "optimizer.lr=0", steps=3)
        error = 5 * deviation / (sizes[0] * count) ** 0.5
        expect(all(abs(each - mean) < error for each in found), f"{name}: means {found}, expected {mean}")
        expect(len(set(found)) == 3, f"{name}: the steps have equal numbers: {found}")
        expect_near(losses(model, "optimizer.lr=0", "recompute.policy=block", steps=3), found, 1e-6, f"{name}: computed again")
        if sizes[0] == ROWS:
            twice = [losses(model, "optimizer.lr=0", setting, steps=3) for setting in ("gradient.microbatches=2", "mesh.shard=2")]
            expect_near(twice[1], twice[0], 1e-5, f"{name}: two ranks and two micro-batches")


@test
def probabilities_of_each_element():
    """bernoulli of a tensor of probabilities: 1 where a number of the step is below it."""
    def build(probability):
        archive = Archive()
        x, w = archive.input("x", [ROWS, 4096]), archive.parameter("w", [4096], [1.0] * 4096)
        p = archive.op("add.Tensor", [ROWS, 4096], self=archive.op("mul.Tensor", [ROWS, 4096], self=x, other=0.0), other=probability)
        y = archive.op("bernoulli.default", [ROWS, 4096], self=p)
        archive.output(archive.op("mean.default", [], self=archive.op("mul.Tensor", [ROWS, 4096], self=y, other=w)))
        return archive
    for probability in (0.0, 0.3, 1.0):
        found = losses(imported("bernoulli", build(probability))[0], "optimizer.lr=0", steps=2)
        expect(all(abs(each - probability) < 0.02 for each in found), f"{found}, expected {probability}")


main()
