//===- ShardedPlan.h - a step with one sharded parameter ---------------------------===//
#ifndef SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H
#define SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H

#include "test/unit/executor/TestPlan.h"

namespace sluice::test {

inline constexpr std::int64_t rows = 10, columns = 3;

enum : std::uint32_t { compute, gather, reduce };

/// Instructions of the sharded step, in order of issue.
enum : std::uint32_t {
  waitUpdate,
  waitRead,
  gatherIt,
  recordGather,
  waitGather,
  setGradient,
  addGradient,
  recordGradient,
  waitGradient,
  reduceIt,
  recordReduce,
  waitReduce,
  update,
  recordUpdate,
  giveOut
};

/// A parameter of 10 rows over W ranks, padded. For each of two micro-batches: gather, gradient = parameter + x summed
/// over the micro-batches; then the mean over ranks comes into the shard, which it is subtracted from.
inline TestPlan sharded(std::uint32_t ranks) {
  TestPlan made({ranks});
  const std::int64_t chunk = (rows + ranks - 1) / ranks, padded = chunk * ranks;
  for (const char *name : {"compute", "gather", "reduce"})
    made.stream(name);
  const std::int32_t unit = made.unit("h.0");
  const auto shard = made.buffer("shard", {chunk, columns});
  const auto gathered = made.buffer("gathered", {padded, columns});
  const auto gradient = made.buffer("gradient", {padded, columns});
  const auto gradientShard = made.buffer("gradient shard", {chunk, columns});
  const auto x = made.buffer("x", {2, rows, columns}, f32, host);
  const auto out = made.buffer("out", {chunk, columns}, f32, host);
  made.parameter("weight", {rows, columns}, {0}, shard);
  plan::EntryT &entry = made.entry("train_step", 4);
  plan::ViewT slice = made.view(x, {rows, columns});
  slice.repetition_stride = rows * columns * sizeof(float);
  const plan::ViewT gatheredRows = made.view(gathered, {rows, columns}),
                    gradientRows = made.view(gradient, {rows, columns});
  made.section(2);
  made.wait(gather, 3).when = plan::When::first;
  // Buffers that the previous micro-batch has read may be gathered again.
  made.wait(gather, 1).when = plan::When::not_first;
  made.collective(gather, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none,
                  {{made.view(shard), made.view(gathered)}});
  made.record(gather, 0);
  made.wait(compute, 0);
  made.launch(compute, "add", {gatheredRows, slice}, {gradientRows}).when = plan::When::first;
  made.launch(compute, "accumulate", {slice}, {gradientRows}).when = plan::When::not_first;
  made.record(compute, 1);
  made.section();
  made.wait(reduce, 1);
  made.collective(reduce, plan::CollectiveKind::reduce_scatter, {0}, plan::ReduceOp::mean,
                  {{made.view(gradient), made.view(gradientShard)}});
  made.record(reduce, 2);
  made.wait(compute, 2);
  made.launch(compute, "subtract", {made.view(shard), made.view(gradientShard)}, {made.view(shard)});
  made.record(compute, 3);
  made.copy(compute, made.view(shard), made.view(out));
  for (const auto &section : made.plan.entries[0]->sections)
    for (const auto &instruction : section->instructions)
      instruction->unit = unit;
  made.port(entry.inputs, "x", slice).per_repetition = true;
  made.port(entry.outputs, "out", made.view(out));
  return made;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EXECUTOR_SHARDEDPLAN_H
