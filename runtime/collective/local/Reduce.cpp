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
void reduceAs(const Reducer &reducer, std::uint64_t count, const MemberPointers &sources,
              const MemberPointers &destinations) {
  using S = typename Element::Storage;
  using A = typename Element::Accumulator;
  alignas(64) A sum[blockElements];
  const bool scaled = reducer.op == Reduction::premulSum;
  const A scale = static_cast<A>(scaled ? reducer.scale : 1.0);
  for (std::uint64_t begin = 0; begin < count; begin += blockElements) {
    const std::uint64_t n = std::min(blockElements, count - begin);
    const S *first = static_cast<const S *>(sources(0)) + begin;
    for (std::uint64_t i = 0; i < n; ++i)
      sum[i] = Element::load(first[i]);
    if (scaled)
      for (std::uint64_t i = 0; i < n; ++i)
        sum[i] *= scale;
    for (int m = 1; m < sources.count; ++m) {
      const S *x = static_cast<const S *>(sources(m)) + begin;
      if (reducer.op == Reduction::max)
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
    if (reducer.op == Reduction::mean) {
      if constexpr (std::is_floating_point_v<A>) {
        const A inverse = A(1) / static_cast<A>(sources.count);
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] *= inverse;
      } else {
        for (std::uint64_t i = 0; i < n; ++i)
          sum[i] = static_cast<A>(sum[i] / static_cast<A>(sources.count));
      }
    }
    for (int m = 0; m < destinations.count; ++m) {
      S *y = static_cast<S *>(destinations(m)) + begin;
      for (std::uint64_t i = 0; i < n; ++i)
        y[i] = Element::store(sum[i]);
    }
  }
}

} // namespace

void reduce(const Reducer &reducer, std::uint64_t count, const MemberPointers &sources,
            const MemberPointers &destinations) {
  switch (reducer.dtype) {
  case DType::f32:
    return reduceAs<Plain<float>>(reducer, count, sources, destinations);
  case DType::f64:
    return reduceAs<Plain<double>>(reducer, count, sources, destinations);
  case DType::bf16:
    return reduceAs<Bf16>(reducer, count, sources, destinations);
  case DType::f16:
    return reduceAs<F16>(reducer, count, sources, destinations);
  case DType::i32:
    return reduceAs<Plain<std::int32_t>>(reducer, count, sources, destinations);
  case DType::i64:
    return reduceAs<Plain<std::int64_t>>(reducer, count, sources, destinations);
  case DType::u8:
    return reduceAs<Plain<std::uint8_t>>(reducer, count, sources, destinations);
  }
}

} // namespace sluice::local
