//===- Deadline.h - calls of a library that may never return ----------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_DEADLINE_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_DEADLINE_H

#include "runtime/base/cuda/Table.h"

#include <functional>
#include <optional>

namespace sluice::nccl {

/// Runs `call` on a thread with the caller's CUDA context current and returns its code, or nothing where it has not
/// returned within `seconds` (0: no limit) or `ended` has become true. A call that does not return keeps its thread: it
/// must own what it uses.
std::optional<cuda::Code> callWithin(const cuda::Table &table, double seconds, const std::function<bool()> &ended,
                                     std::function<cuda::Code()> call);

} // namespace sluice::nccl

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_DEADLINE_H
