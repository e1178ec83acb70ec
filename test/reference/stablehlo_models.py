"""Writes stablehlo/NAME: functions of JAX as sluice.jax.export writes them, with losses, gradients and parameters after AdamW in f64.

usage: python test/reference/stablehlo_models.py [NAME...]       (JAX 0.10.2)

The files are those of export/NAME, with `model.mlir` and `model.safetensors` instead of `model.pt2`. The f64 reference is the same function of JAX on
parameters and inputs in f64.
"""

import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/python"))
import sluice.jax  # noqa: E402

ROWS, LENGTH, WIDTH, HEADS, WORDS, LAYERS = 4, 8, 16, 4, 32, 3
OPTIMIZER = {"name": "adamw", "lr": 0.001, "betas": [0.9, 0.95], "eps": 1e-08, "weight_decay": 0.1}
STEPS, BATCHES = 2, 3


class Numbers:
    """Arrays of f32 in a fixed order."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def floats(self, *shape, scale=0.3):
        return np.asarray(self.generator.normal(size=shape) * scale, np.float32)

    def integers(self, limit, *shape):
        return np.asarray(self.generator.integers(0, limit, shape), np.int32)


def mlp(numbers):
    """Layers as a list, without scopes: the names of the parameters tell the blocks."""
    sizes = [6, 16, 16, 5]
    params = {"layers": [{"w": numbers.floats(a, b), "b": numbers.floats(b)} for a, b in zip(sizes, sizes[1:])], "scale": np.ones(6, np.float32)}

    def loss(params, x, target):
        x = x * params["scale"]
        for i, layer in enumerate(params["layers"]):
            x = x @ layer["w"] + layer["b"]
            x = jax.nn.relu(x) if i < 2 else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), target[:, None], axis=-1).mean()

    return loss, params, lambda: (numbers.floats(ROWS, 6, scale=1), numbers.integers(5, ROWS))


def norm(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gain


def transformer(numbers):
    """Layers by jax.lax.scan, a tied head, and the loss of optax."""
    stacked = lambda *shape: numbers.floats(LAYERS, *shape)
    ones = lambda *shape: np.ones(shape, np.float32)
    params = {"emb": numbers.floats(WORDS, WIDTH), "pos": numbers.floats(LENGTH, WIDTH), "norm": ones(WIDTH),
              "h": {"norm1": ones(LAYERS, WIDTH), "norm2": ones(LAYERS, WIDTH), "attn": {name: stacked(WIDTH, WIDTH) for name in ("q", "k", "v", "o")},
                    "mlp": {"up": stacked(WIDTH, 4 * WIDTH), "bias": stacked(4 * WIDTH), "down": stacked(4 * WIDTH, WIDTH)}}}

    def layer(x, p):
        h = norm(x, p["norm1"])
        q, k, v = [(h @ p["attn"][name]).reshape(ROWS, LENGTH, HEADS, WIDTH // HEADS) for name in "qkv"]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS)**0.5
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape)
        x = x + mixed @ p["attn"]["o"]
        h = jax.nn.gelu(norm(x, p["norm2"]) @ p["mlp"]["up"] + p["mlp"]["bias"])
        return x + h @ p["mlp"]["down"], None

    def loss(params, tokens, targets):
        x, _ = jax.lax.scan(layer, params["emb"][tokens] + params["pos"], params["h"])
        logits = norm(x, params["norm"]) @ params["emb"].T
        labels = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        return {"loss": (jax.nn.logsumexp(logits, axis=-1) - labels).mean(), "logits": logits}

    return loss, params, lambda: (numbers.integers(WORDS, ROWS, LENGTH), numbers.integers(WORDS, ROWS, LENGTH))


def stop_gradient(numbers):
    """A target whose network is also trained by another part of the loss: without the stop the gradients differ."""
    params = {"online": numbers.floats(6, 8), "target": numbers.floats(6, 8), "head": numbers.floats(8, 1)}

    def loss(params, x):
        online, target = jnp.tanh(x @ params["online"]), jnp.tanh(x @ params["target"])
        return jnp.mean((online - jax.lax.stop_gradient(target))**2) + 0.1 * jnp.mean((target @ params["head"])**2) + 0.01 * jnp.mean(
            jnp.sum(online, axis=-1) * jax.lax.stop_gradient(jnp.sum(online, axis=-1)))

    return loss, params, lambda: (numbers.floats(ROWS, 6, scale=1),)


def recurrent(numbers):
    """A scan over time, which is a loop in StableHLO, and a layer norm in primitives."""
    params = {"input": numbers.floats(5, 8), "state": numbers.floats(8, 8), "bias": numbers.floats(8), "gain": np.ones(8, np.float32), "shift": numbers.floats(8),
              "out": numbers.floats(8, 3)}

    def loss(params, x, y):

        def step(h, x):
            h = jax.nn.sigmoid(x @ params["input"] + params["bias"]) * jnp.tanh(h @ params["state"]) + 0.5 * h
            return h, h

        _, states = jax.lax.scan(step, jnp.ones((ROWS, 8), x.dtype), jnp.swapaxes(x, 0, 1))
        states = jnp.swapaxes(states, 0, 1)
        mean = states.mean(-1, keepdims=True)
        variance = states.var(-1, keepdims=True)
        states = (states - mean) * jax.lax.rsqrt(variance + 1e-5) * params["gain"] + params["shift"]
        return jnp.mean(jnp.abs(states @ params["out"] - y))

    return loss, params, lambda: (numbers.floats(ROWS, 6, 5, scale=1), numbers.floats(ROWS, 6, 3, scale=1))


def convolution(numbers):
    """Images in JAX's layout, with padding SAME and strides, dilation and groups."""
    params = {"first": numbers.floats(3, 3, 2, 8), "second": numbers.floats(3, 3, 4, 8), "bias": numbers.floats(8), "head": numbers.floats(8, 3)}

    def convolve(x, w, **settings):
        return jax.lax.conv_general_dilated(x, w, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **settings)

    def loss(params, image, target):
        x = jax.nn.silu(convolve(image, params["first"], window_strides=(2, 2)) + params["bias"])
        x = jax.nn.gelu(convolve(x, params["second"], window_strides=(1, 1), rhs_dilation=(2, 2), feature_group_count=2), approximate=False)
        x = jnp.clip(x.mean((1, 2)), -0.5, 0.5) @ params["head"]
        labels = jax.nn.one_hot(target, 3)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(x) * labels, axis=-1))

    return loss, params, lambda: (numbers.floats(ROWS, 8, 8, 2, scale=1), numbers.integers(3, ROWS))


MODELS = {"mlp": mlp, "transformer": transformer, "stop-gradient": stop_gradient, "recurrent": recurrent, "convolution": convolution}


def dropout(numbers):
    """Masks by jax.random.bernoulli, as Flax and user code write them; a third mask does not scale the kept elements."""
    params = {"w": numbers.floats(6, 8), "head": numbers.floats(8, 1)}

    def loss(params, x, key):
        first, second, third = jax.random.split(key, 3)
        x = jnp.tanh(x @ params["w"])
        x = jax.lax.select(jax.random.bernoulli(first, 0.9, x.shape), x / 0.9, jnp.zeros_like(x))
        x = jnp.where(jax.random.bernoulli(second, 0.75, x.shape), x / 0.75, 0)
        x = x * jax.random.bernoulli(third, 0.5, x.shape)
        return jnp.mean((x @ params["head"])**2)

    return loss, params, lambda: (numbers.floats(ROWS, 6, scale=1), jax.random.key(0))


def masks(numbers):
    """Dropout in other spellings, and one mask for all steps of a scan. The mean over all masks of each value is the value without masks, apart from the two functions that are not linear."""
    params = {"w": numbers.floats(6, 8), "u": numbers.floats(8, 8), "head": numbers.floats(8, 1)}
    draw = lambda key, p, x: jax.random.bernoulli(key, p, x.shape)
    spellings = [
        lambda key, x: x * draw(key, 0.9, x) / 0.9,
        lambda key, x: jnp.where(draw(key, 0.25, x), 0, x / 0.75),
        lambda key, x: jnp.where(~draw(key, 0.25, x), x, 0) / 0.75,
        lambda key, x: jnp.where(jax.random.bernoulli(key, 0.5, (ROWS, 1)), x / 0.5, 0),
        lambda key, x: jnp.where(draw(key, 0.5, x), 1.0, 3.0) * x / 2,
    ]

    def network(params, x, functions, step):
        x = jnp.tanh(x @ params["w"])
        for function in functions:
            x = function(x)
        x, _ = jax.lax.scan(lambda x, _: (jnp.tanh(step(x) @ params["u"]), None), x, length=3)
        return jnp.mean((x @ params["head"])**2)

    def loss(params, x, key):
        keys = jax.random.split(key, len(spellings) + 1)
        mask = jax.random.bernoulli(keys[-1], 0.8, (ROWS, 8))
        functions = [lambda x, key=key, function=function: function(key, x) for key, function in zip(keys, spellings)]
        return network(params, x, functions, lambda x: jnp.where(mask, x / 0.8, 0))

    loss.evaluation = lambda params, x, key: network(params, x, [], lambda x: x)
    return loss, params, lambda: (numbers.floats(ROWS, 6, scale=1), jax.random.key(0))


# The random numbers are those of Sluice. Of a function with `evaluation`, the loss of the first batch without them.
STRUCTURES = {"dropout": dropout, "masks": masks}


def write_text(folder, loss, params, inputs):
    """The export, with the places of ops without the path of the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    exported = sluice.jax.export(loss, params, *inputs, path=folder / "model.mlir")
    exported.text.write_text(exported.text.read_text().replace(str(HERE) + "/", ""))
    return exported


def write_structure(name):
    folder = HERE / "stablehlo" / name
    loss, params, batch = STRUCTURES[name](Numbers(len(name)))
    inputs = batch()
    exported = write_text(folder, loss, params, inputs)
    if hasattr(loss, "evaluation"):
        sluice.jax._write_safetensors(folder / "inputs.0.safetensors", dict(zip(exported.inputs, inputs)))
        (folder / "expected.json").write_text(json.dumps({"evaluation": float(loss.evaluation(params, *inputs)), "versions": {"jax": jax.__version__}}) + "\n")


def shifts(numbers):
    """log(sum(exp)), softmax and log_softmax with a maximum whose gradient is stopped in one of its two uses: they are not those of jax.nn."""
    params = {"first": numbers.floats(6, 5), "second": numbers.floats(6, 5), "third": numbers.floats(6, 5), "last": numbers.floats(6, 5)}

    def loss(params, x):
        stop = jax.lax.stop_gradient
        a, b, c, d = (x @ params[name] for name in ("first", "second", "third", "last"))
        most = lambda y: y.max(-1, keepdims=True)
        sum_of = lambda y: jnp.exp(y).sum(-1, keepdims=True)
        lse = a.max(-1) + jnp.log(jnp.exp(a - stop(most(a))).sum(-1))
        softmax = jnp.exp(b - most(b)) / sum_of(b - stop(most(b)))
        logs = (c - stop(most(c))) - jnp.log(sum_of(c - most(c)))
        # A choice that is no guard against infinity.
        bound = jnp.where(most(d) < 1, most(d), 0)
        guarded = most(d) + jnp.log(sum_of(d - bound))
        weights = jnp.arange(5.0, dtype=x.dtype)
        return jnp.mean(lse**2) + jnp.mean((softmax * weights)**2) + jnp.mean((logs * weights)**2) + jnp.mean(guarded**2)

    return loss, params, lambda: (numbers.floats(ROWS, 6, scale=1),)


def conventions(numbers):
    """Parameters at the points where a derivative is a convention: 0 of relu, equal operands of maximum, bounds of clip."""
    values = lambda *given: np.asarray(given, np.float32)
    params = {"a": values(-1, 0, 1, 0, 2, -1, 1, 0), "b": values(-1, 0, 0, 1, 2, -2, 1, 0), "rows": values([1, 1, 0], [2, -1, 2], [0, 0, 0])}
    functions = [lambda a, b: jax.nn.relu(a), jnp.maximum, jnp.minimum, lambda a, b: jnp.clip(a, -1, 1), lambda a, b: jax.lax.clamp(-1.0, b, 1.0), jnp.logaddexp,
                 lambda a, b: jax.nn.softplus(a), lambda a, b: jnp.where(a > b, a, b), lambda a, b: jnp.minimum(jax.nn.relu(a), 2)]

    def loss(params, x):
        terms = [function(params["a"], params["b"]) for function in functions]
        parts = [params["rows"].max(-1), params["rows"].min(-1), params["rows"].max(0)]
        return sum(jnp.mean(x[:, i] @ term) for i, term in enumerate(terms)) + sum(jnp.mean(x[:, i, :3] @ part) for i, part in enumerate(parts))

    return loss, params, lambda: (numbers.floats(ROWS, len(functions), 8, scale=1),)


# The loss and the gradients of the first batch alone.
GRADIENTS = {"shifts": shifts, "conventions": conventions}


def write_gradients(name):
    folder = HERE / "stablehlo" / name
    loss, params, batch = GRADIENTS[name](Numbers(len(name)))
    inputs = batch()
    exported = write_text(folder, loss, params, inputs)
    sluice.jax._write_safetensors(folder / "inputs.0.safetensors", dict(zip(exported.inputs, inputs)))
    with jax.enable_x64(True):
        value, gradients = jax.value_and_grad(loss)(wide(params), *wide(inputs))
    sluice.jax._write_safetensors(folder / "expected.safetensors", {f"grad.{key}": np.asarray(each) for key, each in flat(gradients, {}).items()})
    (folder / "expected.json").write_text(json.dumps({"loss": float(value), "versions": {"jax": jax.__version__}}) + "\n")


def scalar(loss):
    return lambda params, *inputs: (lambda result: result["loss"] if isinstance(result, dict) else result)(loss(params, *inputs))


def wide(tree):
    return jax.tree.map(lambda x: np.asarray(x, np.float64) if np.issubdtype(x.dtype, np.floating) else x, tree)


def train(loss, params, batches, count):
    """Losses of `count` steps, gradients of each step, and the parameters after STEPS."""
    gradient = jax.jit(jax.value_and_grad(scalar(loss)))
    first, second = jax.tree.map(np.zeros_like, params), jax.tree.map(np.zeros_like, params)
    (b1, b2), rate = OPTIMIZER["betas"], OPTIMIZER["lr"]
    losses, gradients, after = [], [], None
    for step in range(1, count + 1):
        value, g = gradient(params, *batches[step - 1])
        g = jax.tree.map(np.asarray, g)
        losses.append(float(value))
        gradients.append(g)
        first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, first, g)
        second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, second, g)
        update = lambda p, m, v: p - rate * OPTIMIZER["weight_decay"] * p - rate * (m / (1 - b1**step)) / (np.sqrt(v / (1 - b2**step)) + OPTIMIZER["eps"])
        params = jax.tree.map(lambda p, m, v: np.asarray(update(p, m, v), p.dtype), params, first, second)
        after = params if step == STEPS else after
    return losses, gradients, after


def flat(tree, layers):
    """By the names of the model: stacked arrays are one for each layer."""
    found = {}
    for keys, value in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = sluice.jax._join(keys)
        found.update(zip(layers[name], value) if name in layers else [(name, value)])
    return found


def write(name):
    folder = HERE / "stablehlo" / name
    loss, params, batch = MODELS[name](Numbers(len(name)))
    batches = [batch() for _ in range(BATCHES)]
    exported = write_text(folder, loss, params, batches[0])
    for i, inputs in enumerate(batches):
        sluice.jax._write_safetensors(folder / f"inputs.{i}.safetensors", dict(zip(exported.inputs, inputs)))
    with jax.enable_x64(True):
        losses, gradients, after = train(loss, wide(params), [wide(inputs) for inputs in batches], BATCHES)
        initial = [float(scalar(loss)(wide(params), *wide(inputs))) for inputs in batches]
    losses32, gradients32, _ = train(loss, params, batches, BATCHES)
    wanted = {key: value for key, value in flat(gradients[0], exported.layers).items() if key in exported.parameters}
    found = flat(gradients32[0], exported.layers)
    parameters = flat(after, exported.layers)
    # An update of AdamW has the sign of a gradient, which is noise where the gradient is a rounding error.
    noise = {key: np.zeros(value.shape, bool) for key, value in wanted.items()}
    for exact in gradients[:STEPS]:
        for key, value in flat(exact, exported.layers).items():
            if key in noise:
                noise[key] |= (value != 0) & (np.abs(value) < 1e-5 * np.abs(value).max())
    tensors = {f"grad.{key}": value for key, value in wanted.items()}
    tensors.update({f"adamw.{key}": parameters[key] for key in wanted})
    tensors.update({f"adamw_noise.{key}": marks.astype(np.uint8) for key, marks in noise.items() if marks.any()})
    sluice.jax._write_safetensors(folder / "expected.safetensors", tensors)
    description = {
        "model": name,
        "losses": losses,
        "initial_losses": initial,
        "loss_spread": [abs(a - b) for a, b in zip(losses, losses32)],
        "optimizer": OPTIMIZER,
        "adamw_steps": STEPS,
        "parameters": {key: list(value.shape) for key, value in wanted.items()},
        "buffers": {},
        "ties": {},
        "frozen": [],
        "grad_error_f32": {key: float(np.abs(found[key] - value).max()) for key, value in wanted.items()},
        "versions": {"jax": jax.__version__},
    }
    (folder / "expected.json").write_text("{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in description.items()) + "\n}\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or [*MODELS, *STRUCTURES, *GRADIENTS]:
        (write if each in MODELS else write_structure if each in STRUCTURES else write_gradients)(each)
