"""Archives of torch.export: losses, gradients and updated weights are those that PyTorch computed (test/reference/README.md says how they match)."""

from archives import *
from sluice import *

EXPORT = REFERENCE / "export"
# A step of SGD with a rate of a power of two gives gradients with almost no rounding.
RATE = 1024.0


@functools.cache
def expected(name):
    return json.loads((EXPORT / name / "expected.json").read_text())


@functools.cache
def imported(name, *options):
    """The model and the file of its weights."""
    path = SCRATCH / f"{name}-{next(numbers)}.mlir"
    run("sluice-import", "export", EXPORT / name / "model.pt2", "-o", path, "--weights", path.with_suffix(".safetensors"), *options)
    return path


@functools.cache
def data_of(name):
    """The three batches, one after another."""
    path = SCRATCH / f"{name}-data.safetensors"
    path.write_bytes(join_batches([EXPORT / name / f"inputs.{i}.safetensors" for i in range(3)]))
    return path


def run_of(name, settings, steps):
    model = imported(name)
    plan = Plan(model, settings).check()
    return train(plan, "--init", model.with_suffix(".safetensors"), "--order", "sequential", steps=steps, data=data_of(name))


def adamw(name):
    given = expected(name)["optimizer"]
    return ["optimizer.name=adamw", f"optimizer.lr={given['lr']}", f"optimizer.betas={given['betas']}", f"optimizer.eps={given['eps']}",
            f"optimizer.weight_decay={given['weight_decay']}"]


def expect_tensor(found, wanted, element, norm, floor, what, ignored=None):
    """Each element within `element` of its size, plus `norm` of the tensor's norm, plus `floor`."""
    length = math.sqrt(sum(x * x for x in wanted))
    expect_equal(len(found), len(wanted), f"{what}: number of elements")
    for i, (a, b) in enumerate(zip(found, wanted)):
        if ignored and ignored[i]:
            continue
        tolerance = element * abs(b) + norm * length + floor
        if not expect(abs(a - b) <= tolerance, f"{what}: element {i}, expected {b} within {tolerance} but got {a}"):
            return


def check_model(name):
    reference = expected(name)
    wanted = tensors_of_bytes((EXPORT / name / "expected.safetensors").read_bytes())
    frozen, ties, states = set(reference["frozen"]), reference["ties"], set(reference["buffers"])
    start = tensors(imported(name).with_suffix(".safetensors").read_bytes())
    # The reference has buffers of floats only.
    counts = {key for key in start if key.endswith(".num_batches_tracked")}
    expect_equal(sorted(set(start) - counts), sorted((set(reference["parameters"]) - set(ties)) | states), f"{name}: parameters and states")

    done = run_of(name, adamw(name), 3)
    for step, (loss, target, spread) in enumerate(zip(done.loss, reference["losses"], reference["loss_spread"])):
        expect(abs(loss - target) <= 1e-5 * max(1, abs(target)) + spread, f"{name}: step {step}, expected the loss {target} but got {loss}")

    gradients = tensors(run_of(name, ["optimizer.name=sgd", f"optimizer.lr={RATE}"], 1).weights)
    names = [key for key in start if key not in frozen | states | counts]
    expect(len(names) > 0, f"{name}: no gradients")
    for key in names:
        found = [(a - b) / RATE for a, b in zip(start[key], gradients[key])]
        expect_tensor(found, wanted[f"grad.{key}"], 1e-4, 1e-5, 10 * reference["grad_error_f32"][key], f"{name}: gradient of '{key}'")

    after = tensors(run_of(name, adamw(name), reference["adamw_steps"]).weights)
    noise = {key: wanted.get(f"adamw_noise.{key}", ()) for key in [*names, *states]}
    for key in noise:
        expect_tensor(after[f"rank0.{key}" if key in states else key], wanted[f"adamw.{key}"], 1e-4, 1e-5, 0, f"{name}: '{key}' after AdamW", noise[key])
    for key in counts:
        expect_equal(after[f"rank0.{key}"], (start[key][0] + reference["adamw_steps"],), f"{name}: '{key}'")
    left_out, total = sum(map(sum, noise.values())), sum(len(start[key]) for key in noise)
    expect(left_out < 0.2 * total, f"{name}: {left_out} of {total} elements are noise")
    for key in frozen:
        expect_equal(after[key], start[key], f"{name}: frozen '{key}'")

    two = run_of(name, ["mesh.shard=2", *adamw(name)], 1).loss[0]
    mean = sum(reference["initial_losses"][:2]) / 2
    expect(abs(two - mean) <= 1e-5 * max(1, abs(mean)), f"{name}: two ranks, expected the loss {mean} but got {two}")


def tensors_of_bytes(weights):
    """As tensors(), with masks of bytes."""
    header, data = split_safetensors(weights)
    masks = {name: tuple(data[slice(*entry["data_offsets"])]) for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "U8"}
    rest = {name: entry for name, entry in header.items() if name not in masks}
    return {**tensors(join_safetensors(rest, data)), **masks}


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
