//===- ShardedPlan.h - a step with one sharded parameter ---------------------------===//
#ifndef SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H
#define SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H

#include "runtime/base/ShardMath.h"
#include "test/unit/executor/RunAlone.h"

namespace sluice::test {

inline constexpr std::int64_t rows = 10, columns = 3;

enum : std::uint32_t { compute, gather, reduce };

/// Instructions of the sharded step, in order of issue.
enum : std::uint32_t {
  waitUpdate,
  waitRead,
  gatherWeight,
  recordGather,
  waitGather,
  setGradient,
  addGradient,
  recordGradient,
  waitGradient,
  reduceGradient,
  recordReduce,
  waitReduce,
  update,
  recordUpdate,
  copyShard
};

/// A parameter of 10 rows over W ranks, padded. For each of two micro-batches: gather, gradient = parameter + x summed
/// over the micro-batches; then the mean over ranks is subtracted from the shard.
inline PlanBuilder sharded(std::uint32_t ranks) {
  PlanBuilder builder({ranks});
  const std::int64_t chunk = (rows + ranks - 1) / ranks, padded = chunk * ranks;
  for (const char *name : {"compute", "gather", "reduce"})
    builder.stream(name);
  const std::int32_t unit = builder.unit("h.0");
  const auto shard = builder.buffer("shard", {chunk, columns});
  const auto gathered = builder.buffer("gathered", {padded, columns});
  const auto gradient = builder.buffer("gradient", {padded, columns});
  const auto gradientShard = builder.buffer("gradient shard", {chunk, columns});
  const auto x = builder.buffer("x", {2, rows, columns}, f32, host);
  const auto out = builder.buffer("out", {chunk, columns}, f32, host);
  builder.parameter("weight", {rows, columns}, {0}, shard);
  plan::EntryT &entry = builder.entry("train_step", 4);
  plan::ViewT slice = builder.view(x, {rows, columns});
  slice.repetition_stride = rows * columns * sizeof(float);
  const plan::ViewT gatheredRows = builder.view(gathered, {rows, columns}),
                    gradientRows = builder.view(gradient, {rows, columns});
  builder.section(2);
  builder.wait(gather, 3).when = plan::When::first;
  // Buffers that the previous micro-batch has read may be gathered again.
  builder.wait(gather, 1).when = plan::When::not_first;
  builder.collective(gather, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none,
                     {{builder.view(shard), builder.view(gathered)}});
  builder.record(gather, 0);
  builder.wait(compute, 0);
  builder.launch(compute, "add", {gatheredRows, slice}, {gradientRows}).when = plan::When::first;
  builder.launch(compute, "accumulate", {slice}, {gradientRows}).when = plan::When::not_first;
  builder.record(compute, 1);
  builder.section();
  builder.wait(reduce, 1);
  builder.collective(reduce, plan::CollectiveKind::reduce_scatter, {0}, plan::ReduceOp::mean,
                     {{builder.view(gradient), builder.view(gradientShard)}});
  builder.record(reduce, 2);
  builder.wait(compute, 2);
  builder.launch(compute, "subtract", {builder.view(shard), builder.view(gradientShard)}, {builder.view(shard)});
  builder.record(compute, 3);
  builder.copy(compute, builder.view(shard), builder.view(out));
  for (const auto &section : builder.plan.entries[0]->sections)
    for (const auto &instruction : section->instructions)
      instruction->unit = unit;
  builder.port(entry.inputs, "x", slice).per_repetition = true;
  builder.port(entry.outputs, "out", builder.view(out));
  return builder;
}

/// Elements of the parameter before the shard of a rank; those of its shard are before the next rank's.
inline std::int64_t elementsBefore(int rank, int ranks) {
  return chunkBegin(rows, chunkOf(rows, ranks), rank) * columns;
}
inline std::size_t shardElements(int rank, int ranks) {
  return static_cast<std::size_t>(elementsBefore(rank + 1, ranks) - elementsBefore(rank, ranks));
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H
