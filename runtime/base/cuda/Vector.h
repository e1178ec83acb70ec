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

/// Stored types of elements that kernels compute in float. A word has two neighbours, the first in its lower half; on a
/// GPU one instruction rounds both, with the result of Half.h except for the bits of NaN.
struct StoredF32 {
  using Memory = float;
  SLUICE_DEVICE static float widen(Memory stored) { return stored; }
  SLUICE_DEVICE static Memory narrow(float value) { return value; }
};
struct StoredBf16 {
  using Memory = std::uint16_t;
  SLUICE_DEVICE static float widen(Memory stored) { return bf16ToFloat(stored); }
  SLUICE_DEVICE static Memory narrow(float value) { return floatToBf16(value); }
  SLUICE_DEVICE static void widenWord(unsigned word, float &first, float &second) {
    first = floatOfBits(word << 16);
    second = floatOfBits(word & 0xffff0000u);
  }
  SLUICE_DEVICE static unsigned narrowWord(float first, float second) {
#ifdef __CUDACC__
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return static_cast<unsigned>(narrow(second)) << 16 | narrow(first);
#endif
  }
};
struct StoredF16 {
  using Memory = std::uint16_t;
  SLUICE_DEVICE static float widen(Memory stored) { return f16ToFloat(stored); }
  SLUICE_DEVICE static Memory narrow(float value) { return floatToF16(value); }
  SLUICE_DEVICE static void widenWord(unsigned word, float &first, float &second) {
#ifdef __CUDACC__
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(first), "=f"(second)
        : "r"(word));
#else
    first = widen(static_cast<Memory>(word));
    second = widen(static_cast<Memory>(word >> 16));
#endif
  }
  SLUICE_DEVICE static unsigned narrowWord(float first, float second) {
#ifdef __CUDACC__
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return static_cast<unsigned>(narrow(second)) << 16 | narrow(first);
#endif
  }
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
// Of 16 bits: GCC splits a vector whose own elements are all that is used into loads of one element.
template <> struct RawVector<8> {
  using Type = unsigned short __attribute__((vector_size(8), may_alias));
};
template <> struct RawVector<16> {
  using Type = unsigned short __attribute__((vector_size(16), may_alias));
};
#endif

/// n elements as they are stored.
template <typename S, int n> using RawOf = typename RawVector<n * bytesOfStored<S>>::Type;
template <typename S, int n> SLUICE_DEVICE void widenVector(RawOf<S, n> from, float (&to)[n]) {
  struct Words {
    unsigned of[n * bytesOfStored<S> / 4];
  };
  const Words words = __builtin_bit_cast(Words, from);
  if constexpr (bytesOfStored<S> == 4)
    for (int k = 0; k < n; ++k)
      to[k] = floatOfBits(words.of[k]);
  else
    for (int k = 0; k < n; k += 2)
      S::widenWord(words.of[k / 2], to[k], to[k + 1]);
}
/// The `number`-th vector of n elements; its address is aligned to its size.
template <typename S, int n> SLUICE_DEVICE void loadVector(const void *data, unsigned number, float (&to)[n]) {
  widenVector<S>(static_cast<const RawOf<S, n> *>(data)[number], to);
}
template <typename S, int n> SLUICE_DEVICE void storeVector(void *data, unsigned number, const float (&from)[n]) {
  struct Words {
    unsigned of[n * bytesOfStored<S> / 4];
  } words;
  if constexpr (bytesOfStored<S> == 4)
    for (int k = 0; k < n; ++k)
      words.of[k] = __builtin_bit_cast(unsigned, from[k]);
  else
    for (int k = 0; k < n; k += 2)
      words.of[k / 2] = S::narrowWord(from[k], from[k + 1]);
  static_cast<RawOf<S, n> *>(data)[number] = __builtin_bit_cast(RawOf<S, n>, words);
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
