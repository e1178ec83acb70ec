//===- Parts.h - the runs of a parameter with a split on its ranks -----------------===//
//
// A parameter with a `split` is divided twice: into parts for the ranks of one operation, and each part into shards.
// forEachRun lists the elements of the global parameter, in the order of a file, as runs that are contiguous on one
// rank.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PARTS_H
#define SLUICE_RUNTIME_TRAIN_PARTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <functional>

namespace sluice {

/// Elements `begin` to `begin + count` of the global parameter are the elements from `offset` on of the shard of the
/// ranks at these coordinates (along the split's axes and along the parameter's).
struct Run {
  std::uint64_t begin = 0, count = 0, offset = 0;
  std::uint32_t part = 0, shard = 0;
};

/// Calls `visit` for the runs of the global parameter, in order, until it fails. The parameter has a split.
Status forEachRun(const plan::PlanT &plan, const plan::ParameterT &parameter,
                  const std::function<Status(const Run &)> &visit);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PARTS_H
