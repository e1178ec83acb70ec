//===- Pooling.h - maxima and means of windows, and their derivatives ------------------------------------===//
//
// One thread per element of the result. A gradient adds the shares of the windows that contain its position, in row
// order, without atomics.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POOLING_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POOLING_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

struct PoolArgs {
  /// [N, H, W, C]: the image, one element per window, and their gradients.
  View x, y, dx, dy;
  Index images = 0, channels = 0;
  Index in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, padding[2] = {};
  int adaptive = 0, withoutPadding = 0;

  /// The elements [begin, end) of a window that are no padding.
  SLUICE_DEVICE Index begin(int dim, Index window) const {
    if (adaptive)
      return window * in[dim] / out[dim];
    const Index from = window * stride[dim] - padding[dim];
    return from > 0 ? from : 0;
  }
  SLUICE_DEVICE Index end(int dim, Index window) const {
    if (adaptive)
      return ((window + 1) * in[dim] + out[dim] - 1) / out[dim];
    const Index to = window * stride[dim] - padding[dim] + kernel[dim];
    return to < in[dim] ? to : in[dim];
  }
  /// The windows [firstWindow, endWindow) that contain a position.
  SLUICE_DEVICE Index firstWindow(int dim, Index place) const {
    if (adaptive)
      return place * out[dim] / in[dim];
    const Index before = place + padding[dim] - kernel[dim];
    return before < 0 ? 0 : before / stride[dim] + 1;
  }
  SLUICE_DEVICE Index endWindow(int dim, Index place) const {
    if (adaptive)
      return ((place + 1) * out[dim] - 1) / in[dim] + 1;
    const Index last = (place + padding[dim]) / stride[dim] + 1;
    return last < out[dim] ? last : out[dim];
  }
  /// The divisor of a window's sum. A window that extends beyond the padded input is smaller.
  SLUICE_DEVICE Index divisor(Index i, Index j) const {
    if (adaptive || withoutPadding)
      return (end(0, i) - begin(0, i)) * (end(1, j) - begin(1, j));
    Index size = 1;
    for (int dim = 0; dim < 2; ++dim) {
      const Index from = (dim == 0 ? i : j) * stride[dim] - padding[dim], to = from + kernel[dim],
                  last = in[dim] + padding[dim];
      size *= (to < last ? to : last) - from;
    }
    return size;
  }
};

/// An index of [N, H, W, C].
struct ImageElement {
  Index image, p, q, channel;
  SLUICE_DEVICE ImageElement(Index number, const Index *size, Index channels) {
    channel = number % channels;
    number /= channels;
    q = number % size[1];
    number /= size[1];
    p = number % size[0];
    image = number / size[0];
  }
};
SLUICE_DEVICE Index imageAt(const View &view, Index image, Index p, Index q, Index channel) {
  return image * view.strides[0] + p * view.strides[1] + q * view.strides[2] + channel * view.strides[3];
}

/// The position of a window's first maximum; a NaN is one. `p` is -1 if the window has only padding.
struct Maximum {
  Index p = -1, q = -1;
};
template <typename E>
SLUICE_DEVICE Maximum maximumOf(const PoolArgs &args, Index image, Index i, Index j, Index channel,
                                typename E::Real &most) {
  Maximum best;
  for (Index p = args.begin(0, i); p < args.end(0, i); ++p)
    for (Index q = args.begin(1, j); q < args.end(1, j); ++q) {
      const typename E::Real value = E::read(args.x, imageAt(args.x, image, p, q, channel));
      if (best.p < 0 || value > most || (value != value && most == most)) {
        most = value;
        best.p = p;
        best.q = q;
      }
    }
  return best;
}

/// body(element) for this thread's elements of images of that size.
template <typename Body>
SLUICE_DEVICE void forEachPlace(const PoolArgs &args, const Index *size, Lane lane, Body body) {
  const Index count = args.images * size[0] * size[1] * args.channels, step = lane.blocks() * lane.threads();
  for (Index n = lane.block() * lane.threads() + lane.thread(); n < count; n += step)
    body(ImageElement(n, size, args.channels));
}

template <typename E> SLUICE_DEVICE void maxPool(const PoolArgs &args, Lane lane) {
  forEachPlace(args, args.out, lane, [&](const ImageElement &at) {
    typename E::Real most = 0;
    maximumOf<E>(args, at.image, at.p, at.q, at.channel, most);
    E::write(args.y, imageAt(args.y, at.image, at.p, at.q, at.channel), most);
  });
}

template <typename E> SLUICE_DEVICE void maxPoolGrad(const PoolArgs &args, Lane lane) {
  using T = typename E::Real;
  forEachPlace(args, args.in, lane, [&](const ImageElement &at) {
    T sum = 0;
    for (Index i = args.firstWindow(0, at.p); i < args.endWindow(0, at.p); ++i)
      for (Index j = args.firstWindow(1, at.q); j < args.endWindow(1, at.q); ++j) {
        T most = 0;
        const Maximum best = maximumOf<E>(args, at.image, i, j, at.channel, most);
        if (best.p == at.p && best.q == at.q)
          sum += E::read(args.dy, imageAt(args.dy, at.image, i, j, at.channel));
      }
    E::write(args.dx, imageAt(args.dx, at.image, at.p, at.q, at.channel), sum);
  });
}

template <typename E> SLUICE_DEVICE void meanPool(const PoolArgs &args, Lane lane) {
  using T = typename E::Real;
  forEachPlace(args, args.out, lane, [&](const ImageElement &at) {
    T sum = 0;
    for (Index p = args.begin(0, at.p); p < args.end(0, at.p); ++p)
      for (Index q = args.begin(1, at.q); q < args.end(1, at.q); ++q)
        sum += E::read(args.x, imageAt(args.x, at.image, p, q, at.channel));
    E::write(args.y, imageAt(args.y, at.image, at.p, at.q, at.channel), sum / static_cast<T>(args.divisor(at.p, at.q)));
  });
}

template <typename E> SLUICE_DEVICE void meanPoolGrad(const PoolArgs &args, Lane lane) {
  using T = typename E::Real;
  forEachPlace(args, args.in, lane, [&](const ImageElement &at) {
    T sum = 0;
    for (Index i = args.firstWindow(0, at.p); i < args.endWindow(0, at.p); ++i)
      for (Index j = args.firstWindow(1, at.q); j < args.endWindow(1, at.q); ++j)
        sum += E::read(args.dy, imageAt(args.dy, at.image, i, j, at.channel)) / static_cast<T>(args.divisor(i, j));
    E::write(args.dx, imageAt(args.dx, at.image, at.p, at.q, at.channel), sum);
  });
}

} // namespace sluice::cuda

#define SLUICE_POOLING_KERNELS(X)                                                                                      \
  SLUICE_POLICIES(X, maxPool, PoolArgs)                                                                                \
  SLUICE_POLICIES(X, maxPoolGrad, PoolArgs)                                                                            \
  SLUICE_POLICIES(X, meanPool, PoolArgs)                                                                               \
  SLUICE_POLICIES(X, meanPoolGrad, PoolArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POOLING_H
