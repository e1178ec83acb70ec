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


def refusals():
    message = refused(lambda p, x: own_vjp(x @ p["w"]).mean(), "'own_vjp' has a derivative of its own (jax.custom_vjp), which Sluice does not read; write the function without it")
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "message = refused" in text)
    expect(message.startswith(f"{__file__}:{line}: "), f"the line in '{message}'")
    refused(lambda p, x: relu(x @ p["w"]).mean(), "'relu' has a derivative of its own (jax.custom_jvp)")
    nested = lambda p, x: jax.lax.scan(lambda c, _: (jax.checkpoint(own_vjp)(c), None), x @ p["w"], length=3)[0].mean()
    refused(nested, "'own_vjp' has a derivative of its own")
    refused(lambda p, x, key: (x @ p["w"] + jax.random.normal(key, (2, 8))).mean(), "random numbers other than those of jax.random.bernoulli", X, jax.random.key(0))
    refused(lambda p, x, key: jnp.where(jax.random.bernoulli(key, x[0, 0], (2, 8)), x @ p["w"], 0).mean(), "the probability of jax.random.bernoulli depends on data", X, jax.random.key(0))
    refused(lambda p, x: x @ p["w"], "no output is the loss")
    refused(lambda p, x: (x @ p["w"]["b"]).mean(), "'w.b' is the name of several parameters", params={"w": {"b": PARAMS["w"]}, "w.b": PARAMS["w"]})
    refused(lambda p, w: (w @ p["w"]).mean(), "'w' is the name of several parameters and inputs")
    refused(lambda p, x: (x @ p["w"]).mean(), "the text cannot have the name of the weights", path="refused.safetensors")


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


def shapes_alone():
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), PARAMS)
    exported = sluice.jax.export(lambda p, x: {"loss": (x @ p["w"]).mean(), "logits": x @ p["w"]}, shapes, jax.ShapeDtypeStruct((2, 4), jnp.float32), path="shapes.mlir")
    expect(exported.weights is None and not pathlib.Path("shapes.safetensors").exists(), "weights without values")
    expect(sorted(exported.outputs) == ["logits", "loss"], f"{exported.outputs}")


def values_are_kept():
    """The function that is written has the value of the one that was given."""
    def loss(p, x):
        y = jax.nn.relu(x @ p["w"] - 3) + jax.nn.softplus(x[:, :1])
        y = jax.lax.cond(x.sum() > 0, lambda y: y + jnp.cumsum(y, -1), lambda y: y, y) + jnp.argmax(x, -1)[:, None]
        return jax.lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, state[1] * 2), (0, y))[1].mean()

    exported = sluice.jax.export(loss, PARAMS, X, path="values.mlir")
    text = exported.text.read_text()
    for marker in ("sluice.relu", "sluice.cumsum", "sluice.argmax"):
        expect(marker in text, f"'{marker}' is missing")
    expect(np.asarray(sluice.jax._read_safetensors(exported.weights)["w"]).shape == (4, 8), "weights")


for test in (refusals, keys, layers, two_stacks, shapes_alone, values_are_kept):
    test()
