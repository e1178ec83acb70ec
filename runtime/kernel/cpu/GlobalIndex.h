//===- GlobalIndex.h - elements by their index in the unsharded tensor --------------===//
//
// Kernels keyed by the global index give the same tensor under any sharding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_GLOBALINDEX_H
#define SLUICE_RUNTIME_KERNEL_CPU_GLOBALINDEX_H

#include "runtime/kernel/cpu/Bound.h"

#include <algorithm>

namespace sluice::cpu {

/// The global index of an element, row-major: `first` plus the inner product of its local index with `strides`.
struct GlobalIndex {
  Dims strides{};
  std::uint64_t first = 0;
  /// `row`: the number of earlier rows, where dim 0 are the rows of a step.
  explicit GlobalIndex(const Operand &operand, std::uint64_t row = 0) {
    std::uint64_t stride = 1;
    for (int d = operand.rank - 1; d >= 0; --d) {
      strides[d] = static_cast<std::int64_t>(stride);
      first += ((d == 0 ? row : 0) + static_cast<std::uint64_t>(operand.origin[d])) * stride;
      // A dim without a global extent is not sharded.
      stride *= static_cast<std::uint64_t>(operand.global[d] > 0 ? operand.global[d] : operand.shape[d]);
    }
  }
};

/// Seed, key and index of the random kernels: of initial values, or, with the inputs step and row, of a step, as
/// dropout has them (DropoutMask.h).
struct RandomStream {
  std::uint64_t seed, key;
  GlobalIndex index;
  RandomStream(const Call &call, std::uint64_t attribute)
      : seed(scalar(call, 0)), key(isOfStep(call) ? scalar(call, 1) << 32 | attribute : attribute),
        index(call.outputs[0], isOfStep(call) ? scalar(call, 2) : 0) {}

private:
  static bool isOfStep(const Call &call) { return call.inputs.size() > 1; }
  static std::uint64_t scalar(const Call &call, std::size_t i) {
    return static_cast<std::uint64_t>(call.inputs[i].as<std::int64_t>()[0]);
  }
};

/// The attribute `zeros` of the random kernels: global indices from the first up to the second are 0.
struct ZeroElements {
  std::int64_t begin = 0, end = 0;

  static Status check(const Check &check, const KernelRequest &request) {
    std::size_t count = request.attributes->list("zeros").size();
    return count == 0 || count == 2
               ? Status::ok()
               : check.refuse("zeros, expected a first and a last index but got ", count, " numbers");
  }
  /// For a request that `check` accepts.
  explicit ZeroElements(const KernelRequest &request) {
    if (auto list = request.attributes->list("zeros"); list.size() == 2)
      begin = list[0], end = list[1];
  }
  bool has(std::uint64_t index) const {
    return static_cast<std::int64_t>(index) >= begin && static_cast<std::int64_t>(index) < end;
  }
  /// Calls `visit` with the position of each in a row of elements that begins at `index`.
  template <typename Visit> void forEachIn(std::int64_t index, std::int64_t count, Visit visit) const {
    for (std::int64_t i = std::max(begin, index), last = std::min(end, index + count); i < last; ++i)
      visit(i - index);
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_GLOBALINDEX_H
