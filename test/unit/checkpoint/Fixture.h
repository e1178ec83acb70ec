//===- Fixture.h - one small model, sharded in several ways -------------------------===//
#ifndef SLUICE_TEST_UNIT_CHECKPOINT_FIXTURE_H
#define SLUICE_TEST_UNIT_CHECKPOINT_FIXTURE_H

#include "runtime/base/ShardMath.h"
#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/checkpoint/Save.h"
#include "test/unit/train/Fixture.h"

namespace sluice::test {

enum class Layout { oneRank, rows, columns, flat, parts, replicated, count };

/// Sets how a parameter is sharded, and its buffers. `split` divides it into parts along axis 1 of the mesh first.
inline void addParameter(PlanBuilder &builder, const std::string &name, const Shape &shape, Layout layout,
                         std::uint32_t segments, const std::vector<std::string> &states) {
  const auto dims = static_cast<int>(shape.size());
  auto added = std::make_unique<plan::ParameterT>();
  added->name = name;
  added->shape = shape;
  const auto shards = static_cast<std::int64_t>(builder.plan.mesh[0]->size);
  if (layout == Layout::parts && dims > 0) {
    added->split = std::make_unique<plan::TensorSplitT>();
    added->split->axes = {1};
    added->split->segments = segments;
    added->split->extent =
        chunkOf(shape[0] / segments, static_cast<std::int64_t>(builder.plan.mesh[1]->size)) * segments;
  }
  if (layout != Layout::oneRank && layout != Layout::replicated && dims > 0) {
    added->axes = {0};
    added->dim = layout == Layout::flat ? dims : layout == Layout::columns ? dims - 1 : 0;
    added->chunk = chunkOf(cutShape(*added)[static_cast<std::size_t>(cutDim(*added))], shards);
  }
  added->buffer = builder.buffer(name, shardShape(*added));
  for (const std::string &state : states) {
    added->states.push_back(std::make_unique<plan::StateT>());
    added->states.back()->name = state;
    added->states.back()->buffer = builder.buffer(name + "." + state, shardShape(*added));
  }
  builder.plan.parameters.push_back(std::move(added));
}

inline PlanBuilder modelPlan(Layout layout, const std::vector<std::string> &states = {"exp_avg", "exp_avg_sq"}) {
  const std::uint32_t first = layout == Layout::oneRank ? 1
                              : layout == Layout::rows  ? 4
                              : layout == Layout::flat  ? 3
                                                        : 2;
  PlanBuilder builder({{"shard", first}, {"tensor", layout == Layout::parts ? 2u : 1u}});
  builder.plan.name = "small";
  builder.plan.batch = 2;
  addParameter(builder, "attn.fused", {6, 4}, layout, 3, states);
  addParameter(builder, "attn.odd", {5, 3}, layout, 1, states);
  addParameter(builder, "cube", {2, 3, 5}, layout, 1, states);
  addParameter(builder, "bias", {7}, layout, 1, states);
  addParameter(builder, "scalar", {}, layout, 1, {});
  auto mean = std::make_unique<plan::VariableT>();
  mean->name = "norm.mean";
  mean->buffer = builder.buffer("mean", {3});
  builder.plan.variables.push_back(std::move(mean));
  for (const auto &arena : builder.plan.arenas)
    arena->persistent = arena->bytes;
  return builder;
}

/// Saves the state that the ranks have.
inline Status saveNow(const Ranks &ranks, const std::string &folder, const TrainingState &state) {
  SLUICE_RETURN_IF_ERROR(ranks.copyState());
  return saveCheckpoint(ranks, folder, state, /*cancelled=*/false);
}

/// Fills all tensors with values that identify the tensor, its element and `step`; padding with zeros.
inline void fill(FakeRanks &ranks, int step) {
  for (const PlanTensor &tensor : planTensors(ranks.plan())) {
    const auto base = static_cast<float>(10000 * step + 64 * (std::hash<std::string>()(tensor.name) % 128));
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (!tensor.parameter && tensor.rank != rank)
        continue;
      std::vector<float> values(ranks.plan().buffers[tensor.buffer]->bytes / sizeof(float));
      for (const ShardRun &run : runsOf(ranks.plan(), tensor, rank))
        for (std::uint64_t i = 0; i < run.count; ++i)
          values[run.offset + i] = base + static_cast<float>(run.begin + i);
      ASSERT_TRUE(ranks.write(rank, tensor.buffer, 0, std::as_bytes(std::span(values))).isOk());
    }
  }
}

inline FakeRanks filledRanks(Layout layout, int step) {
  FakeRanks ranks(modelPlan(layout).plan);
  fill(ranks, step);
  return ranks;
}

/// True if the tensors are equal on all ranks, with their padding.
inline bool isSame(const FakeRanks &a, const FakeRanks &b) {
  for (const PlanTensor &tensor : planTensors(a.plan()))
    for (int rank = 0; rank < a.size(); ++rank)
      if ((tensor.parameter || tensor.rank == rank) &&
          a.values<std::uint8_t>(rank, tensor.buffer) != b.values<std::uint8_t>(rank, tensor.buffer))
        return false;
  return true;
}

inline TrainingState stateOf(const FakeRanks &ranks, std::uint64_t step) {
  TrainingState state;
  state.progress.step = step;
  state.progress.updates = step;
  state.progress.lossScale = LossScale(1024, 7);
  state.entries = {"train_step"};
  state.data = {"data"};
  state.modelDigest = modelDigest(ranks.plan());
  state.world = meshSize(ranks.plan());
  return state;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CHECKPOINT_FIXTURE_H
