"""The samples of PyTorch's OpInfo entries that each op of the model dialect expresses: one rule for each entry.

A rule takes the entry's function and one sample. It returns a Case, or raises LeftOut with the reason why the op does
not express the sample. Operands have the op's layout: channels, and dims of a softmax, are last; tokens precede heads.
"""

import math

import torch

TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float64: "f64", torch.int32: "i32", torch.uint8: "ui8"}


class LeftOut(Exception):
    """The reason why the op does not express a sample."""


def need(condition, reason):
    if not condition:
        raise LeftOut(reason)


def element(tensor):
    return TYPES[tensor.dtype]


def statistics(tensor):
    """Row statistics and losses of bf16 are f32."""
    return "f64" if tensor.dtype == torch.float64 else "f32"


def integers(values):
    return "array<i64: " + ", ".join(str(v) for v in values) + ">" if values else "array<i64>"


def tensor_type(shape, name):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + name + ">"


class Case:
    """Operands, lines of the program, the types of the outputs %y0, %y1, ..., and the function that computes them."""

    def __init__(self, operands, lines, outputs, function):
        self.operands, self.lines, self.outputs, self.function = operands, lines, outputs, function

    def types(self):
        return [tensor_type(operand.shape, element(operand)) for operand in self.operands]

    def signature(self):
        return self.types(), self.lines

    def dtype(self, output):
        name = self.outputs[output].rsplit("x", 1)[-1].removeprefix("tensor<").removesuffix(">")
        return next((dtype for dtype, known in TYPES.items() if known == name), torch.int64)

    def is_float(self, output):
        return self.dtype(output).is_floating_point


def one(op, operands, function, attributes="", outputs=None, names=None, extra=()):
    """A case of one op. `outputs` defaults to the element type of the first operand; `extra` are the types of further
    results, which are not outputs."""
    case = Case(operands, [], outputs, function)
    with torch.no_grad():
        results = as_list(function(*[wide(operand) for operand in operands]))
    case.outputs = [tensor_type(r.shape, e) for r, e in zip(results, outputs or [element(operands[0])] * len(results))]
    values = [f"%y{i}" for i in range(len(results))] + [f"%z{i}" for i in range(len(extra))]
    types = case.outputs + list(extra)
    result = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
    names = names or ", ".join(f"%x{i}" for i in range(len(operands)))
    case.lines = [f"{', '.join(values)} = model.{op} {names}{' {' + attributes + '}' if attributes else ''} : "
                  f"({', '.join(case.types())}) -> {result}"]
    return case


def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor.long() if tensor.dtype == torch.int32 else \
        tensor.bool() if tensor.dtype == torch.uint8 else tensor


def index(tensor):
    need(tensor.dtype in (torch.int32, torch.int64), "indices of another type")
    return tensor.to(torch.int32)


def dims_of(dim, rank):
    listed = range(rank) if dim is None or dim == [] or dim == () else [dim] if isinstance(dim, int) else dim
    return sorted({d % rank for d in listed}) if rank else []


def pair(value, default=None):
    if value is None or value == []:
        value = default
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    return value * 2 if len(value) == 1 else value


# The rules whose results have one element for each element of the input.
ELEMENTWISE = set()


def unary(op):
    def rule(function, sample):
        return one(op, [sample.input], lambda x: function(x, *sample.args, **sample.kwargs))
    ELEMENTWISE.add(rule)
    return rule


def binary(op):
    def rule(function, sample):
        need(not sample.kwargs, "alpha")
        return one(op, [sample.input, sample.args[0]], function)
    return rule


def gelu(function, sample):
    form = sample.kwargs.get("approximate", "none")
    return one("gelu", [sample.input], lambda x: function(x, approximate=form),
               f"approximate = #model.approximation<{form}>")


def silu(function, sample):
    need(torch.isfinite(sample.input).all(), "infinities, for which PyTorch multiplies 0 by infinity")
    return one("silu", [sample.input], function)


def softplus(function, sample):
    # softplus(x) = -logsigmoid(-x)
    return one("softplus", [-sample.input], lambda x: -function(-x))


def square(function, sample):
    return one("power", [sample.input], function, "exponent = 2.0 : f64")


def reciprocal(function, sample):
    return one("power", [sample.input], function, "exponent = -1.0 : f64")


def power(function, sample):
    exponent = sample.args[0]
    need(all(isinstance(operand, torch.Tensor) for operand in (sample.input, exponent)), "a number as operand")
    need(exponent.dtype == sample.input.dtype, "operands of two types")
    need(exponent.dim() == 0, "an exponent for each element")
    return one("power", [sample.input], lambda x: function(x, exponent.double()),
               f"exponent = {exponent.item():.17e} : f64")


ELEMENTWISE |= {gelu, silu, softplus, square, reciprocal, power}


def scale(function, sample):
    factor = sample.args[0]
    need(factor.dim() == 0, "a factor for each element")
    return one("scale", [sample.input], lambda x: function(x, factor.double()), f"factor = {factor.item():.17e} : f64")


def compare(predicate):
    def rule(function, sample):
        return one("compare", [sample.input, sample.args[0]], function, f"predicate = #model.predicate<{predicate}>",
                   ["ui8"])
    return rule


def select(function, sample):
    condition, other = sample.args
    return one("select", [condition.to(torch.uint8), sample.input, other], lambda c, x, y: function(x, c, y),
               outputs=[element(sample.input)])


def cast(name):
    def rule(function, sample):
        need(sample.kwargs.get("memory_format", torch.contiguous_format) == torch.contiguous_format, "a memory format")
        result = function(sample.input)
        need(result.dtype != sample.input.dtype, "no conversion")
        # The result is rounded to its own type; the derivative is that of the identity.
        return one("cast", [sample.input], lambda x: x + (result.double() - x).detach(), outputs=[name])
    return rule


def softmax(function, sample):
    need(sample.input.dim() > 0, "a scalar")
    x = sample.input.movedim(sample.args[0], -1)
    return one("softmax", [x], lambda x: function(x, -1))


def logsumexp(function, sample):
    x, dims = sample.input, dims_of(sample.args[0], sample.input.dim())
    need(x.dim() > 0, "a scalar")
    kept = [d for d in range(x.dim()) if d not in dims]
    rows = x.permute(kept + dims).reshape([x.shape[d] for d in kept] + [-1])
    return one("logsumexp", [rows], lambda x: function(x, [-1]))


def reduction(op):
    def rule(function, sample):
        x, keep = sample.input, sample.kwargs.get("keepdim", False)
        need(x.dim() > 0, "a scalar")
        dims = dims_of(sample.kwargs.get("dim"), x.dim())
        return one(op, [x], lambda x: function(x, dim=dims, keepdim=keep),
                   f"dims = {integers(dims)}" + (", keep" if keep else ""))
    return rule


def argmax(function, sample):
    x, dim = sample.input, sample.kwargs.get("dim", 0 if sample.input.dim() == 1 else None)
    need(x.dim() > 0, "a scalar")
    need(dim is not None, "the index in the flattened tensor")
    return one("argmax", [x], lambda x: function(x, dim=dim), f"dim = {dim % x.dim()} : i64", ["i64"])


def take_along(function, sample):
    x, dim, indices = sample.input, *(sample.args if isinstance(sample.args[0], int) else
                                      (*reversed(sample.args), None)[-3:][:2])
    need(x.dim() > 0, "a scalar")
    return take_along_at(x, dim, index(indices), lambda x, i: function(x, dim, i))


def take_along_dim(function, sample):
    need(len(sample.args) == 2, "the index in the flattened tensor")
    indices, dim = sample.args
    x = sample.input
    need(all(i <= n for d, (i, n) in enumerate(zip(indices.shape, x.shape)) if d != dim) and
         all(i == n for d, (i, n) in enumerate(zip(indices.shape, x.shape)) if d != dim), "indices that broadcast")
    return take_along_at(x, dim, index(indices), lambda x, i: function(x, i, dim))


def take_along_at(x, dim, indices, function):
    need(indices.min() >= 0, "negative indices")
    return one("take_along", [x, indices], function, f"dim = {dim % x.dim()} : i64")


def add_along(function, sample):
    dim, indices, source = sample.args
    zeros = torch.zeros(sample.input.shape, dtype=torch.float64)
    need(zeros.dim() > 0, "a scalar")
    # The source's elements without an index are not read.
    source = source[tuple(slice(extent) for extent in indices.shape)].contiguous()
    return one("add_along", [source, index(indices)], lambda u, i: function(zeros, dim, i, u),
               f"dim = {dim % zeros.dim()} : i64")


def scatter_add(function, sample):
    dim, indices, source = sample.args
    need(sample.input.dim() > 0, "a scalar")
    need(sample.kwargs.get("alpha", 1) != 0, "alpha 0")
    # The op adds to zeros, along dim 0; alpha is a factor of the source.
    zeros = torch.zeros(sample.input.movedim(dim, 0).shape, dtype=torch.float64)
    source = source.movedim(dim, 0) * sample.kwargs.get("alpha", 1)
    return one("scatter_add", [source, index(indices)], lambda u, i: function(zeros, 0, i, u))


def gather(function, sample):
    dim, indices = sample.args
    need(sample.input.dim() > 0, "a scalar")
    return one("gather", [sample.input.movedim(dim, 0), index(indices)], lambda x, i: function(x, 0, i))


def embedding(function, sample):
    indices, padding = sample.args[0], sample.kwargs.get("padding_idx")
    need(not set(sample.kwargs) - {"padding_idx"}, "max_norm, scale_grad_by_freq or sparse")
    attributes = "" if padding is None else f"padding = {padding % sample.input.shape[0]} : i64"
    return one("embedding", [sample.input, index(indices)], lambda w, i: function(w, i, padding_idx=padding),
               attributes)


def loss_attributes(kwargs):
    reduction = kwargs.get("reduction", "mean")
    need(reduction != "none", "a loss for each row")
    need(kwargs.get("weight") is None, "weights of classes")
    text = f"reduction = #model.reduction<{reduction}>"
    if "ignore_index" in kwargs:
        text += f", ignore_index = {kwargs['ignore_index']} : i64"
    if kwargs.get("label_smoothing", 0) != 0:
        text += f", label_smoothing = {kwargs['label_smoothing']} : f64"
    return text


def cross_entropy(function, sample):
    x, targets, attributes = sample.input, sample.args[0], loss_attributes(sample.kwargs)
    need(not targets.is_floating_point(), "probabilities of classes")
    return one("cross_entropy", [x.movedim(1, -1), index(targets)],
               lambda x, t: function(x.movedim(-1, 1), t, **sample.kwargs), attributes, [statistics(x)],
               extra=[tensor_type(targets.shape, statistics(x))])


def linear_cross_entropy(function, sample):
    x, (weight, targets), kwargs = sample.input, sample.args, dict(sample.kwargs)
    options = kwargs.pop("options", None)
    need(kwargs.get("linear_bias") is None, "a bias")
    attributes = loss_attributes(kwargs)
    need(not targets.is_floating_point(), "probabilities of classes")
    need(x.dim() == 2 and weight.dim() == 2, "a weight of several dims")
    rows = options.batch_chunk_size if options is not None and options.batch_chunk_size else x.shape[0]
    need(isinstance(rows, int) and rows > 0, "a chunk of no fixed size")
    return one("linear_cross_entropy", [x, weight, index(targets)], lambda x, w, t: function(x, w, t, **kwargs),
               f"{attributes}, rows = {rows} : i64", [statistics(x)], extra=[tensor_type(targets.shape, statistics(x))])


def matmul(function, sample):
    x, other = sample.input, sample.args[0]
    need(x.dim() > 1 and other.dim() > 1, "a vector")
    return one("matmul", [x, other], function)


def linear(function, sample):
    x, weight = sample.input, sample.args[0]
    bias = list(sample.args[1:])
    need(x.dim() > 1 and weight.dim() > 1, "a vector")
    return one("matmul", [x, weight, *bias], function, "transpose_rhs",
               names="%x0, %x1 bias(%x2)" if bias else "%x0, %x1")


def layer_norm(function, sample):
    norm_shape, weight, bias = (*sample.args, None, None)[:3]
    need(weight is not None, "no weight")
    need(weight.numel() > 1, "rows of one element")
    shape = sample.input.shape[:-len(norm_shape)]
    row = statistics(sample.input)
    eps = sample.kwargs.get("eps", 1e-5)
    return one("layer_norm", [sample.input.reshape([*shape, -1]), weight.reshape(-1), bias.reshape(-1)],
               lambda x, w, b: function(x, [w.numel()], w, b, eps=eps), f"epsilon = {eps:.17e} : f64",
               [element(sample.input)], extra=[tensor_type(shape, row)] * 2)


def rms_norm(function, sample):
    norm_shape, weight = (*sample.args, None)[:2]
    need(weight is not None, "no weight")
    need("eps" in sample.kwargs, "an epsilon that is the rounding of the type")
    shape = sample.input.shape[:-len(norm_shape)]
    return one("rms_norm", [sample.input.reshape([*shape, -1]), weight.reshape(-1)],
               lambda x, w: function(x, [w.numel()], w, eps=sample.kwargs["eps"]),
               f"epsilon = {sample.kwargs['eps']:.17e} : f64", [element(sample.input)],
               extra=[tensor_type(shape, statistics(sample.input))])


def batch_norm(function, sample):
    weight, bias = sample.args[2:4]
    need(sample.kwargs.get("training", False), "no training: the op computes the statistics")
    need(weight is not None, "no weight")
    eps = sample.kwargs.get("eps", 1e-5)
    row = tensor_type(weight.shape, statistics(weight))
    return one("batch_norm", [sample.input.movedim(1, -1), weight, bias],
               lambda x, w, b: function(x.movedim(-1, 1), None, None, w, b, training=True, eps=eps).movedim(1, -1),
               f"epsilon = {eps:.17e} : f64", [element(weight)], extra=[row, row])


def conv2d(function, sample):
    x, weight, bias = sample.input, *sample.args
    need(x.dim() == 4, "no dim of images")
    kwargs = sample.kwargs
    stride, dilation = pair(kwargs.get("stride", 1)), pair(kwargs.get("dilation", 1))
    padding = kwargs.get("padding", 0)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        need(all(t % 2 == 0 for t in total), "different padding before and after")
        padding = [t // 2 for t in total]
    padding = pair(0 if padding == "valid" else padding)
    attributes = (f"stride = {integers(stride)}, padding = {integers(padding)}, dilation = {integers(dilation)}, "
                  f"groups = {kwargs.get('groups', 1)} : i64")
    return one("conv2d", [x.permute(0, 2, 3, 1), weight] + ([] if bias is None else [bias]),
               lambda x, w, b=None: function(x.permute(0, 3, 1, 2), w, b, **kwargs).permute(0, 2, 3, 1), attributes)


def window(x, kernel, stride, padding):
    need(x.dim() == 4, "no dim of images")
    kernel, padding = pair(kernel), pair(padding)
    stride = pair(stride, kernel)
    text = f"kernel = {integers(kernel)}, stride = {integers(stride)}, padding = {integers(padding)}"
    return text, [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(x.shape[2:], padding, kernel, stride)]


def pool(op, x, attributes, extents, function):
    case = one(op, [x.permute(0, 2, 3, 1)], lambda x: function(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), attributes)
    need(case.outputs[0].startswith(f"tensor<{x.shape[0]}x{extents[0]}x{extents[1]}x"), "a last, incomplete window")
    return case


def max_pool2d(function, sample):
    kwargs = sample.kwargs
    need(pair(kwargs.get("dilation", 1)) == [1, 1], "dilation")
    need(not kwargs.get("return_indices"), "indices of maxima")
    attributes, extents = window(sample.input, kwargs["kernel_size"], kwargs.get("stride"), kwargs.get("padding", 0))
    return pool("max_pool2d", sample.input, attributes, extents, lambda x: function(x, **kwargs))


def avg_pool2d(function, sample):
    kernel, stride, padding, _, counted, divisor = (*sample.args, *(None, 0, False, True, None)[len(sample.args) - 1:])
    need(divisor is None, "a given divisor")
    attributes, extents = window(sample.input, kernel, stride, padding)
    return pool("avg_pool2d", sample.input, attributes + ("" if counted else ", without_padding"), extents,
                lambda x: function(x, *sample.args))


def adaptive_avg_pool2d(function, sample):
    x = sample.input
    need(x.dim() == 4, "no dim of images")
    extents = [n if o is None else o for o, n in zip(pair(sample.args[0]), x.shape[2:])]
    return pool("adaptive_avg_pool2d", x, f"output = {integers(extents)}", extents,
                lambda x: function(x, sample.args[0]))


def attention(function, sample):
    q, (k, v), kwargs = sample.input, sample.args, dict(sample.kwargs)
    need(kwargs.get("dropout_p", 0.0) == 0.0, "dropout: other random numbers")
    need(kwargs.get("attn_mask") is None, "a mask")
    need(q.dim() == k.dim(), "a query that broadcasts")
    causal = kwargs.get("is_causal", False)
    if causal:
        # PyTorch's causal mask is aligned to the first key, so T queries read only the first T keys.
        k, v = k[..., :q.shape[-2], :], v[..., :q.shape[-2], :]
    # [B, H, T, D], or [H, T, D], to [B, T, H, D].
    inward = lambda x: (x if x.dim() == 4 else x[None]).permute(0, 2, 1, 3)
    outward = lambda x: x.permute(0, 2, 1, 3)
    q, k, v = inward(q), inward(k), inward(v)
    gqa = kwargs.get("enable_gqa", False)
    scale = 1 / math.sqrt(q.shape[-1])
    return one("attention", [q, k, v],
               lambda q, k, v: inward(function(outward(q), outward(k), outward(v), is_causal=causal, enable_gqa=gqa)),
               f"scale = {scale:.17e} : f64" + (", causal" if causal else ""), [element(q)],
               extra=[tensor_type([q.shape[0], q.shape[2], q.shape[1]], statistics(q))])


def view(op, attributes=lambda sample: ""):
    def rule(function, sample):
        return one(op, [sample.input], lambda x: function(x, *sample.args, **sample.kwargs), attributes(sample))
    return rule


def permute(sample):
    return "permutation = " + integers([d % sample.input.dim() for d in sample.args[0]])


def transpose(sample):
    need(sample.input.dim() > 0, "a scalar")
    order = list(range(sample.input.dim()))
    a, b = sample.args
    order[a], order[b] = order[b], order[a]
    return "permutation = " + integers(order)


def slices(shape, chosen):
    """The attributes of slice; `chosen` has a slice for some dims."""
    spans = [chosen.get(d, slice(None)).indices(n) for d, n in enumerate(shape)]
    return ", ".join(f"{name} = {integers([span[i] for span in spans])}" for i, name in enumerate(("start", "limit",
                                                                                                    "step")))


def slice_rule(sample):
    dim = sample.args[0] if sample.args else sample.kwargs.get("dim", 0)
    kwargs = sample.kwargs
    return slices(sample.input.shape, {dim: slice(kwargs.get("start"), kwargs.get("end"), kwargs.get("step"))})


def narrow(sample):
    dim, start, length = sample.args
    need(isinstance(start, int), "a tensor as start")
    return slices(sample.input.shape, {dim % sample.input.dim(): slice(start, start + length)})


def get_item(sample):
    chosen = sample.args[0] if isinstance(sample.args[0], (tuple, list)) else (sample.args[0],)
    need(all(isinstance(c, slice) for c in chosen), "an index or a list of indices")
    return slices(sample.input.shape, dict(enumerate(chosen)))


def split(function, sample):
    dim = (sample.args[1] if len(sample.args) > 1 else 0) % sample.input.dim()
    return one("split", [sample.input], lambda x: function(x, *sample.args), f"dim = {dim} : i64",
               [element(sample.input)] * len(function(sample.input, *sample.args)))


def concat(function, sample):
    dim = sample.args[0] if sample.args else sample.kwargs.get("dim", 0)
    need(isinstance(dim, int), "dim")
    return one("concat", list(sample.input), lambda *parts: function(parts, dim),
               f"dim = {dim % sample.input[0].dim()} : i64")


def pad(function, sample):
    amounts, value = list(sample.args[0]), sample.args[1] if len(sample.args) > 1 else 0.0
    need(min(amounts) >= 0, "negative padding")
    rank = sample.input.dim()
    amounts += [0] * (2 * rank - len(amounts))
    # The amounts begin with the last dim.
    low, high = amounts[0::2][::-1], amounts[1::2][::-1]
    return one("pad", [sample.input], lambda x: function(x, *sample.args),
               f"low = {integers(low)}, high = {integers(high)}, step = {integers([1] * rank)}, "
               f"value = {value:.17e} : f64")


def constant(function, sample):
    value = sample.args[0]
    name = TYPES[sample.kwargs["dtype"]]
    type = tensor_type(sample.input, name)
    return Case([], [f"%y0 = model.constant {value:.17e} : {type}"], [type],
                lambda: function(sample.input, value, dtype=sample.kwargs["dtype"]).double())


def iota(function, sample):
    values = function(sample.input, *sample.args, **sample.kwargs)
    need(values.dtype in TYPES and values.dtype.is_floating_point, "integers")
    need(torch.equal(values, torch.arange(len(values), dtype=values.dtype)), "another start or step")
    type = tensor_type(values.shape, element(values))
    return Case([], [f"%y0 = model.iota 0 : {type}"], [type], values.double)


def norm(function, sample):
    order = sample.kwargs.get("ord", 2)
    need(sample.kwargs.get("dim") is None and not sample.kwargs.get("keepdim"), "norms along dims")
    need(order >= 1, "an order below 1")
    text = "0x7FF0000000000000" if math.isinf(order) else f"{float(order)}"
    types = tensor_type(sample.input.shape, element(sample.input))
    return Case([sample.input], [f"%z0 = model.power_sum %x0 {{p = {text} : f64}} : ({types}) -> tensor<f32>",
                                 f"%y0 = model.norm_root %z0 {{p = {text} : f64}} : (tensor<f32>) -> tensor<f32>"],
                ["tensor<f32>"], lambda x: function(x, order).detach())


def running_average(function, sample):
    value, weight = sample.args
    need(isinstance(weight, float), "a weight for each element")
    need(value.shape == sample.input.shape, "operands that broadcast")
    return one("running_average", [sample.input, value], lambda x, y: function(x, y, weight).detach(),
               f"momentum = {weight} : f64, factor = 1.0 : f64")


RULES = {
    "add": {"add": binary("add")},
    "subtract": {"sub": binary("subtract")},
    "multiply": {"mul": binary("multiply")},
    "divide": {"div.no_rounding_mode": binary("divide")},
    "maximum": {"maximum": binary("maximum")},
    "negate": {"neg": unary("negate")},
    "exp": {"exp": unary("exp")},
    "log": {"log": unary("log")},
    "tanh": {"tanh": unary("tanh")},
    "sin": {"sin": unary("sin")},
    "cos": {"cos": unary("cos")},
    "erf": {"erf": unary("erf")},
    "sqrt": {"sqrt": unary("sqrt")},
    "rsqrt": {"rsqrt": unary("rsqrt")},
    "relu": {"nn.functional.relu": unary("relu")},
    "sigmoid": {"sigmoid": unary("sigmoid")},
    "softplus": {"nn.functional.logsigmoid": softplus},
    "power": {"pow": power, "square": square, "reciprocal": reciprocal},
    "scale": {"mul": scale},
    "compare": {name: compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "select": {"where": select},
    "cast": {"bfloat16": cast("bf16"), "float": cast("f32"), "double": cast("f64"), "int": cast("i32"),
             "bool": cast("ui8")},
    "gelu": {"nn.functional.gelu": gelu},
    "silu": {"nn.functional.silu": silu},
    "softmax": {"softmax": softmax},
    "logsumexp": {"logsumexp": logsumexp},
    "reduce_sum": {"sum": reduction("reduce_sum")},
    "reduce_mean": {"mean": reduction("reduce_mean")},
    "reduce_max": {"amax": reduction("reduce_max")},
    "argmax": {"argmax": argmax},
    "take_along": {"gather": take_along, "take_along_dim": take_along_dim},
    "add_along": {"scatter_add": add_along},
    "scatter_add": {"index_add": scatter_add},
    "gather": {"index_select": gather},
    "embedding": {"nn.functional.embedding": embedding},
    "cross_entropy": {"nn.functional.cross_entropy": cross_entropy},
    "linear_cross_entropy": {"nn.functional.linear_cross_entropy": linear_cross_entropy,
                             "nn.functional.linear_cross_entropy.chunked": linear_cross_entropy},
    "matmul": {"matmul": matmul, "mm": matmul, "bmm": matmul, "nn.functional.linear": linear},
    "layer_norm": {"nn.functional.layer_norm": layer_norm},
    "rms_norm": {"nn.functional.rms_norm": rms_norm},
    "batch_norm": {"nn.functional.batch_norm": batch_norm},
    "conv2d": {"nn.functional.conv2d": conv2d},
    "max_pool2d": {"nn.functional.max_pool2d": max_pool2d},
    "avg_pool2d": {"nn.functional.avg_pool2d": avg_pool2d},
    "adaptive_avg_pool2d": {"nn.functional.adaptive_avg_pool2d": adaptive_avg_pool2d},
    "attention": {"nn.functional.scaled_dot_product_attention": attention},
    "broadcast": {"broadcast_to": view("broadcast"), "expand": view("broadcast")},
    "reshape": {"reshape": view("reshape")},
    "transpose": {"permute": view("transpose", permute), "transpose": view("transpose", transpose)},
    "slice": {"slice": view("slice", slice_rule), "narrow": view("slice", narrow),
              "__getitem__": view("slice", get_item)},
    "split": {"split": split, "split.list_args": split, "split_with_sizes": split},
    "concat": {"cat": concat},
    "pad": {"constant_pad_nd": pad},
    "constant": {"full": constant},
    "iota": {"arange": iota},
    "norm_root": {"linalg.vector_norm": norm},
    "running_average": {"lerp": running_average},
}

NO_SAMPLES = {
    "swiglu": "no entry", "matmul_gelu": "no entry", "rope": "no entry", "clip_coefficient": "no entry",
    "count_up": "no entry", "adam": "no entry", "adamw": "no entry", "sgd": "no entry",
    "power_sum": "with norm_root",
    "all_finite": "not expressible: its operands are scalars (isfinite)",
    "dropout": "not expressible: other random numbers (nn.functional.dropout)",
    "random_normal": "not expressible: other random numbers (normal)",
    "random_uniform": "not expressible: other random numbers (uniform)",
    **{op: "not expressible: no entry has several ranks" for op in ("all_gather", "all_reduce", "reduce_scatter")},
    **{op + "_grad": f"as the derivative of {op}" for op in (
        "adaptive_avg_pool2d", "attention", "avg_pool2d", "batch_norm", "cross_entropy", "embedding", "gelu",
        "layer_norm", "linear_cross_entropy", "max_pool2d", "relu", "rms_norm", "silu", "softmax")},
    "conv2d_input_grad": "as the derivative of conv2d", "conv2d_weight_grad": "as the derivative of conv2d",
    "swiglu_grad": "no entry", "matmul_gelu_grad": "no entry",
    **{op: "computes nothing" for op in ("parameter", "read", "write", "block", "checkpoint", "recompute", "stop_gradient", "yield",
                                         "gradient", "step_mean")},
}
