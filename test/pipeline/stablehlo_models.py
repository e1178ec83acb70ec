"""Functions of JAX, as sluice.jax.export writes them: losses, gradients and updated weights are those that JAX computed (test/reference/README.md says how they match)."""

from reference_training import *
from sluice import *

STABLEHLO = REFERENCE / "stablehlo"


def imported(name, *options):
    """The model, and the report."""
    path = SCRATCH / f"{name}-{next(numbers)}.mlir"
    done = run("sluice-import", "stablehlo", STABLEHLO / name / "model.mlir", "-o", path, "--report", *options)
    return path, done.stderr


def check_model(name):
    model, report = imported(name)
    check_training(STABLEHLO / name, model, STABLEHLO / name / "model.safetensors")
    return model.read_text(), report


def expect_lines(report, *lines):
    found = [" ".join(line.split()) for line in report.splitlines()]
    for line in lines:
        expect(line in found, f"expected the line '{line}' in the report but got {found}")


@test
def mlp():
    """Layers of a list are blocks, by the names of their parameters."""
    _, report = check_model("mlp")
    expect_lines(report, "blocks 3: layers.0 to layers.2", "1 cross_entropy")


@test
def transformer():
    """A scan over stacked parameters: each layer has its own parameters and is a block. Composite ops are recognised."""
    text, report = check_model("transformer")
    expect_lines(report, "blocks 3: h.0 to h.2", "3 attention, causal", "3 gelu", "7 rms_norm", "1 embedding", "1 cross_entropy")
    for layer in range(3):
        expect(f"model.parameter @h.{layer}.attn.q : tensor<16x16xf32>" in text, f"layer {layer} has no parameter")
    expect("stablehlo_models.py" in text, "no line of the user")


@test
def layers_of_a_scan_are_units():
    """Each layer is gathered by itself."""
    model, _ = imported("transformer")
    units = Plan(model, ["mesh.shard=2"]).check().units()
    expect_equal([name for name in units if name.startswith("h.")], ["h.0", "h.1", "h.2"], "units")


@test
def stop_gradient():
    check_model("stop-gradient")


def gradients_of(model, folder, batch):
    """By the names of the parameters, of one step from the weights of the folder."""
    weights = folder / "model.safetensors"
    done = train(Plan(model, ["optimizer.name=sgd", f"optimizer.lr={RATE}"]).check(), "--init", weights, "--order", "sequential", steps=1, data=batch)
    after = tensors(done.weights)
    return {name: [(a - b) / RATE for a, b in zip(values, after[name])] for name, values in tensors(weights.read_bytes()).items()}, done.loss[0]


@test
def gradients_depend_on_the_marker():
    """A text without it has other gradients, so the test above can fail."""
    folder = STABLEHLO / "stop-gradient"
    text = (folder / "model.mlir").read_text()
    plain, model = SCRATCH / "plain.mlir", SCRATCH / "plain.model.mlir"
    changed, count = re.subn(r'"stablehlo.custom_call"(\(%\w+\)) <\{[^}]*call_target_name = "sluice.stop_gradient"[^}]*\}>', r'"stablehlo.convert"\1', text)
    expect_equal(count, 2, "markers")
    plain.write_text(changed)
    run("sluice-import", "stablehlo", plain, "-o", model)
    wanted = tensors((folder / "expected.safetensors").read_bytes())
    for name in ("online", "target"):
        differences = []
        for each in (imported("stop-gradient")[0], model):
            found = gradients_of(each, folder, folder / "inputs.0.safetensors")[0][name]
            differences.append(max(abs(a - b) for a, b in zip(found, wanted[f"grad.{name}"])))
        expect(differences[0] < 1e-5 and differences[1] > 1e-3, f"{name}: differences {differences} with the markers and without")


def check_gradients(name):
    """The loss and the gradients of one batch are those of JAX. The report."""
    folder = STABLEHLO / name
    model, report = imported(name)
    gradients, loss = gradients_of(model, folder, folder / "inputs.0.safetensors")
    expect(abs(loss - json.loads((folder / "expected.json").read_text())["loss"]) < 1e-5 * max(1, abs(loss)), f"{name}: the loss {loss}")
    wanted = tensors((folder / "expected.safetensors").read_bytes())
    for key, found in gradients.items():
        expect_tensor(found, wanted[f"grad.{key}"], 1e-4, 1e-5, 1e-6, f"{name}: gradient of '{key}'")
    return report


@test
def shifts_with_one_stopped_gradient():
    """They are no logsumexp, softmax or log_softmax."""
    report = check_gradients("shifts")
    expect("softmax" not in report and "logsumexp" not in report, report)


@test
def points_of_convention():
    check_gradients("conventions")


def keys_of(text):
    return re.findall(r"model.dropout .*?key = (\d+)", text)


@test
def dropout():
    """Masks of jax.random.bernoulli are dropouts with separate keys."""
    model, _ = imported("dropout")
    text = model.read_text()
    dropouts = re.findall(r"model.dropout .*?rate = ([\d.e+-]+)", text)
    expect_equal([round(float(rate), 6) for rate in dropouts], [0.1, 0.25, 0.5], "rates")
    expect_equal(len(set(keys_of(text))), 3, "keys")
    # The first two are of the value itself, the third one of ones.
    expect_equal(text.count("model.constant 1."), 1, "masks that multiply")
    data = SCRATCH / "dropout-data.safetensors"
    data.write_bytes((STABLEHLO / "stop-gradient" / "inputs.0.safetensors").read_bytes())
    losses = [train(Plan(model, []).check(), "--init", STABLEHLO / "dropout" / "model.safetensors", "--seed", seed, steps=1, data=data).loss for seed in (1, 2)]
    expect(losses[0] != losses[1], f"the losses of two seeds are equal: {losses}")


@test
def masks():
    """One mask has one key, also in all steps of a scan, and a mask is its mean in an evaluation, in any spelling."""
    folder = STABLEHLO / "masks"
    model, _ = imported("masks")
    keys = keys_of(model.read_text())
    expect_equal((len(keys), len(set(keys))), (6, 6), "dropouts and keys")
    log, batch = SCRATCH / "masks.jsonl", folder / "inputs.0.safetensors"
    run("sluice-train", Plan(model).check().path, "--init", folder / "model.safetensors", "--eval-data", batch, "--steps", 0, "--log", log)
    found = [json.loads(line)["eval_loss"] for line in log.read_text().splitlines() if "eval_loss" in line]
    wanted = json.loads((folder / "expected.json").read_text())["evaluation"]
    expect(len(found) == 1 and abs(found[0] - wanted) < 1e-5 * wanted, f"expected the loss {wanted} of an evaluation but got {found}")


@test
def recurrent():
    """A scan over time is a loop of StableHLO."""
    expect("stablehlo.while" in (STABLEHLO / "recurrent" / "model.mlir").read_text(), "no loop")
    _, report = check_model("recurrent")
    expect_lines(report, "1 layer_norm")


@test
def convolution():
    check_model("convolution")


@test
def targets_outside_of_the_classes():
    """They end the run: -100 is no target that the loss does not count."""
    model, _ = imported("mlp")
    header, data = split_safetensors((STABLEHLO / "mlp" / "inputs.0.safetensors").read_bytes())
    begin, end = header["target"]["data_offsets"]
    for target in (-100, -1, 5):
        batch = SCRATCH / f"targets{target}.safetensors"
        batch.write_bytes(join_safetensors(header, data[:begin] + struct.pack("<i", target) + data[begin + 4:end] + data[end:]))
        done = try_run("sluice-train", Plan(model).path, "--init", STABLEHLO / "mlp" / "model.safetensors", "--data", batch, "--steps", 1)
        expect(done.returncode in (1, 5) and str(target) in done.stderr, f"{target}: exit code {done.returncode} and {done.stderr}")


def text_of(lines, result, kind="tensor<4x4xf32>"):
    """The loss is the sum of `result`, of x and w of 4 x 4 elements."""
    return f'''"builtin.module"() ({{
  "func.func"() <{{arg_attrs = [{{sluice.input = "x"}}, {{sluice.parameter = "w"}}], function_type = (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>, sym_name = "main"}}> ({{
  ^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>):
    %zero = "stablehlo.constant"() <{{value = dense<0.0> : tensor<f32>}}> : () -> tensor<f32>
    %least = "stablehlo.constant"() <{{value = dense<0xFF800000> : tensor<f32>}}> : () -> tensor<f32>
    %y = "stablehlo.multiply"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    {lines}
    %loss = "stablehlo.reduce"({result}, %zero) <{{dimensions = array<i64: 0, 1>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }}) : ({kind}, tensor<f32>) -> tensor<f32>
    "func.return"(%loss) : (tensor<f32>) -> ()
  }}) : () -> ()
}}) {{sluice.jax = "test"}} : () -> ()
'''


@test
def softmax_of_a_square_matrix():
    """A sum of each row that divides each column is no softmax."""
    def reduce(op, value, first):
        return (f'"stablehlo.reduce"({value}, {first}) <{{dimensions = array<i64: 1>}}> ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%t = "stablehlo.{op}"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
                '"stablehlo.return"(%t) : (tensor<f32>) -> ()\n}) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>')

    of_two = "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
    repeated = lambda value, dim: f'"stablehlo.broadcast_in_dim"({value}) <{{broadcast_dimensions = array<i64: {dim}>}}> : (tensor<4xf32>) -> tensor<4x4xf32>'
    for first, second in ((0, 0), (0, 1), (1, 0)):
        lines = "\n".join([f"%most = {reduce('maximum', '%y', '%least')}", f"%r = {repeated('%most', first)}", f'%d = "stablehlo.subtract"(%y, %r) : {of_two}',
                           '%e = "stablehlo.exponential"(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32>', f"%sum = {reduce('add', '%e', '%zero')}", f"%q = {repeated('%sum', second)}",
                           f'%z = "stablehlo.divide"(%e, %q) : {of_two}'])
        path = SCRATCH / f"square-{first}{second}.mlir"
        path.write_text(text_of(lines, "%z"))
        model = path.with_suffix(".model.mlir")
        run("sluice-import", "stablehlo", path, "-o", model)
        expect_equal("model.softmax" in model.read_text(), (first, second) == (0, 0), f"softmax along {first} and {second}")


@test
def scopes_of_flax():
    """Numbers of modules with modules in them are layers; those that Flax gives each class are not."""
    line = lambda name, value, scope: f'%{name} = "stablehlo.tanh"({value}) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("jit(f)/Model/{scope}/tanh"("model.py":1:0))'
    for names, wanted in ((("Block_0/Dense_0", "Block_0/Dense_1", "Block_1/Dense_0", "Block_1/Dense_1"), "blocks 2: Model.Block.0 to Model.Block.1"),
                          (("layers_0", "layers_0", "layers_1", "layers_1"), "blocks 2: Model.layers.0 to Model.layers.1")):
        path = SCRATCH / "flax.mlir"
        path.write_text(text_of("\n".join(line(f"z{i}", f"%z{i - 1}" if i else "%y", scope) for i, scope in enumerate(names)), "%z3"))
        done = run("sluice-import", "stablehlo", path, "-o", path.with_suffix(".model.mlir"), "--report")
        expect_lines(done.stderr, wanted)


main()
