"""Parity of a sharded run with one rank: losses of several steps, and every parameter after one step of SGD with a learning rate of 1, at
PyTorch's tolerances of f32.

One rank with as many micro-batches as there are ranks takes the same rows. After that step the difference of a parameter is the
difference of its gradient.
"""

from sluice import Plan, expect, expect_equal, tensors, train

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
ONE = ["optimizer.name=sgd", "optimizer.lr=1"]
RELATIVE, ABSOLUTE = 1.3e-6, 1e-5


def close(found, wanted):
    return len(found) == len(wanted) and all(abs(a - b) <= ABSOLUTE + RELATIVE * abs(b) for a, b in zip(found, wanted))


def same_gradients(found, wanted, what):
    """Of two runs of one step by ONE."""
    expect(close(found.loss, wanted.loss), f"{what}: loss, expected {wanted.loss} but got {found.loss}")
    a, b = tensors(found.weights), tensors(wanted.weights)
    expect_equal(sorted(a), sorted(b), f"{what}: parameters")
    for name in a:
        worst = max(range(len(a[name])), key=lambda i: abs(a[name][i] - b[name][i]))
        expect(close(a[name], b[name]), f"{what}: '{name}', expected {b[name][worst]} but got {a[name][worst]} after one step")


def parity(model, mesh, ranks, recipes, steps=10, microbatches=1, options=(), extra=()):
    """`extra` also applies to the run of one rank."""
    extra = list(extra)
    alone = [f"gradient.microbatches={ranks * microbatches}"] + extra
    one = train(Plan(model, alone + ONE), *options, steps=1)
    losses = train(Plan(model, alone + ADAM), *options, steps=steps).loss if steps else None
    for recipe in recipes:
        settings = mesh + extra + ([f"gradient.microbatches={microbatches}"] if microbatches > 1 else []) + recipe
        same_gradients(train(Plan(model, settings + ONE), *options, steps=1), one, f"{model.stem}, {settings}")
        if steps:
            found = train(Plan(model, settings + ADAM), *options, steps=steps).loss
            expect(close(found, losses), f"{model.stem}, {settings}: losses, expected {losses} but got {found}")
