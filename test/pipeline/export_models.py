"""Archives of torch.export: losses, gradients and updated weights are those that PyTorch computed (test/reference/README.md says how they match)."""

from archives import *
from reference_training import *
from sluice import *

EXPORT = REFERENCE / "export"


@functools.cache
def imported(name, *options):
    """The model and the file of its weights."""
    path = SCRATCH / f"{name}-{next(numbers)}.mlir"
    run("sluice-import", "export", EXPORT / name / "model.pt2", "-o", path, "--weights", path.with_suffix(".safetensors"), *options)
    return path


@functools.cache
def data_of(name):
    return data_of_batches(EXPORT / name)


def check_model(name):
    model = imported(name)
    check_training(EXPORT / name, model, model.with_suffix(".safetensors"))


def expect_same_start(name, archive, data):
    """Runs from the archive and from its extracted weights are equal, on one rank and on two."""
    model = SCRATCH / f"{name}-start.mlir"
    run("sluice-import", "export", archive, "-o", model, "--weights", model.with_suffix(".safetensors"))
    for settings in ([], ["mesh.shard=2"]):
        plan = Plan(model, settings).check()
        found, wanted = (train(plan, "--init", init, "--order", "sequential", data=data) for init in (archive, model.with_suffix(".safetensors")))
        expect_same_bits(found, wanted, f"{name}, {settings}: from the archive")


@test
def weights_in_the_archive():
    """With a tied parameter, with buffers, and with states."""
    for name in ("gpt2", "nanogpt-manual", "ema-target"):
        expect_same_start(name, EXPORT / name / "model.pt2", data_of(name))


@test
def weights_with_strides_and_offsets():
    """A transposed parameter, and two parameters at offsets of one storage."""
    archive = Archive()
    x = archive.input("x", [4, 6])
    transposed = archive.parameter("transposed", [6, 8], strides=[{"as_int": 1}, {"as_int": 6}])
    first = archive.parameter("first", [8, 8], [0.02 * (i % 13) - 0.1 for i in range(72)], payload="both")
    second = archive.parameter("second", [8], payload="both", storage_offset={"as_int": 64})
    y = archive.op("matmul.default", [4, 8], self=x, other=transposed)
    y = archive.op("linear.default", [4, 8], input=y, weight=first, bias=second)
    y = archive.op("mul.Tensor", [4, 8], self=y, other=y)
    archive.output(archive.op("mean.default", [], self=y))
    expect_same_start("strides", archive.save(SCRATCH / "strides.pt2"), "random:3")


@test
def bert():
    check_model("bert")


@test
def complex_rope():
    """Rotary positions as products of complex numbers, and keys and values that are repeated for the heads that share them."""
    check_model("complex-rope")
    path = imported("complex-rope", "--json")
    found = json.loads(run("sluice-import", "export", EXPORT / "complex-rope" / "model.pt2", "-o", path, "--json").stdout)
    expect_equal({key: found["composites"][key] for key in ("rope", "attention, causal")}, {"rope": 4, "attention, causal": 2}, "composites")
    text = path.read_text()
    # Those of queries and keys, before the rotation.
    expect_equal(text.count("model.transpose"), 4, "transposes")
    expect("model.broadcast" not in text, "keys or values are repeated")


@test
def dict_output():
    check_model("dict-output")


@test
def ema_target():
    check_model("ema-target")


@test
def gpt2():
    check_model("gpt2")


@test
def llama():
    check_model("llama")


@test
def lstm_tagger():
    check_model("lstm-tagger")


@test
def nanogpt():
    check_model("nanogpt")


@test
def nanogpt_manual():
    check_model("nanogpt-manual")


@test
def resnet18():
    check_model("resnet18")


@test
def shared_layer():
    check_model("shared-layer")


@test
def t5():
    check_model("t5")


@test
def transposes_of_images():
    """torch has channels first: one transpose for each input and output of images."""
    for name, wanted in (("resnet18", 1), ("unet", 2), ("vit", 1)):
        expect_equal(imported(name).read_text().count("model.transpose"), wanted, f"{name}: transposes")


@test
def two_losses():
    check_model("two-losses")


@test
def two_tower():
    check_model("two-tower")


@test
def unet():
    check_model("unet")


@test
def vit():
    check_model("vit")


@test
def weight_norm():
    check_model("weight-norm")


main()
