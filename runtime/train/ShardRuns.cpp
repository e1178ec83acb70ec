//===- ShardRuns.cpp - the contiguous runs of a parameter on its ranks --------------===//
#include "runtime/train/ShardRuns.h"
#include "runtime/base/ShardMath.h"

#include <algorithm>

namespace sluice {
namespace {

/// Dims around one of them.
struct DimExtents {
  std::uint64_t outer = 1, extent = 1, inner = 1;
  DimExtents(std::span<const std::int64_t> shape, std::size_t dim) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      (d < dim ? outer : d == dim ? extent : inner) *= static_cast<std::uint64_t>(shape[d]);
  }
};

} // namespace

Status forEachShardRun(const plan::PlanT &plan, const plan::ParameterT &parameter,
                       const std::function<Status(const ShardRun &)> &visit) {
  // A parameter without a split has one part: all rows of its first dim.
  plan::TensorSplitT all;
  all.extent = parameter.shape.empty() ? 1 : parameter.shape[0];
  const plan::TensorSplitT &split = parameter.split ? *parameter.split : all;
  const DimExtents global(parameter.shape, split.dim);
  const std::uint64_t parts = groupSize(plan, split.axes);
  // Rows of a segment, and the number of its rows for which a part has room: the last parts may be padded.
  const std::int64_t segment = static_cast<std::int64_t>(global.extent) / split.segments,
                     room = split.extent / split.segments;
  const DimExtents cut(cutShape(parameter), static_cast<std::size_t>(std::max(cutDim(parameter), 0)));
  const std::uint64_t chunk = parameter.dim < 0 ? cut.extent : static_cast<std::uint64_t>(parameter.chunk);
  const std::uint64_t shards = parameter.dim < 0 ? 1 : groupSize(plan, parameter.axes);
  ShardRun run;
  for (std::uint64_t row = 0; row < global.outer * split.segments; ++row)
    for (std::uint64_t part = 0; part < parts; ++part) {
      const auto rows = static_cast<std::uint64_t>(validExtent(segment, room, static_cast<std::int64_t>(part)));
      // In the part, the rows of segments are contiguous; shards may divide them anywhere.
      for (std::uint64_t at = row * static_cast<std::uint64_t>(room) * global.inner, end = at + rows * global.inner;
           at < end; at += run.count, run.begin += run.count) {
        const std::uint64_t place = at / cut.inner % cut.extent, outside = at / cut.inner / cut.extent;
        const std::uint64_t shard = place / chunk;
        // Up to the end of this shard in this row of the sharded dim.
        const std::uint64_t last = (outside * cut.extent + std::min((shard + 1) * chunk, cut.extent)) * cut.inner;
        run.count = std::min(end, last) - at;
        run.offset = (outside * chunk + place - shard * chunk) * cut.inner + at % cut.inner;
        run.position = static_cast<std::uint32_t>(part * shards + shard);
        SLUICE_RETURN_IF_ERROR(visit(run));
      }
    }
  return Status::ok();
}

} // namespace sluice
