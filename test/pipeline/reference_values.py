"""Steps in narrow types against numbers computed here: every sum is exact in f32 in any order, so the only roundings are those of the types, and
losses and parameters are equal bit by bit.

The model is the reference's, three MLPs of width 16 on four ranks. A weight is -1/2, 0 or 1/2 and a row has quarters, so a sum has few bits before it is
rounded to a narrow type.
"""

import operator
import random

from sluice import *

DIM, ROWS, RANKS, MLPS = 16, 2, 4, 3
SGD = ["optimizer.name=sgd", "optimizer.lr=1"]


def rounded(value, dtype):
    if dtype == "f64":
        return value
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        bits += 0x7fff + (bits >> 16 & 1)
        return struct.unpack("<f", struct.pack("<I", bits & 0xffff0000))[0]
    code = {"f32": "f", "f16": "e"}[dtype]
    return struct.unpack("<" + code, struct.pack("<" + code, value))[0]


# Each number of a step is a multiple of its reciprocal.
SCALE = 2**30


def total(terms):
    """The sum of the terms, which is exact in f32 in any order: each partial sum is a multiple of the lowest bit of a term."""
    units = [int(term * SCALE) for term in terms]
    bits = functools.reduce(operator.or_, units, 0)
    expect(sum(map(abs, units)) <= 2**24 * (bits & -bits), f"a sum of {len(units)} terms is not exact in f32")
    return sum(units) / SCALE


class Product:
    """A linear layer and a ReLU, as a rank computes them in a type."""

    def __init__(self, weight, bias, inputs, dtype):
        self.weight = [[rounded(w, dtype) for w in row] for row in weight]
        self.inputs, self.dtype = inputs, dtype
        self.outputs = [[max(rounded(total([a * w for a, w in zip(x, row)] + [rounded(b, dtype)]), dtype), 0.0) for row, b in zip(self.weight, bias)]
                        for x in inputs]

    def backward(self, cotangents, reduce, narrow):
        """The gradients of weight and bias in the type of the reduction, and the cotangents of the inputs. `narrow`: gradients are rounded to the
        product's type first."""
        def gradient(terms):
            return rounded(rounded(total(terms), self.dtype) if narrow else total(terms), reduce)

        passed = [[c if y > 0 else 0.0 for c, y in zip(row, out)] for row, out in zip(cotangents, self.outputs)]
        columns = range(len(passed[0]))
        weight = [[gradient(c[o] * x[i] for c, x in zip(passed, self.inputs)) for i in range(len(self.inputs[0]))] for o in columns]
        bias = [gradient(c[o] for c in passed) for o in columns]
        return weight, bias, [[rounded(total(row[o] * self.weight[o][i] for o in columns), self.dtype) for i in range(len(self.inputs[0]))] for row in passed]


def reduced(values, dtype):
    """The mean of the ranks' values: a sum in f32, rounded. In f16 half of each is added, and the sum is halved."""
    if dtype == "f16":
        return rounded(rounded(total(rounded(value / 2, dtype) for value in values), dtype) / 2, dtype)
    return rounded(total(values) / len(values), dtype)


@functools.cache
def step(compute, reduce, output, narrow=False):
    """The loss and the parameters after a step; types by MLP. `output`: types to which the outputs of MLPs are cast, None for none. `narrow`: a gradient is
    rounded to the type of its product before that of the reduction."""
    start, rows = draw()
    losses, gradients = [], []
    for rank in range(RANKS):
        x, products = [rows[rank * ROWS + i] for i in range(ROWS)], []
        for k in range(MLPS):
            x = [[rounded(v, compute[k]) for v in row] for row in x]
            for name in (f"{k}.in_proj", f"{k}.out_proj"):
                products.append((name, k, Product(start[name + ".weight"], start[name + ".bias"], x, compute[k])))
                x = products[-1][2].outputs
            if output[k]:
                x = [[rounded(v, output[k]) for v in row] for row in x]
        losses.append(total(itertools.chain(*x)))
        cotangents, gradient, last = [[1.0] * DIM for _ in range(ROWS)], {}, None
        for name, k, product in reversed(products):
            if k != last and output[k]:
                cotangents = [[rounded(v, output[k]) for v in row] for row in cotangents]
            if k != last:
                cotangents = [[rounded(v, compute[k]) for v in row] for row in cotangents]
            last = k
            weight, gradient[name + ".bias"], cotangents = product.backward(cotangents, reduce[k], narrow)
            gradient[name + ".weight"] = list(itertools.chain(*weight))
        gradients.append(gradient)
    after = {}
    for name, values in start.items():
        flat = list(itertools.chain(*values)) if name.endswith("weight") else values
        after[name] = [rounded(w - reduced([gradient[name][i] for gradient in gradients], reduce[int(name[0])]), "f32") for i, w in enumerate(flat)]
    return rounded(total(losses) / RANKS, "f32"), after


@functools.cache
def draw():
    """Initial parameters, and the rows of all ranks."""
    draws = random.Random(5)
    start = {}
    for k in range(MLPS):
        for name, out, width in ((f"{k}.in_proj", 4 * DIM, DIM), (f"{k}.out_proj", DIM, 4 * DIM)):
            start[name + ".weight"] = [[draws.choice((-0.5, 0.0, 0.5)) for _ in range(width)] for _ in range(out)]
            start[name + ".bias"] = [draws.randrange(8) / 4 for _ in range(out)]
    return start, [[draws.randrange(-8, 9) / 4 for _ in range(DIM)] for _ in range(RANKS * ROWS)]


def write(name, tensors_):
    header, data = {}, b""
    for key, values in tensors_.items():
        shape = [len(values)] + ([len(values[0])] if isinstance(values[0], list) else [])
        flat = list(itertools.chain(*values)) if len(shape) > 1 else values
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(flat)]}
        data += struct.pack(f"<{len(flat)}f", *flat)
    path = SCRATCH / f"{name}.safetensors"
    path.write_bytes(join_safetensors(header, data))
    return path


def expect_step(mesh, compute, reduce, output=(None,) * MLPS, more=(), units=MLPS):
    """`units`: how many entries the tables of types have."""
    model = zoo("mlp-sequence", f"count={MLPS}", f"dim={DIM}", f"batch={ROWS}")
    start, rows = draw()

    def table(types):
        return "{" + ", ".join(f'"{k}"="{dtype}"' for k, dtype in enumerate(types[:units]) if dtype) + "}"

    recipe = mesh + [f"precision.compute={table(compute)}", f"precision.reduce={table(reduce)}", *more, *SGD]
    recipe += [f"precision.output={table(output)}"] if any(output) else []
    recipe += ["precision.loss_scale=1"] if "f16" in compute else []
    plan = Plan(model, recipe)
    found = train(plan, "--init", write("start", start), steps=1, data=write("rows", {"x": rows}))
    loss, after = step(compute, reduce, output)
    expect_equal([rounded(found.loss[0], "f32")], [loss], f"{recipe}: loss")
    for name, values in tensors(found.weights).items():
        wrong = [i for i, value in enumerate(values) if value != after[name][i]]
        expect(not wrong, f"{recipe}: '{name}', {len(wrong)} elements differ, expected {after[name][wrong[0]] if wrong else 0} but got "
               f"{values[wrong[0]] if wrong else 0}")
    return plan, loss, after


# The types of the row, with each resharding policy.
RESHARDED = (("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("f32", "bf16"))


@test
def types_of_compute_and_reduction():
    seen = {}
    for compute, reduce in (("f32", "f32"), ("bf16", "bf16"), ("bf16", "f32"), ("f32", "bf16"), ("f16", "f16"), ("f16", "f32"), ("f32", "f16")):
        for after in ("true", "false", "2") if (compute, reduce) in RESHARDED else ("true",):
            plan, loss, parameters = expect_step(["mesh.shard=4", f"sharding.reshard_after_forward={after}"], (compute,) * MLPS, (reduce,) * MLPS)
            expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")}, {reduce}, f"{compute}, {reduce}: reductions")
            expect_equal({c["dtype"] for c in plan.collectives("all_gather")}, {compute}, f"{compute}, {reduce}: gathers")
        seen[compute, reduce] = loss, tuple(parameters["0.in_proj.weight"])
    # The types make a difference: no two of them have the same parameters.
    expect_equal(len(set(seen.values())), len(seen), "results of different types")


@test
def types_of_units():
    """A unit in another type between two modules, which are two units or one; casts of outputs; recompute repeats the casts."""
    together = 'sharding.units={"0"=["0", "2"], "1"=["1"]}'
    for half in ("bf16", "f16"):
        for output in ((None,) * 3, ("f32", None, "f32")):
            expect_step(["mesh.shard=4"], (half, "f32", half), (half,) * 3, output, [together], units=2)
        for output in ((None,) * 3, ("f32", None, "f32"), (None, half, None)):
            expect_step(["mesh.shard=4"], (half, "f32", half), (half, half, "f32"), output)
        expect_step(["mesh.shard=4"], (half, "f32", half), (half, half, "f32"), (None, half, None), ["recompute.policy=block"])
        # An output in a type that neither its unit nor the next one has: without its cast the loss is different.
        types = ("f32",) * MLPS, ("f32",) * MLPS
        _, loss, _ = expect_step(["mesh.shard=4"], *types, (half, None, half))
        expect(loss != step(*types, (None,) * MLPS)[0], f"{half}: expected a loss that casts of outputs change but got {loss}")


@test
def gradients_of_two_types():
    """A unit computes in one type, so a bf16 and an f32 module are two units with a reduction each, here of one type. A gradient is rounded once, to the
    type of the reduction: with reductions in f32 it has more bits than a gradient in bf16 that is cast."""
    compute = ("bf16", "f32", "bf16")
    for reduce in ("f32", "bf16"):
        plan, loss, after = expect_step(["mesh.shard=4"], compute, (reduce,) * MLPS)
        expect_equal(sorted((c["unit"], c["dtype"]) for c in plan.collectives("reduce_scatter")), [(str(k), reduce) for k in range(MLPS)],
                     f"{reduce}: reductions")
        _, cast = step(compute, (reduce,) * MLPS, (None,) * MLPS, narrow=True)
        different = {name for name in after if after[name] != cast[name]}
        expect_equal({name[0] for name in different}, {"0", "2"} if reduce == "f32" else set(), f"{reduce}: MLPs whose cast gradients differ")
    model = zoo("mlp-sequence", f"count={MLPS}", f"dim={DIM}", f"batch={ROWS}")
    # A table of types has names of units; a module of a unit is none.
    for unit, units in (("0.in_proj", ()), ("1", ['sharding.units={a=["0", "1"], b=["2"]}'])):
        table = f'{{"{unit}"="bf16", "*"="f32"}}'
        expect_refused(model, ["mesh.shard=4", f"precision.compute={table}", *units],
                       f"error: --set precision.compute={table}: '{unit}' in 'precision.compute' matches no unit")


main(no_empty_loops=True)
