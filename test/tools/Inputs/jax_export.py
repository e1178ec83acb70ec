"""jax_export.py ROOT: tests of tools/python/sluice/jax.py in the current folder; needs JAX."""

import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools" / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import sluice.jax  # noqa: E402

PARAMS, X = {"w": jnp.ones((4, 8))}, jnp.ones((2, 4))


def expect(condition, what):
    if not condition:
        sys.exit(f"{inspect.stack()[1].lineno}: {what}")


def refused(loss, text, *inputs, params=PARAMS, path="refused.mlir"):
    try:
        sluice.jax.export(loss, params, *(inputs or (X,)), path=path)
    except ValueError as error:
        expect(text in str(error), f"expected '{text}' but got '{error}'")
        expect(not pathlib.Path("refused.mlir").exists(), "a file was written")
        return str(error)
    sys.exit(f"{inspect.stack()[1].lineno}: '{text}' was accepted")


@jax.custom_vjp
def own_vjp(x):
    return 2 * x


own_vjp.defvjp(lambda x: (own_vjp(x), None), lambda _, g: (100 * g,))


@jax.custom_jvp
def relu(x):
    """A function of the user with the name of one of JAX."""
    return 2 * x


relu.defjvp(lambda primals, tangents: (relu(primals[0]), 100 * tangents[0]))


def line_of(text):
    return next(i for i, line in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if text in line)


def refusals():
    message = refused(lambda p, x: own_vjp(x @ p["w"]).mean(), "'own_vjp' has a custom derivative (jax.custom_vjp), which Sluice does not read; write the function without it")
    expect(message.startswith(f"{__file__}:{line_of('message = refused')}: "), f"the line in '{message}'")
    refused(lambda p, x: relu(x @ p["w"]).mean(), "'relu' has a custom derivative (jax.custom_jvp)")
    nested = lambda p, x: jax.lax.scan(lambda c, _: (jax.checkpoint(own_vjp)(c), None), x @ p["w"], length=3)[0].mean()
    refused(nested, "'own_vjp' has a custom derivative")
    refused(lambda p, x, key: (x @ p["w"] + jax.random.normal(key, (2, 8))).mean(), "random numbers other than those of jax.random.bernoulli", X, jax.random.key(0))
    refused(lambda p, x, key: jnp.where(jax.random.bernoulli(key, x[0, 0], (2, 8)), x @ p["w"], 0).mean(), "the probability of jax.random.bernoulli depends on data", X, jax.random.key(0))
    refused(lambda p, x, key: jnp.where(jax.random.bernoulli(key, np.full(8, 0.5, np.float32), (2, 8)), x @ p["w"], 0).mean(), f"{__file__}:{line_of('np.full(8, 0.5, np.float32)')}: the probability of jax.random.bernoulli is an array; give it a number", X, jax.random.key(0))
    refused(lambda p, x: x @ p["w"], "no output is the loss")
    value = lambda p, x: (x @ p["w"]).mean()
    refused(lambda p, x: ({"other": value(p, x), "loss": value(p, x)}, value(p, x)), "no output is the loss")
    refused(lambda p, x: (None, value(p, x)), "no output is the loss")
    refused(lambda p, x: (value(p, x), {"y": x}, {"y": x}), "'y' is the name of several outputs")
    refused(lambda p, x: (x @ p["w"]["b"]).mean(), "'w.b' is the name of several parameters", params={"w": {"b": PARAMS["w"]}, "w.b": PARAMS["w"]})
    refused(lambda p, w: (w @ p["w"]).mean(), "'w' is the name of several parameters and inputs")
    refused(lambda p, x: (x @ p["w"]).mean(), "the text cannot have the name of the weights", path="refused.safetensors")


def functions_of_other_packages():
    """Functions with the names of those of JAX, in folders with names that begin like that of JAX, and in a file `random_layers.py`."""
    folder = pathlib.Path(jax.__file__).parent
    relu_text = "import jax\n@jax.custom_jvp\ndef relu(x):\n    return 2 * x\nrelu.defjvp(lambda p, t: (relu(p[0]), 100 * t[0]))\n"
    space = {}
    exec(compile(relu_text, f"{folder}opt/loss.py", "exec"), space)
    refused(lambda p, x: space["relu"](x @ p["w"]).mean(), "'relu' has a custom derivative (jax.custom_jvp)")
    exec(compile("import jax\n@jax.jit\ndef _bernoulli(x, p):\n    return x > p\n", "/my/random_layers.py", "exec"), space)
    exported = sluice.jax.export(lambda p, x: jnp.where(space["_bernoulli"](x @ p["w"], 0.5), x @ p["w"], 0).mean(), PARAMS, X, path="other.mlir")
    expect("sluice.bernoulli" not in exported.text.read_text(), "a function of the user became random numbers")


def keys():
    """Old and new keys, which are no inputs."""
    loss = lambda p, x, key: jnp.where(jax.random.bernoulli(jax.random.fold_in(key, 1), 0.9, (2, 8)), (x @ p["w"]) / 0.9, 0).mean()
    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        exported = sluice.jax.export(loss, PARAMS, X, key, path="keys.mlir")
        text = exported.text.read_text()
        expect(exported.inputs == ["x"] and "sluice.bernoulli" in text and "ui32" not in text, f"{exported.inputs}")


def layers():
    """Stacks that a scan alone reads are split, with and without a common path; others stay."""
    params = {"h": {"a": {"w": jnp.arange(48.0).reshape(3, 4, 4)}, "b": jnp.ones((3, 4))}, "stack": jnp.ones((2, 4, 4)), "both": jnp.ones((2, 4)), "unused": jnp.ones(7)}

    def loss(p, x):
        x, _ = jax.lax.scan(lambda x, h: (jnp.tanh(x @ h["a"]["w"] + h["b"]), None), x, p["h"])
        x, ys = jax.lax.scan(lambda x, w: (x @ w[0] + w[1], x.sum()), x, (p["stack"], p["both"]), reverse=True)
        return x.mean() + p["both"].sum() + ys.sum()

    exported = sluice.jax.export(loss, params, X, path="layers.mlir")
    expect(sorted(exported.layers.values()) == [["h.0.a.w", "h.1.a.w", "h.2.a.w"], ["h.0.b", "h.1.b", "h.2.b"], ["layers.0.stack", "layers.1.stack"]], f"{exported.layers}")
    expect("both" in exported.parameters and "unused" not in exported.parameters, f"{exported.parameters}")
    text = exported.text.read_text()
    expect("/h.2/" in text and "/layers.1/" in text and "stablehlo.while" not in text, "scopes of the layers")
    restored = sluice.jax.restore(params, exported.weights, exported)
    same = jax.tree.map(lambda a, b: bool((a == b).all()) and a.dtype == b.dtype, params, restored)
    expect(all(jax.tree.leaves(same)), f"{same}")


def two_stacks():
    """Two scans of one body are two runs of layers."""
    step = lambda x, w: (jnp.tanh(x @ w), None)
    params = {"encoder": {"w": jnp.ones((2, 4, 4))}, "decoder": {"w": jnp.ones((2, 4, 4))}}
    exported = sluice.jax.export(lambda p, x: jax.lax.scan(step, jax.lax.scan(step, x, p["encoder"]["w"])[0], p["decoder"]["w"])[0].mean(), params, X, path="stacks.mlir")
    expect(sorted(exported.parameters) == ["decoder.0.w", "decoder.1.w", "encoder.0.w", "encoder.1.w"], f"{exported.parameters}")
    text = exported.text.read_text()
    expect("/encoder.1/" in text and "/decoder.1/" in text, "scopes of the layers")


def stacks_without_paths():
    """Each has a separate path, which no other parameter has; so have the two calls of one jitted function."""
    step = lambda x, w: (jnp.tanh(x @ w), None)
    run = jax.jit(lambda x, stack: jax.lax.scan(step, x, stack)[0])
    params = {"enc": jnp.ones((2, 4, 4)), "dec": jnp.ones((2, 4, 4)), "layers3": [jnp.ones((4, 4))]}
    for call in (run, lambda x, stack: jax.lax.scan(step, x, stack)[0]):
        exported = sluice.jax.export(lambda p, x: (call(call(x, p["enc"]), p["dec"]) @ p["layers3"][0]).mean(), params, X, path="paths.mlir")
        expect(exported.layers == {"enc": ["layers.0.enc", "layers.1.enc"], "dec": ["layers2.0.dec", "layers2.1.dec"]}, f"{exported.layers}")
        text = exported.text.read_text()
        expect(all(f"/{scope}/" in text for scope in ("layers.0", "layers.1", "layers2.0", "layers2.1")), "scopes of the layers")
    params = {"enc": jnp.ones((2, 4, 4)), "layers": [jnp.ones((4, 4))]}
    exported = sluice.jax.export(lambda p, x: (run(x, p["enc"]) @ p["layers"][0]).mean(), params, X, path="paths.mlir")
    expect(exported.layers == {"enc": ["layers2.0.enc", "layers2.1.enc"]}, f"{exported.layers}")
    # A call whose stack has another reader is a loop, the other one is layers.
    params = {"enc": jnp.ones((2, 4, 4)), "dec": jnp.ones((2, 4, 4))}
    exported = sluice.jax.export(lambda p, x: run(run(x, p["enc"]), p["dec"]).mean() + p["dec"].sum(), params, X, path="paths.mlir")
    expect(exported.layers == {"enc": ["layers.0.enc", "layers.1.enc"]}, f"{exported.layers}")


def restored_weights():
    """A layer that the loss does not read keeps its values; a file of another model is an error."""
    params = {"h": {"w": jnp.arange(48.0).reshape(3, 4, 4)}, "unused": jnp.ones(7)}

    def loss(p, x):
        step = lambda pair, w: ((pair[1], jnp.tanh(pair[1] @ w)), None)
        return jax.lax.scan(step, (x, x), p["h"]["w"])[0][0].mean()

    exported = sluice.jax.export(loss, params, X, path="restored.mlir")
    expect(sorted(exported.parameters) == ["h.0.w", "h.1.w"], f"{exported.parameters}")
    saved = {name: np.full((4, 4), 7 + i, np.float32) for i, name in enumerate(exported.parameters)}
    sluice.jax._write_safetensors("trained.safetensors", saved)
    restored = sluice.jax.restore(params, "trained.safetensors", exported)
    expect([float(layer[0, 0]) for layer in restored["h"]["w"]] == [7, 8, 32] and restored["unused"].shape == (7,), f"{restored}")
    for tensors, text in (({"h.0.w": saved["h.0.w"]}, "wrong.safetensors: missing 'h.1.w', a parameter of restored.mlir; use the weights that a plan of this model saved"),
                          (dict(saved, **{"h.1.w": saved["h.1.w"][:2]}), "wrong.safetensors: expected the shape (4, 4) of 'h.1.w' but got (2, 4)")):
        sluice.jax._write_safetensors("wrong.safetensors", tensors)
        try:
            sluice.jax.restore(params, "wrong.safetensors", exported)
        except ValueError as error:
            expect(text in str(error), f"expected '{text}' but got '{error}'")
        else:
            sys.exit(f"'{text}' was accepted")


def shapes_alone():
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), PARAMS)
    exported = sluice.jax.export(lambda p, x: {"loss": (x @ p["w"]).mean(), "logits": x @ p["w"]}, shapes, jax.ShapeDtypeStruct((2, 4), jnp.float32), path="shapes.mlir")
    expect(exported.weights is None and not pathlib.Path("shapes.safetensors").exists(), "weights without values")
    expect(sorted(exported.outputs) == ["logits", "loss"], f"{exported.outputs}")


MARKERS = {
    "sluice.relu": jax.nn.relu,
    "sluice.cumsum": lambda x, axis: jnp.cumsum(x, axis),
    "sluice.argmax": lambda x, axis: jnp.argmax(x, axis),
    "sluice.stop_gradient": jax.lax.stop_gradient,
}


def values_are_kept():
    """The function that is written has the value of the one that was given. The markers, which JAX cannot run, are computed by the functions that they stand for."""
    params = {"w": jnp.linspace(-1, 1, 32).reshape(4, 8), "stack": jnp.linspace(0, 1, 48).reshape(3, 4, 4)}
    x = jnp.linspace(-2, 3, 8).reshape(2, 4)

    def loss(p, x):
        x, _ = jax.lax.scan(lambda x, w: (jnp.tanh(x @ w) + x, None), x, p["stack"], reverse=True)
        y = jax.nn.relu(x @ p["w"] - 0.3) + jax.nn.softplus(x[:, :1]) + jax.lax.stop_gradient(x[:, 1:2])
        y = jax.lax.cond(x.sum() > 0, lambda y: y + jnp.cumsum(y, -1) + jax.lax.cumsum(y, 1, reverse=True), lambda y: y, y) + jnp.argmax(x, -1)[:, None]
        y, ys = jax.lax.scan(lambda y, i: (y * 1.1 + i, y.sum()), y, jnp.arange(3.0), reverse=True)
        return jax.lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, state[1] * 2), (0, y))[1].mean() + ys @ jnp.arange(3.0)

    exported = sluice.jax.export(loss, params, x, path="values.mlir")
    text = exported.text.read_text()
    for marker in MARKERS:
        expect(marker in text, f"'{marker}' is missing")
    stored = sluice.jax._read_safetensors(exported.weights)
    expect(all((stored[f"layers.{i}.stack"] == params["stack"][i]).all() for i in range(3)) and (stored["w"] == params["w"]).all(), "weights")
    found, marker, write = [], sluice.jax._marker, sluice.jax._write_text
    sluice.jax._marker = lambda name, x, shape=None, dtype=None, **attributes: jnp.asarray(MARKERS[name](x, **{key: int(value) for key, value in attributes.items()}), dtype or x.dtype)
    sluice.jax._write_text = lambda path, jaxpr, consts, types, names, outputs: found.append(jax.core.eval_jaxpr(jaxpr, consts, *[x if name == "x" else stored[name] for _, name in names]))
    sluice.jax.export(loss, params, x, path="values.mlir")
    sluice.jax._marker, sluice.jax._write_text = marker, write
    wanted = float(loss(params, x))
    expect(abs(float(found[0][0]) - wanted) < 1e-5 * abs(wanted), f"expected the value {wanted} but got {found}")


for test in (refusals, functions_of_other_packages, keys, layers, two_stacks, stacks_without_paths, restored_weights, shapes_alone, values_are_kept):
    test()
