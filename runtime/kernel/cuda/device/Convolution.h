//===- Convolution.h - convolution over two dims and its derivatives -----------------------------------===//
//
// Images are [N, H, W, C], a weight is [O, C / groups, h, w]. Each of the three is a product of matrices that are never
// in memory (Tiles.h):
//
//                    m                 n             k
//   y                place of y        o             h, w, c of the window
//   dx               place of x        c             h, w, o of the windows that contain it
//   dweight          o                 h, w, c       place of y, in runs that are added in order
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_CONVOLUTION_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_CONVOLUTION_H

#include "runtime/kernel/cuda/device/Tiles.h"

namespace sluice::cuda {

struct ConvolutionArgs {
  /// The image, the weight, the result (or their gradients), and the bias of the result.
  View x, weight, y, bias;
  int hasBias = 0;
  /// Channels of one group. Places of an image, of a result and elements of a window are less than 2^31.
  Index images = 0, inputs = 0, outputs = 0, groups = 1;
  Index in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, padding[2] = {}, dilation[2] = {};
  /// dweight: runs of places, and their sums [run][group][o][h, w, c] if there are several.
  Index runs = 1, runLength = 0;
  double *partial = nullptr;
};

/// number -> (number / (b c), number / c % b, number % c). 32 bits: a division of 64 takes a hundred instructions.
struct Three {
  unsigned a = 0, b = 0, c = 0;
  Three() = default;
  SLUICE_DEVICE Three(Index number, Index sizeB, Index sizeC) {
    const unsigned n = static_cast<unsigned>(number), rest = n / static_cast<unsigned>(sizeC);
    c = n - rest * static_cast<unsigned>(sizeC);
    a = rest / static_cast<unsigned>(sizeB);
    b = rest - a * static_cast<unsigned>(sizeB);
  }
};

/// The start of a window in an image; `image` -1: no window.
struct Place {
  Index image = -1, p = 0, q = 0;
};

/// A problem whose rows are places of an image and whose columns are channels, of one group.
struct ConvolutionOfPlaces {
  using Row = Place;
  using Column = Index;
  using Depth = Three;
  static constexpr bool depthFirst = true;
  const ConvolutionArgs &args;
  Index group;
};

template <typename E> struct ConvolutionForward : ConvolutionOfPlaces {
  using T = typename E::Real;

  SLUICE_DEVICE static Index rowCount(const ConvolutionArgs &args) { return args.images * args.out[0] * args.out[1]; }
  SLUICE_DEVICE static Index columnCount(const ConvolutionArgs &args) { return args.outputs; }
  SLUICE_DEVICE static Index depthCount(const ConvolutionArgs &args) {
    return args.kernel[0] * args.kernel[1] * args.inputs;
  }

  SLUICE_DEVICE Row row(Index m) const {
    if (m >= rowCount(args))
      return {};
    const Three at(m, args.out[0], args.out[1]);
    return {at.a * args.x.strides[0], at.b * args.stride[0] - args.padding[0], at.c * args.stride[1] - args.padding[1]};
  }
  SLUICE_DEVICE Column column(Index o) const {
    return o < args.outputs ? (group * args.outputs + o) * args.weight.strides[0] : -1;
  }
  SLUICE_DEVICE Depth depth(Index k) const { return Three(k, args.kernel[1], args.inputs); }
  SLUICE_DEVICE T left(const Row &row, const Depth &d) const {
    const Index p = row.p + d.a * args.dilation[0], q = row.q + d.b * args.dilation[1];
    if (row.image < 0 || p < 0 || p >= args.in[0] || q < 0 || q >= args.in[1])
      return T(0);
    const Index *strides = args.x.strides;
    return E::read(args.x, row.image + p * strides[1] + q * strides[2] + (group * args.inputs + d.c) * strides[3]);
  }
  SLUICE_DEVICE T right(const Depth &d, Column column) const {
    const Index *strides = args.weight.strides;
    return column < 0 ? T(0) : E::read(args.weight, column + d.c * strides[1] + d.a * strides[2] + d.b * strides[3]);
  }
  SLUICE_DEVICE void write(Index m, Index o, T value, Index) const {
    const Three at(m, args.out[0], args.out[1]);
    const Index channel = group * args.outputs + o, *strides = args.y.strides;
    if (args.hasBias)
      value += E::read(args.bias, channel * args.bias.strides[0]);
    E::write(args.y, at.a * strides[0] + at.b * strides[1] + at.c * strides[2] + channel * strides[3], value);
  }
};

/// y is dy, x is dx.
template <typename E> struct ConvolutionInput : ConvolutionOfPlaces {
  using T = typename E::Real;

  SLUICE_DEVICE static Index rowCount(const ConvolutionArgs &args) { return args.images * args.in[0] * args.in[1]; }
  SLUICE_DEVICE static Index columnCount(const ConvolutionArgs &args) { return args.inputs; }
  SLUICE_DEVICE static Index depthCount(const ConvolutionArgs &args) {
    return args.kernel[0] * args.kernel[1] * args.outputs;
  }

  SLUICE_DEVICE Row row(Index m) const {
    if (m >= rowCount(args))
      return {};
    const Three at(m, args.in[0], args.in[1]);
    return {at.a * args.y.strides[0], at.b + args.padding[0], at.c + args.padding[1]};
  }
  SLUICE_DEVICE Column column(Index c) const { return c < args.inputs ? c * args.weight.strides[1] : -1; }
  SLUICE_DEVICE Depth depth(Index k) const { return Three(k, args.kernel[1], args.outputs); }
  /// The window that starts at `from`, or -1.
  SLUICE_DEVICE Index window(int dim, Index from) const {
    if (from < 0)
      return -1;
    if (args.stride[dim] != 1) {
      const unsigned number = static_cast<unsigned>(from), stride = static_cast<unsigned>(args.stride[dim]);
      if (number % stride != 0)
        return -1;
      from = number / stride;
    }
    return from < args.out[dim] ? from : -1;
  }
  SLUICE_DEVICE T left(const Row &row, const Depth &d) const {
    if (row.image < 0)
      return T(0);
    const Index i = window(0, row.p - d.a * args.dilation[0]), j = window(1, row.q - d.b * args.dilation[1]);
    if (i < 0 || j < 0)
      return T(0);
    const Index *strides = args.y.strides;
    return E::read(args.y, row.image + i * strides[1] + j * strides[2] + (group * args.outputs + d.c) * strides[3]);
  }
  SLUICE_DEVICE T right(const Depth &d, Column column) const {
    const Index *strides = args.weight.strides;
    return column < 0 ? T(0)
                      : E::read(args.weight, column + (group * args.outputs + d.c) * strides[0] + d.a * strides[2] +
                                                 d.b * strides[3]);
  }
  SLUICE_DEVICE void write(Index m, Index c, T value, Index) const {
    const Three at(m, args.in[0], args.in[1]);
    const Index *strides = args.x.strides;
    E::write(args.x, at.a * strides[0] + at.b * strides[1] + at.c * strides[2] + (group * args.inputs + c) * strides[3],
             value);
  }
};

/// y is dy, weight is dweight.
template <typename E> struct ConvolutionWeight {
  using T = typename E::Real;
  using Row = Index;
  /// An element of the window: its offset from the window's start, and its channel's offset (-1: no element).
  struct Column {
    Index p = 0, q = 0, channel = -1;
  };
  using Depth = Three;
  static constexpr bool depthFirst = false;
  const ConvolutionArgs &args;
  Index group;

  SLUICE_DEVICE static Index rowCount(const ConvolutionArgs &args) { return args.outputs; }
  SLUICE_DEVICE static Index columnCount(const ConvolutionArgs &args) {
    return args.kernel[0] * args.kernel[1] * args.inputs;
  }
  SLUICE_DEVICE static Index depthCount(const ConvolutionArgs &args) { return args.images * args.out[0] * args.out[1]; }

  SLUICE_DEVICE Row row(Index o) const {
    return o < args.outputs ? (group * args.outputs + o) * args.y.strides[3] : -1;
  }
  SLUICE_DEVICE Column column(Index n) const {
    if (n >= columnCount(args))
      return {};
    const Three at(n, args.kernel[1], args.inputs);
    return {at.a * args.dilation[0] - args.padding[0], at.b * args.dilation[1] - args.padding[1],
            (group * args.inputs + at.c) * args.x.strides[3]};
  }
  SLUICE_DEVICE Depth depth(Index k) const { return Three(k, args.out[0], args.out[1]); }
  SLUICE_DEVICE T left(Row row, const Depth &d) const {
    const Index *strides = args.y.strides;
    return row < 0 ? T(0) : E::read(args.y, row + d.a * strides[0] + d.b * strides[1] + d.c * strides[2]);
  }
  SLUICE_DEVICE T right(const Depth &d, const Column &column) const {
    const Index p = d.b * args.stride[0] + column.p, q = d.c * args.stride[1] + column.q;
    if (column.channel < 0 || p < 0 || p >= args.in[0] || q < 0 || q >= args.in[1])
      return T(0);
    const Index *strides = args.x.strides;
    return E::read(args.x, column.channel + d.a * strides[0] + p * strides[1] + q * strides[2]);
  }
  SLUICE_DEVICE void write(Index o, Index n, T value, Index run) const {
    if (args.runs > 1) {
      args.partial[((run * args.groups + group) * args.outputs + o) * columnCount(args) + n] = value;
      return;
    }
    const Three at(n, args.kernel[1], args.inputs);
    const Index *strides = args.weight.strides;
    E::write(args.weight,
             (group * args.outputs + o) * strides[0] + at.c * strides[1] + at.a * strides[2] + at.b * strides[3],
             value);
  }
};

/// Blocks: groups, runs, tiles of rows, tiles of columns, the last fastest.
template <typename E, typename Problem> SLUICE_DEVICE void convolve(const ConvolutionArgs &args, Lane lane) {
  const Index rows = Problem::rowCount(args), columns = Problem::columnCount(args), depths = Problem::depthCount(args);
  const Index column = lane.block() % tilesOf(columns) * tileSide, others = lane.block() / tilesOf(columns);
  const Index row = others % tilesOf(rows) * tileSide, run = others / tilesOf(rows) % args.runs;
  const Problem problem{args, others / tilesOf(rows) / args.runs};
  const Index begin = args.runs > 1 ? run * args.runLength : 0;
  const Index end = args.runs > 1 && begin + args.runLength < depths ? begin + args.runLength : depths;
  typename E::Real result[4][4];
  tileProduct(problem, row, column, begin, end, result, lane);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      const Index m = row + tileRow(lane, r), n = column + tileColumn(lane, c);
      if (m < rows && n < columns)
        problem.write(m, n, result[r][c], run);
    }
}

template <typename E> SLUICE_DEVICE void convolution(const ConvolutionArgs &args, Lane lane) {
  convolve<E, ConvolutionForward<E>>(args, lane);
}
template <typename E> SLUICE_DEVICE void convolutionInput(const ConvolutionArgs &args, Lane lane) {
  convolve<E, ConvolutionInput<E>>(args, lane);
}
template <typename E> SLUICE_DEVICE void convolutionWeight(const ConvolutionArgs &args, Lane lane) {
  convolve<E, ConvolutionWeight<E>>(args, lane);
}

/// Adds up the runs.
SLUICE_DEVICE void convolutionWeightEnd(const ConvolutionArgs &args, Lane lane) {
  const Index window = args.kernel[0] * args.kernel[1] * args.inputs, count = args.groups * args.outputs * window;
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += lane.blocks() * lane.threads()) {
    double sum = 0;
    for (Index run = 0; run < args.runs; ++run)
      sum += args.partial[run * count + i];
    const Three at(i % window, args.kernel[1], args.inputs);
    const Index *strides = args.weight.strides;
    writeAny(args.weight, i / window * strides[0] + at.c * strides[1] + at.a * strides[2] + at.b * strides[3], sum);
  }
}

} // namespace sluice::cuda

#define SLUICE_CONVOLUTION_KERNELS(X)                                                                                  \
  SLUICE_POLICIES(X, convolution, ConvolutionArgs)                                                                     \
  SLUICE_POLICIES(X, convolutionInput, ConvolutionArgs)                                                                \
  SLUICE_POLICIES(X, convolutionWeight, ConvolutionArgs)                                                               \
  X(sluice_convolutionWeightEnd, convolutionWeightEnd, ConvolutionArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_CONVOLUTION_H
