//===- Parts.h - where a parameter's elements lie that ranks compute parts with --------===//
//
// A parameter with a `split` is cut twice: its part for a rank of one operation, and that part's shard. Here the
// elements of the whole, in the order of a file, are told off in runs that lie together on one rank.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PARTS_H
#define SLUICE_RUNTIME_TRAIN_PARTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <functional>

namespace sluice {

/// Elements `begin` to `begin + count` of the whole are elements from `offset` on of the shard that the ranks at these
/// coordinates (along the split's axes and along the parameter's) hold.
struct Run {
  std::uint64_t begin = 0, count = 0, offset = 0;
  std::uint32_t part = 0, shard = 0;
};

/// Calls `visit` for the runs of the whole, in order, until it fails. The parameter has a split.
Status forEachRun(const plan::PlanT &plan, const plan::ParameterT &parameter,
                  const std::function<Status(const Run &)> &visit);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PARTS_H
