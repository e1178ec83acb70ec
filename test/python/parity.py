"""Parity of a sharded run with data parallelism on the same ranks and with one rank, at PyTorch's tolerances of f32.

Data parallelism, PyTorch's reference, is the strategy `no_shard`: losses, parameters and gradients are compared after every step. Adam's first state is
the running mean of gradients, m' = 0.9 m + 0.1 g: two runs whose means agree after every step had the same gradients in every step. A gradient's
tolerance is ten times that of its mean.

One rank with as many micro-batches as there are ranks takes the same rows: losses of every step, and gradients of the first, because rounding errors
of later steps depend on the order of sums.
"""

import struct

from checkpoint import Steps, train_with_states
from sluice import Plan, expect, expect_equal, tensors, train

ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
ONE = ["optimizer.name=sgd", "optimizer.lr=1"]
RELATIVE, ABSOLUTE = 1.3e-6, 1e-5


def close(found, wanted, absolute=ABSOLUTE):
    return len(found) == len(wanted) and all([abs(a - b) <= absolute + RELATIVE * abs(b) for a, b in zip(found, wanted)])


def same_gradients(found, wanted, what):
    """Of two runs of one step by ONE."""
    expect(close(found.loss, wanted.loss), f"{what}: loss, expected {wanted.loss} but got {found.loss}")
    a, b = tensors(found.weights), tensors(wanted.weights)
    expect_equal(sorted(a), sorted(b), f"{what}: parameters")
    for name in a:
        worst = max(range(len(a[name])), key=lambda i: abs(a[name][i] - b[name][i]))
        expect(close(a[name], b[name]), f"{what}: '{name}', expected {b[name][worst]} but got {a[name][worst]} after one step")


def same_states(found, wanted, what):
    """Losses of every step; parameters and running means of gradients after every step."""
    expect(close(found.loss, wanted.loss), f"{what}: losses, expected {wanted.loss} but got {found.loss}")
    expect_equal(len(found.states), len(wanted.states), f"{what}: steps")
    for step, (a, b) in enumerate(zip(found.states, wanted.states), 1):
        if not expect_equal(sorted(a), sorted(b), f"{what}, step {step}: tensors"):
            return
        for name in a:
            if a[name] == b[name] or name.endswith(".exp_avg_sq"):
                continue
            x, y = (struct.unpack(f"<{len(each[name]) // 4}f", each[name]) for each in (a, b))
            absolute = ABSOLUTE / 10 if name.endswith(".exp_avg") else ABSOLUTE
            if not close(x, y, absolute):
                worst = max(range(len(x)), key=lambda i: abs(x[i] - y[i]) - RELATIVE * abs(y[i]))
                expect(False, f"{what}, step {step}: '{name}' [{worst}], expected {y[worst]} but got {x[worst]}")
                return


def parity(model, mesh, ranks, recipes, steps=10, microbatches=1, options=(), extra=(), data="random:3"):
    """`ranks` is the number of ranks with different rows. `extra` also applies to the other runs. Where the ranks divide a product, as along a tensor
    axis, its sums have another order, and no gradient of the data may be a rounding error: Adam's step has the size of the learning rate for any."""
    extra = list(extra)

    def run_of(settings, batches):
        return train_with_states(Plan(model, settings + extra + ([f"gradient.microbatches={batches}"] if batches > 1 else []) + ADAM), *options,
                                 steps=steps, data=data)

    one = run_of([], ranks * microbatches)
    wanted = run_of([f"mesh.shard={ranks}", "sharding.strategy=no_shard"], microbatches) if ranks > 1 else one
    for recipe in recipes:
        found, what = run_of(mesh + recipe, microbatches), f"{model.stem}, {mesh + extra + recipe}"
        same_states(found, wanted, what)
        expect(close(found.loss, one.loss), f"{what}: losses, expected those of one rank {one.loss} but got {found.loss}")
        gradients = [Steps(each.loss[:1], [{name: state for name, state in each.states[0].items() if name.endswith(".exp_avg")}]) for each in (found, one)]
        expect(gradients[0].states[0], f"{what}: expected running means of gradients")
        same_states(*gradients, f"{what}, against one rank")
