//===- Numbered.h - kernels keyed by an element's global index -----------------------------------===//
//
// Random numbers and dropout draw by counter (Philox.h); deviates are computed in double. Rope rotates pairs by an
// angle of their position.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_NUMBERED_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_NUMBERED_H

#include "runtime/base/cuda/Element.h"
#include "runtime/kernel/cuda/device/Philox.h"

namespace sluice::cuda {

struct NumberedArgs {
  View x, y;
  /// Strides of the global index, and that of the first element.
  Index global[viewRank] = {};
  Key first = 0;
  /// i64 scalars: seed, and for dropout and random numbers of a step also step and row.
  const Index *seed = nullptr, *step = nullptr, *row = nullptr;
  Key key = 0;
  /// Elements of a row, with `row`.
  Key rowElements = 0;
  Word threshold = 0;
  double offset = 0, spread = 1;
  /// Elements of a random tensor that are 0, by global index.
  Key zeroBegin = 0, zeroEnd = 0;
  int normal = 0;
  /// iota's dim.
  int dim = 0;
};

SLUICE_DEVICE void random(const NumberedArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  const Key stream = args.step ? static_cast<Key>(*args.step) << 32 | args.key : args.key;
  const Key first = args.first + (args.row ? static_cast<Key>(*args.row) * args.rowElements : 0);
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Key index = first + static_cast<Key>(offsetOver(args.global, args.y, i));
    const PhiloxWords block = philoxWords(static_cast<Key>(*args.seed), stream, index / 4);
    const int word = static_cast<int>(index % 4);
    double deviate;
    if (args.normal) {
      const double u = (block.words[word & 2] + 0.5) * 2.3283064365386962890625e-10;
      const double v = block.words[word | 1] * 2.3283064365386962890625e-10;
      const double radius = sqrt(-2 * log(u)), angle = 6.283185307179586477 * v;
      deviate = radius * (word & 1 ? sin(angle) : cos(angle));
    } else {
      deviate = (block.words[word] >> 8) * 5.9604644775390625e-8;
    }
    const bool isZero = index >= args.zeroBegin && index < args.zeroEnd;
    writeAny(args.y, offsetIn(args.y, args.y.rank, i), isZero ? 0 : args.offset + args.spread * deviate);
  }
}

SLUICE_DEVICE void iota(const NumberedArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step)
    writeInteger(args.y, offsetIn(args.y, args.y.rank, i), offsetOver(args.global, args.y, i));
}

/// x times `spread` where the mask keeps the element, else 0.
SLUICE_DEVICE void dropout(const NumberedArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  const Key stream = static_cast<Key>(*args.step) << 32 | args.key;
  const Key first = args.first + static_cast<Key>(*args.row) * args.rowElements;
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Key index = first + static_cast<Key>(offsetOver(args.global, args.y, i));
    const bool kept =
        philoxWords(static_cast<Key>(*args.seed), stream, index / 4).words[index % 4] >> 8 >= args.threshold;
    writeAny(args.y, offsetIn(args.y, args.y.rank, i),
             kept ? readAny(args.x, offsetIn(args.x, args.x.rank, i)) * args.spread : 0);
  }
}

/// Of D/2 elements of a head.
inline constexpr int ropeFrequencies = 256;
struct RopeArgs {
  View x, documents, y;
  Index position = 0;
  int inverse = 0, packed = 0;
  double frequencies[ropeFrequencies] = {};
};
SLUICE_DEVICE void rope(const RopeArgs &args, Lane lane) {
  const Index half = args.x.extent[3] / 2, heads = args.x.extent[2], rows = args.x.extent[1];
  const Index count = args.x.extent[0] * rows * heads * half, step = lane.blocks() * lane.threads();
  for (Index n = lane.block() * lane.threads() + lane.thread(); n < count; n += step) {
    const Index i = n % half, h = n / half % heads, t = n / half / heads % rows, b = n / half / heads / rows;
    const Index first =
        args.packed ? readInteger(args.documents, b * args.documents.strides[0] + t * args.documents.strides[1]) : 0;
    const double angle = static_cast<double>(args.position + t - first) * args.frequencies[i];
    const double cosine = cos(angle), sine = args.inverse ? -sin(angle) : sin(angle);
    const Index from = b * args.x.strides[0] + t * args.x.strides[1] + h * args.x.strides[2];
    const Index to = b * args.y.strides[0] + t * args.y.strides[1] + h * args.y.strides[2];
    const double low = readAny(args.x, from + i * args.x.strides[3]);
    const double high = readAny(args.x, from + (i + half) * args.x.strides[3]);
    writeAny(args.y, to + i * args.y.strides[3], low * cosine - high * sine);
    writeAny(args.y, to + (i + half) * args.y.strides[3], high * cosine + low * sine);
  }
}

} // namespace sluice::cuda

#define SLUICE_NUMBERED_KERNELS(X)                                                                                     \
  X(sluice_random, random, NumberedArgs)                                                                               \
  X(sluice_iota, iota, NumberedArgs)                                                                                   \
  X(sluice_dropout, dropout, NumberedArgs)                                                                             \
  X(sluice_rope, rope, RopeArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_NUMBERED_H
