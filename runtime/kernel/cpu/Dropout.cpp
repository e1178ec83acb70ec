//===- Dropout.cpp - dropout, sixteen Philox blocks at a time ------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/DropoutMask.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

/// Blocks that are drawn together: loops over them have constant bounds, which compilers turn into vectors.
constexpr int together = 16;

/// Words of blocks `first`, `first + 1`, ..., in order.
void drawBlocks(const DropoutMask::Draws &draws, std::uint64_t first, std::uint32_t (&words)[4 * together]) {
  std::uint32_t x[4][together];
  for (int b = 0; b < together; ++b) {
    std::uint64_t block = first + static_cast<std::uint64_t>(b);
    x[0][b] = static_cast<std::uint32_t>(block);
    x[1][b] = static_cast<std::uint32_t>(block >> 32);
    x[2][b] = static_cast<std::uint32_t>(draws.stream);
    x[3][b] = static_cast<std::uint32_t>(draws.stream >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(draws.seed), k1 = static_cast<std::uint32_t>(draws.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int b = 0; b < together; ++b) {
      std::uint64_t p = std::uint64_t(0xD2511F53u) * x[0][b], q = std::uint64_t(0xCD9E8D57u) * x[2][b];
      std::uint32_t x1 = x[1][b], x3 = x[3][b];
      x[0][b] = static_cast<std::uint32_t>(q >> 32) ^ x1 ^ k0;
      x[1][b] = static_cast<std::uint32_t>(q);
      x[2][b] = static_cast<std::uint32_t>(p >> 32) ^ x3 ^ k1;
      x[3][b] = static_cast<std::uint32_t>(p);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int b = 0; b < together; ++b)
    for (int word = 0; word < 4; ++word)
      words[4 * b + word] = x[word][b];
}

/// y of `count` neighbours, the first of which is element `index` of the step.
template <typename T>
void dropRun(const DropoutMask::Draws &draws, float factor, std::uint64_t index, const T *x, T *y, std::int64_t count) {
  std::uint32_t words[4 * together];
  std::uint32_t threshold = draws.threshold << 8;
  for (std::int64_t i = 0; i < count;) {
    drawBlocks(draws, index / 4, words);
    auto skip = static_cast<std::int64_t>(index % 4), part = std::min<std::int64_t>(count - i, 4 * together - skip);
    // f16 is converted by vectors: its scalar conversion is no loop that compilers turn into one.
    float wide[4 * together];
    if constexpr (std::is_same_v<T, F16>)
      loops().f16.widen(x + i, wide, part);
    for (std::int64_t j = 0; j < part; ++j) {
      bool stays = words[skip + j] >= threshold;
      if constexpr (std::is_same_v<T, F16>)
        wide[j] = stays ? wide[j] * factor : 0.f;
      else
        y[i + j] = T(stays ? static_cast<float>(x[i + j]) * factor : 0.f);
    }
    if constexpr (std::is_same_v<T, F16>)
      loops().f16.narrow(wide, y + i, part);
    i += part;
    index += static_cast<std::uint64_t>(part);
  }
}

template <typename T> Bound dropoutOf(const KernelRequest &request, const DropoutMask &mask) {
  return makeKernel(request, [mask](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    DropoutMask::Draws draws = mask.draws(call);
    GlobalIndex index(y, mask.row(call));
    auto factor = static_cast<float>(mask.factor);
    // An operand whose offsets are the indices.
    Operand place = y;
    place.strides = index.strides;
    forStretches<3>(call.threads, {&x, &y, &place}, [&](auto &at, std::int64_t count) {
      dropRun(draws, factor, index.first + static_cast<std::uint64_t>(at[2]), x.as<T>() + at[0], y.as<T>() + at[1],
              count);
    });
    return Status::ok();
  });
}

} // namespace

void fillDropoutFactors(const DropoutMask::Draws &draws, float factor, std::uint64_t index, float *factors,
                        std::int64_t count) {
  std::uint32_t words[4 * together];
  std::uint32_t threshold = draws.threshold << 8;
  for (std::int64_t i = 0; i < count;) {
    drawBlocks(draws, index / 4, words);
    auto skip = static_cast<std::int64_t>(index % 4), part = std::min<std::int64_t>(count - i, 4 * together - skip);
    for (std::int64_t j = 0; j < part; ++j)
      factors[i + j] = words[skip + j] >= threshold ? factor : 0.f;
    i += part;
    index += static_cast<std::uint64_t>(part);
  }
}

Bound fast::dropout(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(DropoutMask mask, DropoutMask::of(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (contiguousRows(x) && contiguousRows(y) && hasLoops(x.dtype) && x.dtype == y.dtype)
    return withLoops(x.dtype, [&]<typename T>() { return dropoutOf<T>(request, mask); });
  return useReference();
}

} // namespace sluice::cpu
