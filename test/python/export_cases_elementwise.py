"""Further programs of export_cases.py: elementwise ops, and sums."""

from export_cases import *


@case
def sign():
    """Its derivative is zero; the sum has that of x."""
    graph = Case()
    x = graph.scaled(graph.floats("x", [ROWS, 6], [*wave(23), 0.0]), [ROWS, 6])
    return graph.loss(graph.op("add.Tensor", [ROWS, 6], self=x, other=graph.op("sign.default", [ROWS, 6], self=x)), [ROWS, 6])


@case
def mish():
    return one("mish.default", [ROWS, 6], [ROWS, 6])


@case
def log_sigmoid():
    return one("log_sigmoid.default", [ROWS, 6], [ROWS, 6])


@case
def glu():
    return one("glu.default", [ROWS, 4, 3], [ROWS, 2, 3], dim=1)


def parametric(sizes, weights):
    graph = Case()
    x = graph.scaled(graph.floats("x", sizes), sizes)
    return graph.loss(graph.op("prelu.default", sizes, self=x, weight=graph.weight("slope", [weights], 3.0)), sizes)


@case
def prelu():
    return parametric([ROWS, 3, 5], 1)


@case
def prelu_by_channel():
    return parametric([ROWS, 3, 5], 3)


def of_three(op, sizes, names, **arguments):
    graph = Case()
    x = graph.scaled(graph.floats("x", sizes), sizes)
    others = {name: graph.weight(name, sizes[1:], float(i)) for i, name in enumerate(names)}
    return graph.loss(graph.op(op, sizes, self=x, **others, **arguments), sizes)


@case
def addcmul():
    return of_three("addcmul.default", [ROWS, 6], ("tensor1", "tensor2"), value=0.5)


@case
def lerp_by_a_number():
    return of_three("lerp.Scalar", [ROWS, 6], ("end",), weight=0.25)


@case
def lerp():
    return of_three("lerp.Tensor", [ROWS, 6], ("end", "weight"))


@case
def broadcast_to():
    return one("broadcast_to.default", [ROWS, 1, 3], [ROWS, 5, 3], size=[ROWS, 5, 3])


@case
def var():
    return one("var.correction", [ROWS, 3, 5], [ROWS, 1, 1], dim=[1, 2], keepdim=True)


@case
def var_without_correction():
    return one("var.dim", [ROWS, 3, 5], [ROWS, 5], dim=[1], unbiased=False)


@case
def var_by_default():
    return one("var.dim", [ROWS, 3, 5], [ROWS, 3], dim=[2])


@case
def std():
    return one("std.correction", [ROWS, 3, 5], [ROWS, 3], dim=[-1], correction=2.0)


@case
def logsumexp():
    return one("logsumexp.default", [ROWS, 3, 5], [ROWS, 5], dim=[1])


@case
def upsample_nearest():
    return one("upsample_nearest2d.vec", [ROWS, 2, 3, 2], [ROWS, 2, 6, 6], operand="input", output_size=None, scale_factors={"as_floats": [2.0, 3.0]})


def nll(**arguments):
    graph = Case()
    x = graph.op("log_softmax.int", [ROWS, 6], self=graph.scaled(graph.floats("x", [ROWS, 6]), [ROWS, 6]), dim=1)
    graph.output(graph.op("nll_loss_nd.default", [], self=x, target=graph.integers("classes", [ROWS], [0, 5, 3, 3]), **arguments))
    return graph


@case
def nll_loss():
    return nll()


@case
def nll_loss_sum():
    return nll(reduction=2)


def contraction(equation, sizes, *others):
    graph = Case()
    first, *rest, result = sizes
    x = graph.scaled(graph.floats("x", first), first)
    weights = [graph.weight(f"w{i}", each, float(i)) for i, each in enumerate(rest)]
    return graph.loss(graph.op("einsum.default", result, equation=equation, tensors=[x, *weights]), result)


@case
def einsum():
    """Attention's scores: a common dim of the result, one that is summed, and one of each operand alone."""
    return contraction("bqhd, khd -> bhqk", ([ROWS, 3, 2, 5], [4, 2, 5], [ROWS, 2, 3, 4]))


@case
def einsum_of_three():
    return contraction("bi,ij,jk->bk", ([ROWS, 3], [3, 2], [2, 5], [ROWS, 5]))


@case
def einsum_of_one():
    return contraction("bij->bj", ([ROWS, 3, 5], [ROWS, 5]))


@case
def einsum_with_sums_of_one_operand():
    return contraction("bij,ik->bk", ([ROWS, 3, 5], [3, 2], [ROWS, 2]))


@case
def einsum_outer():
    return contraction("bi,j->bij", ([ROWS, 3], [5], [ROWS, 3, 5]))


@case
def negated_integers():
    graph = Case()
    x, i = graph.scaled(graph.floats("x", [ROWS, 6]), [ROWS, 6]), graph.integers("i", [ROWS, 6], [j * j % 7 - 3 for j in range(24)])
    factor = graph.op("to.dtype", [ROWS, 6], self=graph.op("neg.default", [ROWS, 6], I64, self=i), dtype={"as_scalar_type": F32})
    return graph.loss(graph.op("mul.Tensor", [ROWS, 6], self=x, other=factor), [ROWS, 6])
