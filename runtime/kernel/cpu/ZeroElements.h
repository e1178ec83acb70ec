//===- ZeroElements.h - ranges of zeros in a random tensor -------------------------===//
//
// The attribute `zeros` of the random kernels: global element indices from the first up to the second are 0.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ZEROELEMENTS_H
#define SLUICE_RUNTIME_KERNEL_CPU_ZEROELEMENTS_H

#include "runtime/kernel/cpu/Bound.h"

#include <algorithm>
#include <string>

namespace sluice::cpu {

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
  bool has(std::int64_t index) const { return index >= begin && index < end; }
  /// Calls `visit` with the position of each in a row of elements that begins at `index`.
  template <typename Visit> void forEachIn(std::int64_t index, std::int64_t count, Visit visit) const {
    for (std::int64_t i = std::max(begin, index), last = std::min(end, index + count); i < last; ++i)
      visit(i - index);
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ZEROELEMENTS_H
