"""Training of an imported model against the numbers of the framework that it is from: losses, gradients, and parameters after AdamW (test/reference/README.md)."""

from sluice import *

# A step of SGD with a rate of a power of two gives gradients with almost no rounding.
RATE = 1024.0


def data_of_batches(folder):
    """The three batches of a folder, one after another."""
    path = SCRATCH / f"{folder.name}-data.safetensors"
    path.write_bytes(join_batches([folder / f"inputs.{i}.safetensors" for i in range(3)]))
    return path


def adamw(given):
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


def tensors_of_bytes(weights):
    """As tensors(), with masks of bytes."""
    header, data = split_safetensors(weights)
    masks = {name: tuple(data[slice(*entry["data_offsets"])]) for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "U8"}
    rest = {name: entry for name, entry in header.items() if name not in masks}
    return {**tensors(join_safetensors(rest, data)), **masks}


def check_training(folder, model, weights):
    """A model that starts from a file of weights trains as the reference in the folder."""
    name = folder.name
    reference = json.loads((folder / "expected.json").read_text())
    wanted = tensors_of_bytes((folder / "expected.safetensors").read_bytes())
    data = data_of_batches(folder)
    optimizer = adamw(reference["optimizer"])

    def run_of(settings, steps):
        return train(Plan(model, settings).check(), "--init", weights, "--order", "sequential", steps=steps, data=data)

    frozen, ties, states = set(reference["frozen"]), reference["ties"], set(reference["buffers"])
    start = tensors(weights.read_bytes())
    # The reference has buffers of floats only.
    counts = {key for key in start if key.endswith(".num_batches_tracked")}
    expect_equal(sorted(set(start) - counts), sorted((set(reference["parameters"]) - set(ties)) | states), f"{name}: parameters and states")

    done = run_of(optimizer, 3)
    for step, (loss, target, spread) in enumerate(zip(done.loss, reference["losses"], reference["loss_spread"])):
        expect(abs(loss - target) <= 1e-5 * max(1, abs(target)) + spread, f"{name}: step {step}, expected the loss {target} but got {loss}")

    gradients = tensors(run_of(["optimizer.name=sgd", f"optimizer.lr={RATE}"], 1).weights)
    names = [key for key in start if key not in frozen | states | counts]
    expect(len(names) > 0, f"{name}: no gradients")
    for key in names:
        found = [(a - b) / RATE for a, b in zip(start[key], gradients[key])]
        expect_tensor(found, wanted[f"grad.{key}"], 1e-4, 1e-5, 10 * reference["grad_error_f32"][key], f"{name}: gradient of '{key}'")

    after = tensors(run_of(optimizer, reference["adamw_steps"]).weights)
    noise = {key: wanted.get(f"adamw_noise.{key}", ()) for key in [*names, *states]}
    for key in noise:
        expect_tensor(after[f"rank0.{key}" if key in states else key], wanted[f"adamw.{key}"], 1e-4, 1e-5, 0, f"{name}: '{key}' after AdamW", noise[key])
    for key in counts:
        expect_equal(after[f"rank0.{key}"], (start[key][0] + reference["adamw_steps"],), f"{name}: '{key}'")
    left_out, total = sum(map(sum, noise.values())), sum(len(start[key]) for key in noise)
    expect(left_out < 0.2 * total, f"{name}: {left_out} of {total} elements are noise")
    for key in frozen:
        expect_equal(after[key], start[key], f"{name}: frozen '{key}'")

    two = run_of(["mesh.shard=2", *optimizer], 1).loss[0]
    mean = sum(reference["initial_losses"][:2]) / 2
    expect(abs(two - mean) <= 1e-5 * max(1, abs(mean)), f"{name}: two ranks, expected the loss {mean} but got {two}")
