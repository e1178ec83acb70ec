"""Programs of one or a few ops of ATen each, as archives without torch. Their losses and gradients are in test/reference/export-ops.json, from PyTorch."""

import math
import struct

from archives import *

ROWS = 4
# 1, with which torch's enumeration begins, is the mean.
MEAN = 1


def wave(count, first=0.0, size=1.0):
    """Numbers without pattern, all different."""
    return [size * math.sin(first + 1.7 * i + 0.3 * i * i) for i in range(count)]


def ties(count):
    """Numbers of a few values."""
    return [float(i * i % 3) - 1 for i in range(count)]


class Case(Archive):
    """An archive with the values of its inputs."""

    def __init__(self):
        super().__init__()
        self.data = {}

    def floats(self, name, sizes, values=None):
        count = math.prod(sizes)
        self.data[name] = ("F32", sizes, values or wave(count))
        return self.input(name, sizes)

    def integers(self, name, sizes, values):
        self.data[name] = ("I64", sizes, values)
        return self.input(name, sizes, I64)

    def weight(self, name, sizes, first=1.0, size=0.5, values=None):
        return self.parameter(name, sizes, values or wave(math.prod(sizes), first, size))

    def scaled(self, x, sizes, name="s"):
        """x times a parameter of its size: x has a gradient that a test sees."""
        return self.op("mul.Tensor", sizes, self=x, other=self.weight(name, sizes[1:], first=2.0))

    def loss(self, y, sizes):
        """The mean of y^2 c, with c different for each element."""
        square = self.op("mul.Tensor", sizes, self=y, other=y)
        ramp = self.op("view.default", sizes, self=self.op("arange.start_step", [math.prod(sizes)], start=1.0, end=1.0 + 0.5 * math.prod(sizes), step=0.5), size=sizes)
        self.output(self.op("mean.default", [], self=self.op("mul.Tensor", sizes, self=square, other=ramp)))
        return self

    def file(self):
        header, data = {}, b""
        for name, (kind, sizes, values) in self.data.items():
            part = struct.pack(f"<{len(values)}{'f' if kind == 'F32' else 'q'}", *values)
            header[name] = {"dtype": kind, "shape": sizes, "data_offsets": [len(data), len(data) + len(part)]}
            data += part
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data


CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def on(op, sizes, result, values=None, kind=F32, **arguments):
    """loss(op(x s)): one op on one operand. The name of its operand is `self`, or `operand`."""
    graph = Case()
    x = graph.scaled(graph.floats("x", sizes, values), sizes)
    operand = arguments.pop("operand", "self")
    given = {name: value(graph) if callable(value) else value for name, value in arguments.items()}
    y = graph.op(op, result, kind, **{operand: x}, **given)
    return graph, y


def one(op, sizes, result, values=None, **arguments):
    graph, y = on(op, sizes, result, values, **arguments)
    return graph.loss(y[0] if isinstance(y, list) else y, result[0] if isinstance(y, list) else result)


def weight(sizes, name="w", **settings):
    return lambda graph: graph.weight(name, sizes, **settings)


#
# Convolutions
#

def convolution(op, sizes, kernel, result, **arguments):
    return one(op, sizes, result, operand="input", weight=weight(kernel), bias=weight([arguments.pop("channels", kernel[0])], "b"), **arguments)


@case
def conv1d():
    return convolution("conv1d.default", [ROWS, 6, 9], [4, 3, 3], [ROWS, 4, 4], stride=[2], padding=[1], dilation=[2], groups=2)


@case
def conv1d_same():
    return convolution("conv1d.padding", [ROWS, 3, 7], [4, 3, 4], [ROWS, 4, 7], padding="same")


@case
def conv2d():
    return convolution("conv2d.default", [ROWS, 4, 7, 6], [6, 2, 3, 2], [ROWS, 6, 4, 8], stride=[2, 1], padding=[1, 2], dilation=[1, 2], groups=2)


@case
def conv2d_one_number():
    return convolution("conv2d.default", [ROWS, 2, 5, 7], [3, 2, 3, 3], [ROWS, 3, 3, 4], stride=[2], padding=[1])


@case
def conv2d_same():
    return convolution("conv2d.padding", [ROWS, 2, 5, 7], [3, 2, 4, 3], [ROWS, 3, 5, 7], padding="same", dilation=[1, 2])


@case
def conv2d_valid():
    return convolution("conv2d.padding", [ROWS, 2, 5, 7], [3, 2, 4, 3], [ROWS, 3, 2, 5])


@case
def conv2d_of_one_image():
    graph = Case()
    x = graph.op("select.int", [2, 5, 7], self=graph.floats("x", [ROWS, 2, 5, 7]), dim=0, index=1)
    return graph.loss(graph.op("conv2d.default", [3, 4, 5], input=x, weight=graph.weight("w", [3, 2, 2, 3])), [3, 4, 5])


@case
def conv_transpose1d():
    return convolution("conv_transpose1d.default", [ROWS, 4, 5], [4, 3, 3], [ROWS, 6, 15], channels=6, stride=[3], padding=[1], output_padding=[2], groups=2, dilation=[1])


@case
def conv_transpose2d():
    return convolution("conv_transpose2d.input", [ROWS, 4, 3, 4], [4, 2, 3, 2], [ROWS, 4, 6, 10], channels=4, stride=[2, 3], padding=[1, 2], output_padding=[1, 2], groups=2,
                       dilation=[1, 2])


#
# Ops between two convolutions
#

def between(build, shape=(ROWS, 4, 3, 5)):
    """loss(conv(build(conv(x)))): the operand of `build` has the shape [ROWS, 4, 3, 5], its result `shape`."""
    graph = Case()
    sizes = [ROWS, 4, 3, 5]
    x = graph.floats("x", [ROWS, 2, 3, 5])
    y = build(graph, graph.op("conv2d.default", sizes, input=x, weight=graph.weight("first", [4, 2, 1, 1])))
    result = [shape[0], 3, *shape[2:]]
    return graph.loss(graph.op("conv2d.default", result, input=y, weight=graph.weight("second", [3, shape[1], 1, 1])), result)


IMAGES = [ROWS, 4, 3, 5]


@case
def between_scale_and_shift():
    return between(lambda graph, y: graph.op("add.Tensor", IMAGES, self=graph.op("mul.Tensor", IMAGES, self=y, other=graph.weight("s", [4, 1, 1])), other=graph.weight("b", [1, 1, 3, 5])))


@case
def between_a_sum_with_positions():
    """A parameter of another order of its elements: a transpose of fewer elements."""
    return between(lambda graph, y: graph.op("add.Tensor", IMAGES, self=y, other=graph.weight("p", [4, 3, 5])))


@case
def between_a_gate():
    def gate(graph, y):
        mean = graph.op("mean.dim", [ROWS, 4, 1, 1], self=y, dim=[2, 3], keepdim=True)
        wide = graph.op("expand.default", IMAGES, self=graph.op("sigmoid.default", [ROWS, 4, 1, 1], self=mean), size=IMAGES)
        return graph.op("mul.Tensor", IMAGES, self=wide, other=y)
    return between(gate)


@case
def between_channels():
    """Halves of the channels, joined in another order, and centred."""
    def halves(graph, y):
        a, b = graph.op("chunk.default", [[ROWS, 2, 3, 5]] * 2, self=y, chunks=2, dim=1)
        joined = graph.op("cat.default", [ROWS, 6, 3, 5], tensors=[b, graph.op("relu.default", [ROWS, 2, 3, 5], self=a), a], dim=1)
        mean = graph.op("mean.dim", [ROWS, 1, 3, 5], self=joined, dim=[1], keepdim=True)
        return graph.op("sub.Tensor", [ROWS, 6, 3, 5], self=joined, other=mean)
    return between(halves, [ROWS, 6, 3, 5])


@case
def between_windows():
    """A part of the positions, between others."""
    def window(graph, y):
        part = graph.op("slice.Tensor", [ROWS, 4, 3, 2], self=y, dim=3, start=1, end=4, step=2)
        return graph.op("pad.default", [ROWS, 4, 4, 5], self=part, pad=[1, 2, 1, 0], value=0.5)
    return between(window, [ROWS, 4, 4, 5])


@case
def between_tokens():
    """Positions as one dim and back, with a bias of each channel."""
    def tokens(graph, y):
        flat = graph.op("transpose.int", [ROWS, 15, 4], self=graph.op("flatten.using_ints", [ROWS, 4, 15], self=y, start_dim=2), dim0=1, dim1=2)
        moved = graph.op("add.Tensor", [ROWS, 15, 4], self=flat, other=graph.weight("b", [4]))
        return graph.op("view.default", IMAGES, self=graph.op("transpose.int", [ROWS, 4, 15], self=moved, dim0=1, dim1=2), size=IMAGES)
    return between(tokens)


@case
def between_means_of_rows():
    """A mean over the rows and one over a part of the positions."""
    def means(graph, y):
        row = graph.op("mean.dim", [1, 4, 3, 5], self=y, dim=[0], keepdim=True)
        column = graph.op("mean.dim", [ROWS, 4, 3], self=y, dim=[3])
        spread = graph.op("unsqueeze.default", [ROWS, 4, 3, 1], self=column, dim=3)
        return graph.op("sub.Tensor", IMAGES, self=graph.op("sub.Tensor", IMAGES, self=y, other=row), other=spread)
    return between(means)


@case
def between_a_write():
    def write(graph, y):
        graph.op("relu_.default", [ROWS, 2, 3, 5], self=graph.op("slice.Tensor", [ROWS, 2, 3, 5], self=y, dim=1, start=1, end=3))
        return y
    return between(write)


#
# Pools
#

@case
def max_pool1d():
    return one("max_pool1d.default", [ROWS, 3, 8], [ROWS, 3, 4], kernel_size=[3], stride=[2], padding=[1])


@case
def max_pool2d_with_incomplete_windows():
    return one("max_pool2d.default", [ROWS, 2, 6, 8], [ROWS, 2, 4, 4], kernel_size=[3, 3], stride=[2, 2], padding=[1, 0], ceil_mode=True)


@case
def max_pool2d_of_ties():
    return one("max_pool2d.default", [ROWS, 2, 6, 8], [ROWS, 2, 3, 4], values=ties(ROWS * 2 * 6 * 8), kernel_size=[2, 2])


@case
def avg_pool1d():
    return one("avg_pool1d.default", [ROWS, 3, 8], [ROWS, 3, 4], kernel_size=[3], stride=[2], padding=[1], count_include_pad=False)


@case
def avg_pool2d():
    return one("avg_pool2d.default", [ROWS, 2, 6, 8], [ROWS, 2, 3, 4], kernel_size=[3, 3], stride=[2, 2], padding=[1, 1])


@case
def avg_pool2d_with_divisor():
    return one("avg_pool2d.default", [ROWS, 2, 6, 8], [ROWS, 2, 3, 4], kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], count_include_pad=False, divisor_override=7)


@case
def adaptive_avg_pool1d():
    return one("adaptive_avg_pool1d.default", [ROWS, 3, 8], [ROWS, 3, 3], output_size=[3])


@case
def adaptive_avg_pool2d():
    return one("adaptive_avg_pool2d.default", [ROWS, 2, 5, 7], [ROWS, 2, 2, 3], output_size=[2, 3])


#
# Norms
#

def batch_norm(sizes, training=True, affine=True, running=True):
    graph = Case()
    x = graph.scaled(graph.floats("x", sizes), sizes)
    channels = [sizes[1]]
    given = {"weight": graph.weight("w", channels, size=2.0), "bias": graph.weight("b", channels)} if affine else {"weight": None, "bias": None}
    given |= {"running_mean": graph.buffer("mean", channels, wave(channels[0], 4.0)), "running_var": graph.buffer("var", channels, [1.0 + 0.5 * i for i in range(channels[0])])} if running else {
        "running_mean": None, "running_var": None}
    y = graph.op("batch_norm.default", sizes, input=x, **given, training=training, momentum=0.3, eps=1e-3, cudnn_enabled=True)
    return graph.loss(y, sizes)


@case
def batch_norm_of_vectors():
    return batch_norm([ROWS, 3])


@case
def batch_norm_of_sequences():
    return batch_norm([ROWS, 3, 5], affine=False)


@case
def batch_norm_of_images():
    return batch_norm([ROWS, 3, 2, 4])


@case
def batch_norm_without_running_statistics():
    return batch_norm([ROWS, 3, 2, 4], running=False)


@case
def batch_norm_by_running_statistics():
    return batch_norm([ROWS, 3, 2, 4], training=False)


@case
def group_norm():
    return one("group_norm.default", [ROWS, 6, 2, 3], [ROWS, 6, 2, 3], operand="input", num_groups=3, weight=weight([6], size=2.0), bias=weight([6], "b"))


@case
def group_norm_of_vectors():
    return one("group_norm.default", [ROWS, 6], [ROWS, 6], operand="input", num_groups=2, eps=1e-3)


@case
def instance_norm():
    return one("instance_norm.default", [ROWS, 3, 5], [ROWS, 3, 5], operand="input", weight=weight([3], size=2.0), bias=weight([3], "b"), running_mean=None, running_var=None,
               use_input_stats=True, momentum=0.1, eps=1e-5, cudnn_enabled=True)


#
# Recurrent networks
#

def recurrent(op, gates, layers=1, directions=1, biases=True, projection=0, is_batch_first=True):
    rows, steps, inputs, width = ROWS, 3, 5, 4
    size = projection or width
    graph = Case()
    x = graph.floats("x", [rows, steps, inputs])
    if not is_batch_first:
        x = graph.op("transpose.int", [steps, rows, inputs], self=x, dim0=0, dim1=1)
    parameters = []
    for layer in range(layers):
        for direction in range(directions):
            name, of = f"{layer}.{direction}", inputs if layer == 0 else size * directions
            seed = 3.0 * len(parameters)
            parameters += [graph.weight(f"ih{name}", [gates * width, of], seed), graph.weight(f"hh{name}", [gates * width, size], seed + 1)]
            if biases:
                parameters += [graph.weight(f"bi{name}", [gates * width], seed + 2), graph.weight(f"bh{name}", [gates * width], seed + 3)]
            if projection:
                parameters.append(graph.weight(f"hr{name}", [projection, width], seed + 4))
    zeros = lambda last: graph.op("zeros.default", [layers * directions, rows, last], size=[layers * directions, rows, last])
    is_lstm = op.startswith("lstm")
    hidden = zeros(size)
    out = [*([rows, steps] if is_batch_first else [steps, rows]), size * directions]
    states = [[layers * directions, rows, size]] + ([[layers * directions, rows, width]] if is_lstm else [])
    results = graph.op(op, [out, *states], input=x, hx=[hidden, zeros(width)] if is_lstm else hidden, params=parameters, has_biases=biases, num_layers=layers, dropout=0.0,
                       train=True, bidirectional=directions == 2, batch_first=is_batch_first)
    # All results have a gradient.
    total = graph.op("mean.default", [], self=results[0])
    for result, sizes in zip(results[1:], states):
        total = graph.op("add.Tensor", [], self=total, other=graph.op("mean.default", [], self=graph.op("mul.Tensor", sizes, self=result, other=result)), alpha=2)
    graph.output(total)
    return graph


@case
def lstm():
    return recurrent("lstm.input", 4, layers=2)


@case
def lstm_in_both_directions():
    return recurrent("lstm.input", 4, layers=2, directions=2, biases=False, is_batch_first=False)


@case
def lstm_with_projections():
    return recurrent("lstm.input", 4, layers=2, projection=2)


@case
def gru():
    return recurrent("gru.input", 3, layers=2, directions=2)


@case
def rnn_tanh():
    return recurrent("rnn_tanh.input", 1, is_batch_first=False)


@case
def rnn_relu():
    return recurrent("rnn_relu.input", 1, biases=False)


def cell(op, gates):
    graph = Case()
    x, width = graph.floats("x", [ROWS, 5]), 4
    first = graph.scaled(graph.op("slice.Tensor", [ROWS, width], self=x, dim=1, start=1), [ROWS, width])
    is_lstm = op.startswith("lstm")
    results = graph.op(op, [[ROWS, width]] * 2 if is_lstm else [ROWS, width], input=x, hx=[first, first] if is_lstm else first, w_ih=graph.weight("ih", [gates * width, 5]),
                       w_hh=graph.weight("hh", [gates * width, width], 3.0), b_ih=graph.weight("bi", [gates * width], 4.0), b_hh=graph.weight("bh", [gates * width], 5.0))
    return graph.loss(graph.op("add.Tensor", [ROWS, width], self=results[0], other=results[1]) if is_lstm else results, [ROWS, width])


@case
def lstm_cell():
    return cell("lstm_cell.default", 4)


@case
def gru_cell():
    return cell("gru_cell.default", 3)


@case
def rnn_tanh_cell():
    return cell("rnn_tanh_cell.default", 1)


@case
def rnn_relu_cell():
    return cell("rnn_relu_cell.default", 1)


#
# Indices
#

def optional(*values):
    return {"as_optional_tensors": [{"as_none": True} if value is None else {"as_tensor": {"name": value}} for value in values]}


def indexed(result, indices, sizes=(ROWS, 3, 5)):
    return one("index.Tensor", list(sizes), result, indices=indices)


def steps(graph, start, end, step, shape):
    count = math.prod(shape)
    return graph.op("view.default", shape, I64, size=shape, self=graph.op("arange.start_step", [count], I64, start=start, end=end, step=step, dtype={"as_scalar_type": I64}))


@case
def index_of_progressions():
    return indexed([ROWS, 2, 3], lambda graph: optional(steps(graph, 0, ROWS, 1, [ROWS, 1, 1]), steps(graph, 0, 3, 2, [2, 1]), steps(graph, 2, 5, 1, [3])))


@case
def index_of_turned_progressions():
    """The second indexed dim is first in the result; a negative index counts from the end."""
    return indexed([2, ROWS, 3], lambda graph: optional(steps(graph, 0, ROWS, 1, [1, ROWS, 1]), steps(graph, -3, 0, 2, [2, 1, 1]), steps(graph, -4, -1, 1, [3])))


@case
def index_of_the_middle():
    return indexed([ROWS, 2, 5], lambda graph: optional(None, steps(graph, 1, 3, 1, [2])))


@case
def index_of_separate_dims():
    """The dims of the indices are first where the indexed dims are not next to each other."""
    return indexed([2, 3], lambda graph: optional(steps(graph, 1, 3, 1, [2]), None, steps(graph, 3, 4, 1, [1])))


@case
def index_by_an_input():
    return indexed([ROWS, 2, 3, 5], lambda graph: optional(graph.integers("i", [ROWS, 2], [0, 3, -1, 2, 1, 1, -4, 0])))


@case
def index_by_an_input_and_a_progression():
    return indexed([ROWS, 5], lambda graph: optional(steps(graph, 0, ROWS, 1, [ROWS]), graph.integers("i", [ROWS], [0, 2, -1, 1])))


@case
def index_of_separate_dims_by_an_input():
    return indexed([ROWS, 3], lambda graph: optional(steps(graph, 0, ROWS, 1, [ROWS]), None, graph.integers("i", [ROWS], [0, 4, -1, 2])))


@case
def index_of_the_last_dim_by_an_input():
    return indexed([ROWS, 3, ROWS], lambda graph: optional(None, None, graph.integers("i", [ROWS], [4, 0, -2, 4])))


@case
def index_select():
    return one("index_select.default", [ROWS, 3, 5], [ROWS, ROWS, 5], dim=1, index=lambda graph: graph.integers("i", [ROWS], [2, 0, 2, 1]))


def gathered(table):
    """The rows of a weight at those elements of a table that an input chooses."""
    graph = Case()
    chosen = graph.op("gather.default", [ROWS, 2], I64, self=table(graph), dim=1, index=graph.integers("i", [ROWS, 2], [0, 2, 1, 1, 2, 0, 1, 0]))
    return graph.loss(graph.op("embedding.default", [ROWS, 2, 3], weight=graph.weight("table", [4, 3]), indices=chosen), [ROWS, 2, 3])


@case
def index_gather_of_integers():
    return gathered(lambda graph: graph.integers("t", [ROWS, 3], [0, 1, 2, 3, 2, 1, 0, 0, 3, 1, 2, 2]))


@case
def index_gather_of_equal_elements():
    return gathered(lambda graph: graph.op("full.default", [ROWS, 3], I64, size=[ROWS, 3], fill_value=2, dtype={"as_scalar_type": I64}))


#
# The largest of equal elements
#

@case
def max_dim():
    return one("max.dim", [ROWS, 5, 3], [[ROWS, 3]] * 2, values=ties(ROWS * 15), dim=1)


@case
def min_dim():
    return one("min.dim", [ROWS, 5, 3], [[ROWS, 1, 3]] * 2, values=ties(ROWS * 15), dim=-2, keepdim=True)


@case
def max_dim_by_its_indices():
    graph = Case()
    x = graph.floats("x", [ROWS, 5])
    _, index = graph.op("max.dim", [[ROWS, 1]] * 2, self=x, dim=1, keepdim=True)
    graph.tensors[index]["dtype"] = I64
    y = graph.op("gather.default", [ROWS, 1], self=graph.scaled(x, [ROWS, 5]), dim=1, index=index)
    return graph.loss(y, [ROWS, 1])


@case
def argmax_of_integers():
    """The row of a table at the first of the largest tokens, as CLIP takes the end of a text."""
    graph = Case()
    tokens = graph.integers("tokens", [ROWS, 3], [4, 5, 5, 7, 0, 0, 8, 9, 9, 1, 1, 2])
    chosen = graph.op("argmax.default", [ROWS], I64, self=tokens, dim=-1)
    return graph.loss(graph.op("embedding.default", [ROWS, 2], weight=graph.weight("table", [3, 2]), indices=chosen), [ROWS, 2])


@case
def max_of_all():
    return one("max.default", [ROWS, 5], [], values=ties(ROWS * 5))


@case
def min_of_all():
    return one("min.default", [ROWS, 5], [], values=ties(ROWS * 5))


@case
def amax():
    return one("amax.default", [ROWS, 5, 3], [ROWS, 3], values=ties(ROWS * 15), dim=[1])


@case
def amin():
    return one("amin.default", [ROWS, 5, 3], [ROWS, 1, 3], values=ties(ROWS * 15), dim=[-2], keepdim=True)


def larger(op):
    graph = Case()
    x = graph.floats("x", [ROWS, 5], ties(ROWS * 5))
    one = graph.op("mul.Tensor", [ROWS, 5], self=x, other=graph.parameter("a", [5], [1.0] * 5))
    two = graph.op("mul.Tensor", [ROWS, 5], self=graph.op("abs.default", [ROWS, 5], self=x), other=graph.parameter("b", [5], [1.0] * 5))
    return graph.loss(graph.op(op, [ROWS, 5], self=one, other=two), [ROWS, 5])


@case
def max_other():
    return larger("max.other")


@case
def min_other():
    return larger("min.other")


#
# Booleans and writes
#

def chosen(build):
    """x where a condition of booleans holds, else 0."""
    graph = Case()
    x = graph.floats("x", [ROWS, 5])
    positive = graph.op("gt.Scalar", [ROWS, 5], BOOL, self=x, other=0.2)
    small = graph.op("lt.Scalar", [ROWS, 5], BOOL, self=x, other=0.7)
    y = graph.op("where.ScalarOther", [ROWS, 5], condition=build(graph, positive, small), self=graph.scaled(x, [ROWS, 5]), other=0.0)
    return graph.loss(y, [ROWS, 5])


def boolean(op):
    return lambda graph, a, b: graph.op(op, [ROWS, 5], BOOL, self=a, other=b)


@case
def bitwise_and():
    return chosen(boolean("bitwise_and.Tensor"))


@case
def bitwise_or():
    return chosen(boolean("bitwise_or.Tensor"))


@case
def logical_or():
    return chosen(boolean("logical_or.default"))


@case
def or_of_booleans():
    return chosen(boolean("__or__.Tensor"))


@case
def logical_not():
    return chosen(lambda graph, a, b: graph.op("logical_not.default", [ROWS, 5], BOOL, self=a))


@case
def bitwise_not():
    return chosen(lambda graph, a, b: graph.op("bitwise_not.default", [ROWS, 5], BOOL, self=b))


@case
def shifted_by_writes():
    """Ones, with the operand shifted by one place and a number in the first."""
    graph = Case()
    x = graph.scaled(graph.floats("x", [ROWS, 5]), [ROWS, 5])
    y = graph.op("new_ones.default", [ROWS, 5], self=x, size=[ROWS, 5])
    part = graph.op("slice.Tensor", [ROWS, 4], self=y, dim=1, start=1)
    graph.op("copy_.default", [ROWS, 4], self=part, src=graph.op("slice.Tensor", [ROWS, 4], self=x, dim=1, start=0, end=-1))
    graph.op("fill_.Scalar", [ROWS], self=graph.op("select.int", [ROWS], self=y, dim=1, index=0), value=3.0)
    return graph.loss(y, [ROWS, 5])


@case
def diff():
    return one("diff.default", [ROWS, 3, 5], [ROWS, 3, 4])


@case
def diff_with_more_elements():
    return one("diff.default", [ROWS, 3], [ROWS, 4], dim=1, prepend=lambda graph: graph.floats("a", [ROWS, 1]), append=lambda graph: graph.weight("b", [ROWS, 1]))


@case
def baddbmm():
    """Both factors are omitted: they are 1."""
    return one("baddbmm.default", [ROWS, 2, 3], [ROWS, 2, 3], batch1=lambda graph: graph.floats("a", [ROWS, 2, 5]), batch2=lambda graph: graph.floats("b", [ROWS, 5, 3]))


#
# Ops that move elements
#

@case
def pad_reflect():
    return one("pad.default", [ROWS, 3, 5], [ROWS, 3, 9], pad=[1, 3], mode="reflect")


@case
def pad_replicate():
    return one("pad.default", [ROWS, 2, 3, 5], [ROWS, 2, 5, 6], pad=[1, 0, 0, 2], mode="replicate")


@case
def pad_circular():
    return one("pad.default", [ROWS, 3, 5], [ROWS, 3, 9], pad=[1, 3], mode="circular")


@case
def repeat_interleave():
    return one("repeat_interleave.self_int", [ROWS, 3, 5], [ROWS, 6, 5], repeats=2, dim=1)


@case
def repeat_interleave_of_all():
    return one("repeat_interleave.self_int", [ROWS, 3], [ROWS * 9], repeats=3)


@case
def repeat_interleave_of_constants():
    """A table of powers, each twice."""
    graph = Case()
    x = graph.scaled(graph.floats("x", [ROWS, 6]), [ROWS, 6])
    powers = graph.op("pow.Tensor_Tensor", [3], self=graph.op("full.default", [], size=[], fill_value=0.5), exponent=graph.op(
        "arange.start_step", [3], start=1.0, end=4.0, step=1.0))
    return graph.loss(graph.op("mul.Tensor", [ROWS, 6], self=x, other=graph.op("repeat_interleave.self_int", [6], self=powers, repeats=2, dim=0)), [ROWS, 6])


@case
def cumsum():
    return one("cumsum.default", [ROWS, 3, 5], [ROWS, 3, 5], dim=1)


@case
def cumsum_of_integers():
    """Positions that count the tokens other than padding, as those of RoBERTa."""
    graph = Case()
    tokens = graph.integers("tokens", [ROWS, 3], [4, 5, 6, 7, 0, 0, 8, 9, 0, 0, 0, 0])
    seen = graph.op("to.dtype", [ROWS, 3], I64, self=graph.op("ne.Scalar", [ROWS, 3], BOOL, self=tokens, other=0), dtype={"as_scalar_type": I64})
    positions = graph.op("mul.Tensor", [ROWS, 3], I64, self=graph.op("cumsum.default", [ROWS, 3], I64, self=seen, dim=1), other=seen)
    return graph.loss(graph.op("embedding.default", [ROWS, 3, 2], weight=graph.weight("table", [4, 2]), indices=positions), [ROWS, 3, 2])


#
# Attention under masks that depend on an input or a parameter
#

def attention(mask, heads=2, groups=None, **arguments):
    length, size = 3, 4
    groups = groups or heads
    graph = Case()
    x = graph.floats("x", [ROWS, length, size])
    part = lambda name, count: graph.op("transpose.int", [ROWS, count, length, size], dim0=1, dim1=2, self=graph.op("view.default", [ROWS, length, count, size], size=[
        ROWS, length, count, size], self=graph.op("linear.default", [ROWS, length, count * size], input=x, weight=graph.weight(name, [count * size, size], float(ord(name))))))
    q, k, v = part("q", heads), part("k", groups), part("v", groups)
    y = graph.op("scaled_dot_product_attention.default", [ROWS, heads, length, size], query=q, key=k, value=v, attn_mask=mask(graph, length), **arguments)
    return graph.loss(y, [ROWS, heads, length, size])


def padding(graph, length):
    """Rows with 3, 2, 1 and no keys."""
    given = graph.integers("mask", [ROWS, length], [1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    return graph.op("view.default", [ROWS, 1, 1, length], BOOL, size=[ROWS, 1, 1, length], self=graph.op("to.dtype", [ROWS, length], BOOL, self=given, dtype={"as_scalar_type": BOOL}))


@case
def attention_under_padding():
    return attention(padding)


@case
def attention_of_groups_under_padding():
    return attention(padding, heads=4, groups=2, enable_gqa=True)


@case
def attention_with_a_bias():
    return attention(lambda graph, length: graph.weight("bias", [1, 2, length, length], 7.0), scale=1.0)


@case
def attention_with_a_causal_bias():
    """The bias of a parameter plus that of a causal mask."""
    def bias(graph, length):
        hidden = graph.op("triu.default", [length, length], diagonal=1, self=graph.op("full.default", [length, length], size=[length, length], fill_value=float("-inf")))
        return graph.op("add.Tensor", [1, 2, length, length], self=graph.weight("bias", [1, 2, length, length], 7.0), other=hidden)
    return attention(bias)
