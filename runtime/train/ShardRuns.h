//===- ShardRuns.h - the contiguous runs of a parameter on its ranks ----------------===//
//
// A parameter with a split is divided twice: into parts for the ranks of one operation, and each part into shards.
// forEachShardRun lists the elements of the global parameter, in the order of a file, as runs that are contiguous on a
// rank.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_SHARDRUNS_H
#define SLUICE_RUNTIME_TRAIN_SHARDRUNS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <functional>

namespace sluice {

/// Elements [begin, begin + count) of the global parameter are the elements from `offset` on of the shards of the ranks
/// at this position along shardAxes().
struct ShardRun {
  std::uint64_t begin = 0, count = 0, offset = 0;
  std::uint32_t position = 0;
};

/// Calls `visit` for the runs of the global parameter, in order, until it fails.
Status forEachShardRun(const plan::PlanT &plan, const plan::ParameterT &parameter,
                       const std::function<Status(const ShardRun &)> &visit);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_SHARDRUNS_H
