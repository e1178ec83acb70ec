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


@test
def gradients_depend_on_the_marker():
    """A text without it has another first gradient, so the test above can fail."""
    text = (STABLEHLO / "stop-gradient" / "model.mlir").read_text()
    expect_equal(text.count('call_target_name = "sluice.stop_gradient"'), 2, "markers")
    path, plain = imported("stop-gradient")[0], SCRATCH / "plain.mlir"
    plain.write_text(text.replace("sluice.stop_gradient", "sluice.relu"))
    other = SCRATCH / "plain.model.mlir"
    run("sluice-import", "stablehlo", plain, "-o", other)
    counts = [each.read_text().count("model.stop_gradient") for each in (path, other)]
    expect_equal(counts, [2, 0], "stops of the gradient")


@test
def dropout():
    """Masks of jax.random.bernoulli are dropouts with keys of their own; eval_step has none."""
    model, _ = imported("dropout")
    text = model.read_text()
    dropouts = re.findall(r"model.dropout .*?rate = ([\d.e+-]+)", text)
    expect_equal([round(float(rate), 6) for rate in dropouts], [0.1, 0.25, 0.5], "rates")
    expect_equal(len(set(re.findall(r"model.dropout .*?key = (\d+)", text))), 3, "keys")
    # The first two are of the value itself, the third one of ones.
    expect_equal(text.count("model.compare"), 1, "masks that are compared")
    data = SCRATCH / "dropout-data.safetensors"
    data.write_bytes((STABLEHLO / "stop-gradient" / "inputs.0.safetensors").read_bytes())
    losses = [train(Plan(model, []).check(), "--init", STABLEHLO / "dropout" / "model.safetensors", "--seed", seed, steps=1, data=data).loss for seed in (1, 2)]
    expect(losses[0] != losses[1], f"the losses of two seeds are equal: {losses}")


@test
def recurrent():
    """A scan over time is a loop of StableHLO."""
    expect("stablehlo.while" in (STABLEHLO / "recurrent" / "model.mlir").read_text(), "no loop")
    check_model("recurrent")


@test
def convolution():
    check_model("convolution")


main()
