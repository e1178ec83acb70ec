"""Rows of the reference with models of their own: parts of a unit that are used several times, inputs, 128 ranks, divisors."""

import random

from checkpoint import train_with_states
from parity import ADAM, ONE, close, parity, same_states
from sluice import *


def typed(shape):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + "f32>"


def write_model(name, batch, parameters, inputs, body):
    """A module with one entry point that returns %loss. Parameters and inputs: name to shape; tokens, one in each row, to their limit."""
    path = SCRATCH / f"{name}.mlir"
    arguments = ", ".join(f'%in{i}: {typed(shape)} {{model.input = "{given}"}}' if isinstance(shape, tuple) else
                          f'%in{i}: tensor<{batch}xi32> {{model.input = "{given}", model.limit = {shape} : i64}}'
                          for i, (given, shape) in enumerate(inputs.items()))
    reads = [f"%{parameter.replace('.', '_')} = model.read @{parameter} : {typed(shape)}" for parameter, shape in parameters.items()]
    path.write_text("\n".join(
        [f'module attributes {{model.batch = {batch} : i64, model.name = "{name}"}} {{',
         *(f"model.parameter @{parameter} : {typed(shape)} uniform(-0.5, 0.5)" for parameter, shape in parameters.items()),
         f'func.func @train_step({arguments}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{',
         *([] if body.startswith("// reads") else reads), body, "return %loss : tensor<f32>", "}", "}"]))
    return path


def write_tensors(path, given):
    """A safetensors file of f32 tensors: name to shape and numbers."""
    header, data = {}, b""
    for name, (shape, numbers) in given.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
        data += struct.pack(f"<{len(numbers)}f", *numbers)
    path.write_bytes(join_safetensors(header, data))
    return path


DIM, VOCABULARY, ROWS, CHUNKS = 8, 12, 8, 4


def chunked_loss(chunks, tied=False):
    """A layer, then a norm and a head, which is used once for each of these chunks of the rows: the sum of squared logits. If it is tied, the head is
    also the embedding of tokens, and the layer reads their rows."""
    x, weight, norm, head = f"tensor<{ROWS}x{DIM}xf32>", f"tensor<{DIM}x{DIM}xf32>", f"tensor<{DIM}xf32>", f"tensor<{VOCABULARY}x{DIM}xf32>"
    size = ROWS // CHUNKS
    part, logits = f"tensor<{size}x{DIM}xf32>", f"tensor<{size}x{VOCABULARY}xf32>"
    lines = ["// reads in blocks"]
    if tied:
        lines += [f'%words = model.block "embedding" -> {x} {{', f"%e = model.read @head.weight : {head}",
                  f"%rows = model.embedding %e, %in0 : ({head}, tensor<{ROWS}xi32>) -> {x}", f"model.yield %rows : {x}", "}"]
    lines += [f'%hidden = model.block "layer" -> {x} {{', f"%w = model.read @layer.weight : {weight}",
              f"%product = model.matmul %{'words' if tied else 'in0'}, %w {{transpose_rhs}} : ({x}, {weight}) -> {x}", f"model.yield %product : {x}", "}",
              f'%normal = model.block "norm" -> {x} {{', f"%scale = model.read @norm.weight : {norm}",
              f"%y, %rstd = model.rms_norm %hidden, %scale {{epsilon = 1.0e-5 : f64}} : ({x}, {norm}) -> ({x}, tensor<{ROWS}xf32>)",
              f"model.yield %y : {x}", "}"]
    total = None
    for c in chunks:
        lines += [f"%part{c} = model.slice %normal {{limit = array<i64: {(c + 1) * size}, {DIM}>, start = array<i64: {c * size}, 0>, "
                  f"step = array<i64: 1, 1>}} : ({x}) -> {part}",
                  f'%logits{c} = model.block "head" -> {logits} {{', f"%h = model.read @head.weight : {head}",
                  f"%product = model.matmul %part{c}, %h {{transpose_rhs}} : ({part}, {head}) -> {logits}", f"model.yield %product : {logits}", "}",
                  f"%square{c} = model.multiply %logits{c}, %logits{c} : ({logits}, {logits}) -> {logits}",
                  f"%loss{c} = model.reduce_sum %square{c} {{dims = array<i64: 0, 1>}} : ({logits}) -> tensor<f32>"]
        lines += [f"%sum{c} = model.add {total}, %loss{c} : (tensor<f32>, tensor<f32>) -> tensor<f32>"] if total else []
        total = f"%sum{c}" if total else f"%loss{c}"
    lines.append(f"%loss = model.scale {total} {{factor = 0.5 : f64}} : (tensor<f32>) -> tensor<f32>")
    return write_model(("tied-" if tied else "") + "chunks" + "".join(map(str, chunks)), ROWS,
                       {"layer.weight": (DIM, DIM), "norm.weight": (DIM,), "head.weight": (VOCABULARY, DIM)},
                       {"tokens": VOCABULARY} if tied else {"x": (ROWS, DIM)}, "\n".join(lines))


TOGETHER = 'sharding.units={layer=["layer"], output=["norm", "head"]}'


@test
def one_module_of_a_unit_used_per_chunk():
    model = chunked_loss(range(CHUNKS))
    for after in ("true", "false"):
        for microbatches in (1, 3):
            for policy in ("none", "block"):
                recipe = ["mesh.shard=2", f"sharding.reshard_after_forward={after}", f"gradient.microbatches={microbatches}", f"recompute.policy={policy}"]
                together = Plan(model, recipe + [TOGETHER])
                expect_equal({u["name"]: len(u["parameters"]) for u in together.description["units"]}, {"root": 0, "layer": 1, "output": 2}, "units")
                expect_equal(together.count("reduce_scatter", unit="output"), 1, f"{recipe}: reductions of the unit")
                # A use of the head ends a pass of the unit: its policy decides whether the next use gathers again.
                expect_equal(together.events("forward", only="U"), ["U(layer)"] + ["U(output)"] * (CHUNKS if after == "true" else 1),
                             f"{recipe}: gathers of the forward")
                for steps, optimizer in ((1, ONE), (10, ["optimizer.name=adam", "optimizer.lr=0.01"])):
                    expect_same_bits(train(Plan(model, recipe + [TOGETHER] + optimizer), steps=steps), train(Plan(model, recipe + optimizer), steps=steps),
                              f"{recipe}: one unit or two")


@test
def chunks_against_one_rank():
    """Resharding by unit, and micro-batches that reduce."""
    policies = [f"sharding.reshard_after_forward={after}" for after in ("true", "false", '{output=false, "*"=true}', '{output=true, "*"=false}')]
    model = chunked_loss(range(CHUNKS))
    for microbatches in (1, 3):
        recipes = [[TOGETHER, policy, f"recompute.policy={recompute}"] for policy in policies for recompute in ("none", "block")]
        parity(model, ["mesh.shard=2"], 2, recipes + ([[TOGETHER, "gradient.sync=every"]] if microbatches > 1 else []), microbatches=microbatches)
    for precision in (["precision.compute=bf16"], ["precision.compute=bf16", "precision.reduce=bf16"], ["precision.compute=f16", "precision.loss_scale=16"]):
        recipe = ["mesh.shard=2"] + precision
        expect_same_bits(train(Plan(model, recipe + [TOGETHER])), train(Plan(model, recipe)), f"{precision}: one unit or two")


@test
def tied_head_per_chunk_against_one_rank():
    """The unit has the embedding too, whose weight is the head's: its gradient is the sum of all chunks and of the embedding, and is reduced once.
    Parameters and running means of gradients after each of ten steps are those of one rank."""
    together = 'sharding.units={layer=["layer"], output=["embedding", "norm", "head"]}'
    policies = [f"sharding.reshard_after_forward={after}" for after in ("true", "false", '{output=false, "*"=true}', '{output=true, "*"=false}')]
    model = chunked_loss(range(CHUNKS), tied=True)
    plan = Plan(model, ["mesh.shard=2", together])
    expect_equal({unit["name"]: sorted(p["name"] for p in unit["parameters"]) for unit in plan.description["units"]},
                 {"root": [], "layer": ["layer.weight"], "output": ["head.weight", "norm.weight"]}, "parameters of units")
    expect_equal(plan.count("reduce_scatter", unit="output"), 1, "reductions of the unit")
    for ranks, microbatches in ((2, 1), (2, 3), (4, 1)):
        one = train_with_states(Plan(model, [f"gradient.microbatches={ranks * microbatches}"] + ADAM), steps=10)
        recipes = [[policy, f"recompute.policy={recompute}"] for policy in policies for recompute in ("none", "block")]
        for recipe in recipes + ([["gradient.sync=every"]] if microbatches > 1 else []):
            recipe = [f"mesh.shard={ranks}", f"gradient.microbatches={microbatches}", together] + recipe
            same_states(train_with_states(Plan(model, recipe + ADAM), steps=10), one, f"{recipe}")


@test
def every_chunk_adds_a_gradient():
    start = tensors(train(Plan(chunked_loss(range(CHUNKS)), ["mesh.shard=2", TOGETHER] + ONE), steps=0).weights)

    def gradient(chunks):
        after = tensors(train(Plan(chunked_loss(chunks), ["mesh.shard=2", TOGETHER] + ONE), steps=1).weights)
        return {name: [a - b for a, b in zip(start[name], after[name])] for name in start}

    of_each = [gradient((c,)) for c in range(CHUNKS)]
    of_all = gradient(range(CHUNKS))
    for name in start:
        expect(all(any(one[name]) for one in of_each), f"'{name}': expected a gradient of each chunk")
        expect_near([sum(one[name][i] for one in of_each) for i in range(len(start[name]))], of_all[name], 1e-5, f"'{name}': sum over chunks")


@test
def model_without_inputs():
    shape = "tensor<6x5xf32>"
    body = "\n".join([f"%p = model.multiply %w, %v : ({shape}, tensor<5xf32>) -> {shape}", f"%q = model.multiply %p, %p : ({shape}, {shape}) -> {shape}",
                      f"%loss = model.reduce_sum %q {{dims = array<i64: 0, 1>}} : ({shape}) -> tensor<f32>"])
    model = write_model("without-inputs", 1, {"w": (6, 5), "v": (5,)}, {}, body)
    sgd = ["optimizer.name=sgd", "optimizer.lr=0.1"]
    alone = train(Plan(model, sgd), steps=5)
    expect(all(a > b for a, b in itertools.pairwise(alone.loss)), f"expected a loss that falls but got {alone.loss}")
    for mesh in (["mesh.shard=2"], ["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"]):
        expect_near_runs(train(Plan(model, mesh + sgd), steps=5), alone, 1e-6, f"{mesh}", weights=1e-6)


@test
def square_weight_on_any_number_of_ranks():
    """A linear layer of 3 x 3 without bias and the sum of its outputs, after a step of SGD at rate 0.1, by formula: the gradient of each row of the
    weight is the mean of the ranks' inputs."""
    weight, row = "tensor<3x3xf32>", "tensor<1x3xf32>"
    body = "\n".join([f"%y = model.matmul %in0, %w {{transpose_rhs}} : ({row}, {weight}) -> {row}",
                      f"%loss = model.reduce_sum %y {{dims = array<i64: 0, 1>}} : ({row}) -> tensor<f32>"])
    model = write_model("square", 1, {"w": (3, 3)}, {"x": (1, 3)}, body)
    start = [i / 4 for i in range(9)]
    init = write_tensors(SCRATCH / "square.safetensors", {"w": ([3, 3], start)})
    for ranks in (1, 2, 3, 4, 5, 8):
        rows = [[rank + 1 + i / 2 for i in range(3)] for rank in range(ranks)]
        data = write_tensors(SCRATCH / f"rows-{ranks}.safetensors", {"x": ([ranks, 3], list(itertools.chain(*rows)))})
        found = train(Plan(model, [f"mesh.shard={ranks}", "optimizer.name=sgd", "optimizer.lr=0.1"]), "--init", init, steps=1, data=data)
        mean = [sum(each[i] for each in rows) / ranks for i in range(3)]
        expect(close(found.loss, [sum(start[3 * o + i] * mean[i] for o in range(3) for i in range(3))]), f"{ranks} ranks: loss {found.loss}")
        wanted = [w - 0.1 * mean[i % 3] for i, w in enumerate(start)]
        expect(close(tensors(found.weights)["w"], wanted), f"{ranks} ranks: weight, expected {wanted} but got {tensors(found.weights)['w']}")


@test
def parameters_unused_on_some_ranks():
    """Two of four ranks have no row for one weight, three none for another: their gradients are zero there, and the mean is over all ranks."""
    row = "tensor<1x4xf32>"
    body = "\n".join(
        [f"%p{i} = model.multiply %in{i}, %{w} : ({row}, tensor<4xf32>) -> {row}\n"
         f"%s{i} = model.reduce_sum %p{i} {{dims = array<i64: 0, 1>}} : ({row}) -> tensor<f32>" for i, w in enumerate("wv")] +
        ["%loss = model.add %s0, %s1 : (tensor<f32>, tensor<f32>) -> tensor<f32>"])
    model = write_model("unused-on-ranks", 1, {"w": (4,), "v": (4,)}, {"x": (1, 4), "y": (1, 4)}, body)
    rows = {"x": [[1, 2, 3, 4], [5, 6, 7, 8], [0] * 4, [0] * 4], "y": [[0] * 4] * 3 + [[4, 8, 12, 16]]}
    data = write_tensors(SCRATCH / "unused.safetensors", {name: ([4, 4], list(itertools.chain(*values))) for name, values in rows.items()})
    zeros = write_tensors(SCRATCH / "zeros.safetensors", {name: ([4], [0.0] * 4) for name in "wv"})
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.shard=4", "sharding.strategy=no_shard"]):
        found = tensors(train(Plan(model, mesh + ONE), "--init", zeros, steps=1, data=data).weights)
        expect_equal({name: [-value for value in values] for name, values in found.items()},
                     {"w": [6 / 4, 8 / 4, 10 / 4, 12 / 4], "v": [1, 2, 3, 4]}, f"{mesh}: gradients")


@test
def inputs_in_two_groups():
    """x and two tensors of another group: each is copied to the device by its name before it is read, and the root has no parameters."""
    value, rows, ranks = "tensor<3x4xf32>", 3, 2
    body = "\n".join([
        "// reads in a block", f"%ys = model.add %in1, %in2 : ({value}, {value}) -> {value}", f"%s = model.add %in0, %ys : ({value}, {value}) -> {value}",
        "%one = model.constant 1.0 : tensor<4xf32>", f"%t = model.add %s, %one : ({value}, tensor<4xf32>) -> {value}",
        f'%u = model.block "layer" -> {value} {{', "%w = model.read @w : tensor<4xf32>",
        f"%m = model.multiply %t, %w : ({value}, tensor<4xf32>) -> {value}", f"model.yield %m : {value}", "}",
        f"%loss = model.reduce_sum %u {{dims = array<i64: 0, 1>}} : ({value}) -> tensor<f32>"])
    names = ("x", "ys.0", "ys.1")
    model = write_model("inputs", rows, {"w": (4,)}, {name: (rows, 4) for name in names}, body)
    plan = Plan(model, [f"mesh.shard={ranks}"] + ONE)
    expect_equal({u["name"]: len(u["parameters"]) for u in plan.description["units"]}, {"root": 0, "layer": 1}, "parameters of units")
    # Small integers: every sum is exact.
    count = rows * ranks * 4
    numbers = {name: [(7 * i + 3 * k) % 11 for i in range(count)] for k, name in enumerate(names)}
    data = write_tensors(SCRATCH / "inputs.safetensors", {name: ([rows * ranks, 4], values) for name, values in numbers.items()})
    start = tensors(train(plan, steps=0, data=data).weights)["w"]
    found = train(plan, steps=1, data=data)
    sums = [sum(numbers[name][i] for name in names) + 1 for i in range(count)]
    # The gradient is the mean of the ranks' sums over rows.
    gradient = [sum(sums[column::4]) / ranks for column in range(4)]
    expect_near(tensors(found.weights)["w"], [w - g for w, g in zip(start, gradient)], 1e-6, "weights")
    expect_near(found.loss, [sum(g * w for g, w in zip(gradient, start))], 1e-6, "loss")
    for name in names:
        copies = [i.index for i in plan.instructions() if i.what == "copy" and f"%input.{name}.host" in i.operands]
        reads = [i.index for i in plan.instructions() if i.what == "add" and f"%input.{name}:" in i.operands.split(" -> ")[0]]
        expect(len(copies) == 1 and copies[0] < reads[0], f"'{name}': expected one copy before the first read but got {copies} and {reads}")


# Rows fewer than 128, not divisible by 128, or divisible.
MANY = {"a": (17, 257), "b": (17,), "c": (64, 312), "d": (64,), "e": (64, 64), "f": (512, 64), "g": (256,), "h": (64, 297)}


def sums(lines, terms):
    """Lines that add up these tensors to %total."""
    for i, (name, shape) in enumerate(terms):
        dims = ", ".join(map(str, range(len(shape))))
        lines.append(f"%s{i} = model.reduce_sum {name} {{dims = array<i64: {dims}>}} : ({typed(shape)}) -> tensor<f32>")
        lines.append(f"%t{i} = model.add %t{i - 1}, %s{i} : (tensor<f32>, tensor<f32>) -> tensor<f32>" if i else f"%t0 = model.scale %s0 {{factor = 1.0 : f64}} : (tensor<f32>) -> tensor<f32>")
    return lines


def dyadic(offset):
    """Initial values of MANY with 10 bits: sums of 128 ranks are exact in f32."""
    return {name: (list(shape), [((i * 37 + offset + 11 * k) % 1023 - 511) / 1024 for i in range(math.prod(shape))])
            for k, (name, shape) in enumerate(MANY.items())}


@test
def gathers_of_128_ranks():
    """One unit over 128 ranks, gathered in forward and backward by all ranks, or in the backward by eight. The loss is half the sum of squares, so
    a gradient is the parameter that the backward gathered; all numbers are exact."""
    lines = []
    for name, shape in MANY.items():
        lines.append(f"%q{name} = model.multiply %{name}, %{name} : ({typed(shape)}, {typed(shape)}) -> {typed(shape)}")
    sums(lines, [(f"%q{name}", shape) for name, shape in MANY.items()])
    lines.append(f"%loss = model.scale %t{len(MANY) - 1} {{factor = 0.5 : f64}} : (tensor<f32>) -> tensor<f32>")
    model = write_model("many-gathers", 1, MANY, {}, "\n".join(lines))
    expect_equal(sum(math.prod(shape) for shape in MANY.values()), 80_546, "elements")
    values = dyadic(5)
    start = write_tensors(SCRATCH / "start.safetensors", values)
    half = sum(v * v for _, numbers in values.values() for v in numbers) / 2
    for after, groups in (("true", {("forward", 128), ("backward", 128)}), ("8", {("forward", 128), ("backward", 8)}), ("false", {("forward", 128)})):
        plan = Plan(model, ["mesh.shard=128", "sharding.units=root", f"sharding.reshard_after_forward={after}", "optimizer.name=sgd", "optimizer.lr=0.5"])
        expect_equal({(c["phase"], c["group"]) for c in plan.collectives("all_gather")}, groups, f"{after}: ranks of gathers")
        padded = sum(math.prod(p["shape"]) + p["padding"] for p in plan.parameters().values())
        expect_equal(padded, 152_320, f"{after}: elements with padding")
        found = train(plan, "--init", start, steps=1)
        expect(abs(found.loss[0] - half) < 1e-4 * half, f"{after}: loss, expected {half} but got {found.loss[0]}")
        for name, numbers in tensors(found.weights).items():
            expect(list(numbers) == [v / 2 for v in values[name][1]], f"{after}: '{name}', expected half of the initial values")


@test
def reductions_of_128_ranks():
    """The gradient of every element is the rank's number modulo 8. In f16 it is divided by 16 before the sum and by 8 after it; the mean is exact."""
    lines = sums([], [(f"%{name}", shape) for name, shape in MANY.items()])
    lines.append("%x = model.reduce_sum %in0 {dims = array<i64: 0, 1>} : (tensor<1x1xf32>) -> tensor<f32>")
    lines.append(f"%loss = model.multiply %t{len(MANY) - 1}, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>")
    model = write_model("many-reductions", 1, MANY, {"x": (1, 1)}, "\n".join(lines))
    values = dyadic(9)
    start = write_tensors(SCRATCH / "start.safetensors", values)
    data = write_tensors(SCRATCH / "ranks.safetensors", {"x": ([128, 1], [rank % 8 for rank in range(128)])})
    for dtype, op in (("f32", "mean"), ("f16", "sum")):
        plan = Plan(model, ["mesh.shard=128", "sharding.units=root", f"precision.reduce={dtype}"] + ONE)
        expect_equal({(c["op"], c["dtype"], c["group"]) for c in plan.collectives("reduce_scatter")}, {(op, dtype, 128)}, "reductions")
        for name, numbers in tensors(train(plan, "--init", start, steps=1, data=data).weights).items():
            expect(list(numbers) == [v - 3.5 for v in values[name][1]], f"{dtype}: '{name}', expected the initial values minus 3.5")


@test
def scalings_of_one_rank():
    """One rank scales gradients once if a divisor other than 1 is given, and not otherwise."""
    body = "\n".join(["%p = model.multiply %in0, %w : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>",
                      "%loss = model.reduce_sum %p {dims = array<i64: 0, 1>} : (tensor<1x4xf32>) -> tensor<f32>"])
    model = write_model("three", 1, {"w": (4,)}, {"x": (1, 4)}, body)
    data = write_tensors(SCRATCH / "three.safetensors", {"x": ([1, 4], [3.0] * 4)})
    zeros = write_tensors(SCRATCH / "zeros.safetensors", {"w": ([4], [0.0] * 4)})
    for given, factor, scalings in (([], 1, 0), (["gradient.divide=1"], 1, 0), (["gradient.divide=2"], 2, 1), (["gradient.divide={root=4}"], 4, 1)):
        for force in ([], ["gradient.force_sum=true"]):
            plan = Plan(model, ["mesh.shard=1"] + given + force + ONE)
            expect_equal(plan.count_instructions("scale", phase="backward"), scalings, f"{given + force}: scalings")
            found = tensors(train(plan, "--init", zeros, steps=1, data=data).weights)["w"]
            expect_equal([-w for w in found], [3 / factor] * 4, f"{given + force}: gradients")


@test
def mixed_precision_against_wide_sums():
    """bf16 compute and f32 reduction over four ranks with AdamW, and a divisor for a root without parameters. In each of ten steps the update is that
    of the mean of the ranks' gradients, summed here in f64: each is computed by one rank from the rows and weights of that step."""
    ranks, rows, dim, steps = 4, 2, 16, 10
    model = zoo("mlp-sequence", "count=3", f"dim={dim}", f"batch={rows}")
    narrow = ["precision.compute=bf16", "precision.reduce=f32"]
    adamw = ["optimizer.name=adamw", "optimizer.lr=0.01", "optimizer.weight_decay=0.1"]
    plan = Plan(model, ["mesh.shard=4", "gradient.divide={root=4}"] + narrow + adamw)
    expect_equal({c["dtype"] for c in plan.collectives("reduce_scatter")}, {"f32"}, "type of reductions")
    # A large learning rate: the difference of weights has the digits of the gradient.
    rate = 1024
    one = Plan(model, narrow + ["optimizer.name=sgd", f"optimizer.lr={rate}"])
    random_ = random.Random(7)
    inputs = [[random_.gauss(0, 1) for _ in range(dim)] for _ in range(steps * ranks * rows)]

    def data(name, sequences):
        return write_tensors(SCRATCH / f"{name}.safetensors", {"x": ([len(sequences), dim], list(itertools.chain(*sequences)))})

    everything = data("all", inputs)
    file = SCRATCH / "weights.safetensors"
    weights = train(plan, steps=0, data=everything).weights
    first, second = (collections.defaultdict(float) for _ in range(2))
    for step in range(steps):
        file.write_bytes(weights)
        before = tensors(weights)
        of_ranks = []
        for rank in range(ranks):
            begin = (step * ranks + rank) * rows
            after = tensors(train(one, "--init", file, steps=1, data=data("rank", inputs[begin:begin + rows])).weights)
            of_ranks.append({name: [(b - a) / rate for a, b in zip(after[name], before[name])] for name in before})
        weights = train(plan, steps=step + 1, data=everything).weights
        found = tensors(weights)
        for name in before:
            for i, w in enumerate(before[name]):
                gradient = sum(one_[name][i] for one_ in of_ranks) / ranks
                key = name, i
                first[key] = 0.9 * first[key] + 0.1 * gradient
                second[key] = 0.999 * second[key] + 0.001 * gradient * gradient
                move = first[key] / (1 - 0.9 ** (step + 1)) / (math.sqrt(second[key] / (1 - 0.999 ** (step + 1))) + 1e-8)
                wanted = w * (1 - 0.01 * 0.1) - 0.01 * move
                if not expect(abs(found[name][i] - wanted) < 1e-6, f"step {step}: '{name}' [{i}], expected {wanted} but got {found[name][i]}"):
                    return


main(no_empty_loops=True)
