//===- Reduce.cpp - the arithmetic of the local collectives ---------------------===//
//
// Works through the range in blocks that fit the first cache; each inner loop is over one source and vectorises.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/local/Reduce.h"
#include "runtime/base/Half.h"

#include <algorithm>
#include <type_traits>

namespace sluice::local {
namespace {

constexpr std::uint64_t blockElements = 1024;

/// Numbers that are reduced in their own type.
template <typename T> struct Plain {
  using Storage = T;
  using Accumulator = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
struct Bf16 {
  using Storage = std::uint16_t;
  using Accumulator = float;
  static float load(std::uint16_t x) { return bf16ToFloat(x); }
  static std::uint16_t store(float x) { return floatToBf16(x); }
};
struct F16 {
  using Storage = std::uint16_t;
  using Accumulator = float;
  static float load(std::uint16_t x) { return f16ToFloat(x); }
  static std::uint16_t store(float x) { return floatToF16(x); }
};

template <typename Element>
void reduceAs(const Call &call, std::uint64_t count, int sources, const SourceOf &sourceOf, int destinations,
              const DestinationOf &destinationOf) {
  using S = typename Element::Storage;
  using A = typename Element::Accumulator;
  alignas(64) A sum[blockElements];
  const bool scaled = call.op == Reduction::premulSum;
  const A scale = static_cast<A>(scaled ? call.scale : 1.0);
  for (std::uint64_t begin = 0; begin < count; begin += blockElements) {
    const std::uint64_t n = std::min(blockElements, count - begin);
    const S *first = static_cast<const S *>(sourceOf(0)) + begin;
    for (std::uint64_t i = 0; i < n; ++i)
      sum[i] = Element::load(first[i]);
    if (scaled)
      for (std::uint64_t i = 0; i < n; ++i)
        sum[i] *= scale;
    for (int m = 1; m < sources; ++m) {
      const S *x = static_cast<const S *>(sourceOf(m)) + begin;
      if (call.op == Reduction::max)
        for (std::uint64_t i = 0; i < n; ++i) {
          const A value = Element::load(x[i]);
          sum[i] = (value > sum[i] || value != value) ? value : sum[i];
        }
      else if (scaled)
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] += Element::load(x[i]) * scale;
      else
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] += Element::load(x[i]);
    }
    if (call.op == Reduction::mean) {
      if constexpr (std::is_floating_point_v<A>) {
        const A inverse = A(1) / static_cast<A>(sources);
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] *= inverse;
      } else {
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] = static_cast<A>(sum[i] / static_cast<A>(sources));
      }
    }
    for (int m = 0; m < destinations; ++m) {
      S *y = static_cast<S *>(destinationOf(m)) + begin;
      for (std::uint64_t i = 0; i < n; ++i)
        y[i] = Element::store(sum[i]);
    }
  }
}

} // namespace

void reduce(const Call &call, std::uint64_t count, int sources, const SourceOf &sourceOf, int destinations,
            const DestinationOf &destinationOf) {
  switch (call.dtype) {
  case DType::f32:
    return reduceAs<Plain<float>>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::f64:
    return reduceAs<Plain<double>>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::bf16:
    return reduceAs<Bf16>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::f16:
    return reduceAs<F16>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::i32:
    return reduceAs<Plain<std::int32_t>>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::i64:
    return reduceAs<Plain<std::int64_t>>(call, count, sources, sourceOf, destinations, destinationOf);
  case DType::u8:
    return reduceAs<Plain<std::uint8_t>>(call, count, sources, sourceOf, destinations, destinationOf);
  }
}

} // namespace sluice::local
