"""States that any op computes, in contrast to running statistics: each micro-batch reads the value that the one before it wrote."""

from sluice import *

STILL = ["optimizer.name=sgd", "optimizer.lr=0.0"]
T = "tensor<3xf32>"


def model(name, states, body):
    """`body` computes %v from %w and the states and writes them; the loss is the mean of %v times the rows, which are ones."""
    path = SCRATCH / f"{name}.mlir"
    reads = "\n    ".join(f"%{state} = model.read @{state} : {T}" for state in states)
    path.write_text(f"""
module attributes {{model.name = "{name}", model.batch = 2 : i64}} {{
  model.parameter @w : {T} constant(2.0)
  {"".join(f"model.parameter @{state} : {T} {initial} state;".replace(";", chr(10)) for state, initial in states.items())}
  func.func @train_step(%x: tensor<2x3xf32> {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %w = model.read @w : {T}
    {reads}
    {body}
    %y = model.multiply %x, %v : (tensor<2x3xf32>, {T}) -> tensor<2x3xf32>
    %loss = model.reduce_mean %y {{dims = array<i64: 0, 1>}} : (tensor<2x3xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""")
    return path


AVERAGE = f"""%h = model.scale %s {{factor = 0.5 : f64}} : {T}
    %v = model.add %h, %w : ({T}, {T}) -> {T}
    model.write @s, %v : {T}"""
# The state `last` gets the value that `s` had, before `s` changes.
LAST = AVERAGE.replace("%v = model.add %h, %w", "%n = model.add %h, %w").replace("@s, %v", "@s, %n") + f"""
    model.write @last, %s : {T}
    %t = model.add %s, %last : ({T}, {T}) -> {T}
    %v = model.add %t, %w : ({T}, {T}) -> {T}"""
# States that are written with views: of another state, and of their own value.
COPY = f"""%q = model.reshape %last : ({T}) -> tensor<1x3xf32>
    %c = model.reshape %q : (tensor<1x3xf32>) -> {T}
    model.write @s, %c : {T}
    %r = model.reshape %last : ({T}) -> tensor<3x1xf32>
    %b = model.reshape %r : (tensor<3x1xf32>) -> {T}
    model.write @last, %b : {T}
    %t = model.add %s, %last : ({T}, {T}) -> {T}
    %v = model.add %t, %w : ({T}, {T}) -> {T}"""


def expected(form, count):
    """Values of %v, which all elements have, in each micro-batch."""
    s, last, values = 1.0, 0.0, []
    for _ in range(count):
        if form == "average":
            s = 0.5 * s + 2.0
            values.append(s)
        elif form == "last":
            values.append(s + last + 2.0)
            last, s = s, 0.5 * s + 2.0
        else:
            values.append(s + last + 2.0)
            s = last
    return values


FORMS = {"average": ({"s": "ones"}, AVERAGE), "last": ({"s": "ones", "last": "zeros"}, LAST), "copy": ({"s": "ones", "last": "zeros"}, COPY)}


@functools.cache
def ones():
    path = SCRATCH / "ones.safetensors"
    count = 48
    path.write_bytes(join_safetensors({"x": {"dtype": "F32", "shape": [count, 3], "data_offsets": [0, 12 * count]}}, struct.pack(f"<{3 * count}f", *[1.0] * (3 * count))))
    return path


@test
def values_of_micro_batches():
    for name, (states, body) in FORMS.items():
        for settings, microbatches in (([], 1), (["gradient.microbatches=2"], 2), (["mesh.shard=2", "gradient.microbatches=3"], 3), (["mesh.shard=4"], 1)):
            plan = Plan(model(name, states, body), [*STILL, *settings]).check()
            found = train(plan, data=ones(), steps=2).loss
            values = expected(name, 2 * microbatches)
            wanted = [sum(values[i * microbatches:(i + 1) * microbatches]) / microbatches for i in range(2)]
            expect_equal([round(loss, 6) for loss in found], [round(loss, 6) for loss in wanted], f"{name}, {settings}: losses")


@test
def exchanged_states_are_refused():
    """Also three in a circle, and through views."""
    swap = f"model.write @a, %b : {T}\n    model.write @b, %a : {T}\n    %v = model.add %a, %w : ({T}, {T}) -> {T}"
    ring = f"""%r = model.reshape %c : ({T}) -> tensor<1x3xf32>
    %q = model.reshape %r : (tensor<1x3xf32>) -> {T}
    model.write @a, %b : {T}
    model.write @b, %q : {T}
    model.write @c, %a : {T}
    %v = model.add %a, %w : ({T}, {T}) -> {T}"""
    for name, states, body in (("swap", "ab", swap), ("ring", "abc", ring)):
        path = model(name, {state: "ones" for state in states}, body)
        done = try_run("sluice-compile", path, "-o", SCRATCH / "refused.plan")
        expect(done.returncode == 1 and "states 'a' and 'b' of '@train_step' exchange their values, expected a new value for one of them" in done.stderr, done.stderr)


@test
def copies_of_parameters_are_refused():
    path = model("parameter", {"s": "ones"}, f"model.write @s, %w : {T}\n    %v = model.add %s, %w : ({T}, {T}) -> {T}")
    done = try_run("sluice-compile", path, "-o", SCRATCH / "refused.plan")
    expect(done.returncode == 1 and "state 's' is a copy of the parameter 'w', expected a value that an op computes" in done.stderr, done.stderr)


@test
def evaluations_change_no_state():
    """Although their forward computes new values."""
    plan = Plan(model("average", *FORMS["average"]), [*STILL, "mesh.shard=2"]).check()
    log = SCRATCH / "evaluated.jsonl"
    run("sluice-train", plan.path, "--data", ones(), "--steps", 3, "--eval-data", ones(), "--eval-every", 1, "--log", log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    expect_equal([round(line["loss"], 6) for line in lines if "loss" in line], expected("average", 3), "losses of steps")
    # Of the state after the step, and the weights, which stay.
    expect_equal([round(line["eval_loss"], 6) for line in lines if "eval_loss" in line], expected("average", 4)[1:], "losses of evaluations")


main()
