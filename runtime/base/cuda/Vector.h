//===- Vector.h - neighbours in memory, loaded and stored together --------------------------===//
//
// A kernel of dense operands is a template on how each operand is stored. A thread loads and stores 16 bytes at once of
// the widest type, and as many elements of the others; indices are unsigned 32-bit numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_VECTOR_H
#define SLUICE_RUNTIME_BASE_CUDA_VECTOR_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

/// Stored types of elements that kernels compute in float.
struct StoredF32 {
  using Memory = float;
  SLUICE_DEVICE static float widen(Memory stored) { return stored; }
  SLUICE_DEVICE static Memory narrow(float value) { return value; }
};
struct StoredBf16 {
  using Memory = std::uint16_t;
  SLUICE_DEVICE static float widen(Memory stored) { return bf16ToFloat(stored); }
  SLUICE_DEVICE static Memory narrow(float value) { return floatToBf16(value); }
};
struct StoredF16 {
  using Memory = std::uint16_t;
  SLUICE_DEVICE static float widen(Memory stored) { return f16ToFloat(stored); }
  SLUICE_DEVICE static Memory narrow(float value) { return floatToF16(value); }
};

/// How all operands of a policy are stored, where the policy has one type.
template <typename E> struct StoredOf;
template <> struct StoredOf<F32> {
  using Type = StoredF32;
};
template <> struct StoredOf<B16> {
  using Type = StoredBf16;
};
template <typename E> using StoredAs = typename StoredOf<E>::Type;
template <typename E> inline constexpr bool isStored = false;
template <> inline constexpr bool isStored<F32> = true;
template <> inline constexpr bool isStored<B16> = true;

inline constexpr int vectorBytes = 16;

template <typename S> inline constexpr int bytesOfStored = static_cast<int>(sizeof(typename S::Memory));
template <int first, int... rest> inline constexpr int mostOf = first > mostOf<rest...> ? first : mostOf<rest...>;
template <int only> inline constexpr int mostOf<only> = only;
/// Elements of a vector over operands that are stored as these.
template <typename... S> inline constexpr int vectorWidth = vectorBytes / mostOf<bytesOfStored<S>...>;

/// An unsigned number of this many bytes, or as many words as one instruction loads.
template <int bytes> struct RawVector;
#ifdef __CUDACC__
template <> struct RawVector<8> {
  using Type = uint2;
};
template <> struct RawVector<16> {
  using Type = uint4;
};
#else
template <> struct RawVector<8> {
  using Type = unsigned __attribute__((vector_size(8), may_alias));
};
template <> struct RawVector<16> {
  using Type = unsigned __attribute__((vector_size(16), may_alias));
};
#endif

/// The `number`-th vector of n elements; its address is aligned to its size.
template <typename S, int n> SLUICE_DEVICE void loadVector(const void *data, unsigned number, float (&to)[n]) {
  using Raw = typename RawVector<n * bytesOfStored<S>>::Type;
  struct Elements {
    typename S::Memory of[n];
  };
  const Elements elements = __builtin_bit_cast(Elements, static_cast<const Raw *>(data)[number]);
  for (int k = 0; k < n; ++k)
    to[k] = S::widen(elements.of[k]);
}
template <typename S, int n> SLUICE_DEVICE void storeVector(void *data, unsigned number, const float (&from)[n]) {
  using Raw = typename RawVector<n * bytesOfStored<S>>::Type;
  struct Elements {
    typename S::Memory of[n];
  } elements;
  for (int k = 0; k < n; ++k)
    elements.of[k] = S::narrow(from[k]);
  static_cast<Raw *>(data)[number] = __builtin_bit_cast(Raw, elements);
}

template <typename S> SLUICE_DEVICE float loadStored(const void *data, unsigned at) {
  return S::widen(static_cast<const typename S::Memory *>(data)[at]);
}
template <typename S> SLUICE_DEVICE void storeStored(void *data, unsigned at, float value) {
  static_cast<typename S::Memory *>(data)[at] = S::narrow(value);
}

SLUICE_DEVICE bool isVectorAligned(const void *data) {
  return reinterpret_cast<std::uintptr_t>(data) % vectorBytes == 0;
}

} // namespace sluice::cuda

/// A comma in a kernel's template arguments.
#define SLUICE_COMMA ,

/// One kernel for each type in which all operands are stored: X(symbol, function, arguments).
#define SLUICE_STORED(X, name, Args)                                                                                   \
  X(sluice_##name##_f32, name<StoredF32>, Args)                                                                        \
  X(sluice_##name##_bf16, name<StoredBf16>, Args)                                                                      \
  X(sluice_##name##_f16, name<StoredF16>, Args)

/// One kernel for each pair of types.
#define SLUICE_STORED_PAIRS(X, name, Args)                                                                             \
  X(sluice_##name##_f32_f32, name<StoredF32 SLUICE_COMMA StoredF32>, Args)                                             \
  X(sluice_##name##_f32_bf16, name<StoredF32 SLUICE_COMMA StoredBf16>, Args)                                           \
  X(sluice_##name##_f32_f16, name<StoredF32 SLUICE_COMMA StoredF16>, Args)                                             \
  X(sluice_##name##_bf16_f32, name<StoredBf16 SLUICE_COMMA StoredF32>, Args)                                           \
  X(sluice_##name##_bf16_bf16, name<StoredBf16 SLUICE_COMMA StoredBf16>, Args)                                         \
  X(sluice_##name##_f16_f32, name<StoredF16 SLUICE_COMMA StoredF32>, Args)                                             \
  X(sluice_##name##_f16_f16, name<StoredF16 SLUICE_COMMA StoredF16>, Args)

#endif // SLUICE_RUNTIME_BASE_CUDA_VECTOR_H
