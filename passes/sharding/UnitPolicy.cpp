//===- UnitKnobs.cpp - what the recipe says of each unit ---------------------------------===//

#include "passes/sharding/UnitKnobs.h"

#include "dialect/spmd/Names.h"

#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;
using namespace sluice;

namespace {

constexpr llvm::StringLiteral afterForward = "sharding.reshard_after_forward";
constexpr llvm::StringLiteral afterBackward = "sharding.reshard_after_backward";
constexpr llvm::StringLiteral gradientSync = "gradient.sync";
/// What a plan's instruction may list.
constexpr std::size_t maxListed = 64;

Status wrong(const Recipe &recipe, StringRef key, StringRef unit, const std::string &rest) {
  return inputError(recipe.origin(key) + ": value of '" + key.str() + "' for unit '" + unit.str() + "', " + rest);
}

std::string divisorsOf(std::int64_t number) {
  std::string text;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(divisor);
  return text;
}

/// The ranks over which a unit keeps a piece; nothing where it keeps all or none.
std::optional<std::int64_t> pieceRanks(const Recipe &recipe, StringRef unit) {
  auto *ranks = std::get_if<std::int64_t>(&recipe.sharding.reshardAfterForward.at(unit));
  if (!ranks || *ranks == 1 || *ranks == recipe.mesh.shard)
    return std::nullopt;
  return *ranks;
}

bool reshards(const Recipe &recipe, StringRef unit) {
  const auto &setting = recipe.sharding.reshardAfterForward.at(unit);
  if (auto *flag = std::get_if<bool>(&setting))
    return *flag;
  if (auto *ranks = std::get_if<std::int64_t>(&setting))
    return *ranks != 1;
  return recipe.sharding.strategy != ShardingStrategy::shard_grad_op && unit != spmd::rootUnit;
}

/// Sets the unit's `sync` or `sync_in`; neither where its gradients are reduced in the last micro-batch.
Status setSync(spmd::UnitOp op, const Recipe &recipe, StringRef unit) {
  const auto &setting = recipe.gradient.sync.at(unit);
  std::int64_t count = recipe.gradient.microbatches;
  if (auto *mode = std::get_if<GradientSync>(&setting)) {
    if (*mode != GradientSync::last && count > 1)
      op.setSync(*mode == GradientSync::every ? SyncMode::every : SyncMode::reduce_scatter_only);
    return Status::ok();
  }
  const auto &list = std::get<std::vector<bool>>(setting);
  if (static_cast<std::int64_t>(list.size()) != count)
    return wrong(recipe, gradientSync, unit,
                 "expected one of true and false for each of " + std::to_string(count) + " micro-batches but got " +
                     std::to_string(list.size()));
  SmallVector<std::int64_t> reduces;
  for (std::size_t index = 0; index < list.size(); ++index)
    if (list[index])
      reduces.push_back(static_cast<std::int64_t>(index));
  if (reduces.empty() || reduces.back() != count - 1)
    return wrong(recipe, gradientSync, unit, "expected true for the last micro-batch but got false");
  if (static_cast<std::int64_t>(reduces.size()) == count) {
    if (count > 1)
      op.setSync(SyncMode::every);
    return Status::ok();
  }
  // Gradients that some micro-batches reduce and others leave are added up from two sides, which the host is not.
  if (reduces.size() > 1 && !recipe.memory.offload.empty())
    return wrong(
        recipe, gradientSync, unit,
        "expected \"last\" or \"every\" with 'memory.offload' but got a list that reduces in some micro-batches "
        "before the last");
  // Only the last.
  if (reduces.size() == 1)
    return Status::ok();
  // Those that reduce are listed, and those that go on adding up.
  if (std::size_t others = list.size() - reduces.size(); std::max(reduces.size(), others) > maxListed)
    return wrong(recipe, gradientSync, unit,
                 "expected at most " + std::to_string(maxListed) +
                     " micro-batches that reduce and as many that do not, or \"last\" or "
                     "\"every\", but got " +
                     std::to_string(reduces.size()) + " and " + std::to_string(others));
  op.setSyncIn(When(reduces));
  return Status::ok();
}

} // namespace

Result<llvm::SmallVector<std::int64_t>> sluice::shardParts(const Recipe &recipe, ArrayRef<std::string> units) {
  std::int64_t ranks = recipe.mesh.shard;
  std::set<std::int64_t> pieces;
  for (const std::string &unit : units)
    if (std::optional<std::int64_t> piece = pieceRanks(recipe, unit)) {
      if (ranks % *piece != 0)
        return wrong(recipe, afterForward, unit,
                     "expected a divisor of 'mesh.shard' (" + divisorsOf(ranks) + ") but got " +
                         std::to_string(*piece));
      for (std::int64_t other : pieces)
        if (*piece % other != 0 && other % *piece != 0)
          return wrong(recipe, afterForward, unit,
                       "expected a number that divides or is divided by " + std::to_string(other) +
                           " of another unit but got " + std::to_string(*piece));
      pieces.insert(*piece);
    }
  // From the innermost part outwards, then turned round.
  SmallVector<std::int64_t> parts;
  std::int64_t inside = 1;
  for (std::int64_t piece : pieces) {
    parts.push_back(piece / inside);
    inside = piece;
  }
  parts.push_back(ranks / inside);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

llvm::SmallVector<std::string> sluice::shardPartNames(std::size_t count) {
  SmallVector<std::string> names;
  for (std::size_t part = 0; part < count; ++part)
    names.push_back(count == 1 ? std::string("shard") : "shard." + std::to_string(part));
  return names;
}

Status sluice::setUnitKnobs(spmd::UnitOp unit, const Recipe &recipe, ArrayRef<std::int64_t> parts) {
  Builder builder(unit.getContext());
  StringRef name = unit.getSymName();
  bool sharded = recipe.sharding.strategy != ShardingStrategy::no_shard;
  unit.setReshardAfterForward(reshards(recipe, name));
  if (std::optional<std::int64_t> ranks = pieceRanks(recipe, name)) {
    if (!sharded)
      return wrong(recipe, afterForward, name,
                   "expected a sharding strategy that shards parameters but got 'sharding.strategy' = \"no_shard\"");
    SmallVector<std::string> names = shardPartNames(parts.size());
    SmallVector<Attribute> axes;
    std::int64_t inside = 1;
    for (std::size_t part = parts.size(); part-- > 0 && inside < *ranks;) {
      axes.insert(axes.begin(), builder.getStringAttr(names[part]));
      inside *= parts[part];
    }
    unit.setPieceAttr(builder.getArrayAttr(axes));
  }
  unit.setReshardBeforeBackward(recipe.sharding.reshardBeforeBackward);
  if (recipe.sharding.reshardAfterBackward.at(name) == ReshardAfterBackward::last && recipe.gradient.microbatches > 1) {
    if (unit.getReshardAfterForward())
      return wrong(recipe, afterBackward, name,
                   "expected \"always\", or 'sharding.reshard_after_forward' = false for the unit, but got \"last\"");
    if (unit.getReshardBeforeBackward())
      return wrong(recipe, afterBackward, name,
                   "expected \"always\", or 'sharding.reshard_before_backward' = false, but got \"last\"");
    unit.setKeepAfterBackward(true);
  }
  unit.setSkipBackward(!recipe.sharding.unshardInBackward.at(name));
  SLUICE_RETURN_IF_ERROR(setSync(unit, recipe, name));
  if (auto *divisor = std::get_if<double>(&recipe.gradient.divide.at(name)))
    unit.setDivideAttr(builder.getF64FloatAttr(*divisor));
  return Status::ok();
}

std::vector<std::string> sluice::ineffectiveSettings(const Recipe &recipe) {
  std::vector<std::string> remarks;
  auto remark = [&](StringRef key, const std::string &why) {
    remarks.push_back(recipe.origin(key) + ": '" + key.str() + "' has no effect " + why);
  };
  const Recipe::Sharding &sharding = recipe.sharding;
  const Recipe::Gradient &gradient = recipe.gradient;
  const Recipe::Memory &memory = recipe.memory;
  bool hasSync = !gradient.sync.isEverywhere(GradientSync::last);
  if (gradient.microbatches == 1) {
    if (hasSync)
      remark(gradientSync, "with one micro-batch");
    if (!sharding.reshardAfterBackward.isEverywhere(ReshardAfterBackward::always))
      remark(afterBackward, "with one micro-batch");
  } else if (gradient.sync.isEverywhere(GradientSync::reduce_scatter_only) && recipe.mesh.replicate == 1) {
    remark(gradientSync, "beyond \"every\" with one replica");
  }
  if (memory.offload.empty() && !memory.pinned)
    remark("memory.pinned", "without 'memory.offload'");
  if (memory.offload == std::vector{Offloaded::optimizer} &&
      recipe.optimizer.info()->states(recipe.optimizer.settings).empty())
    remark("memory.offload", "on an optimizer without state");
  bool fetches = memory.offloads(Offloaded::parameters);
  bool gathers = recipe.mesh.shard > 1 && sharding.strategy != ShardingStrategy::no_shard;
  if (!gathers) {
    if (!sharding.reshardAfterForward.isEverywhere(ReshardRule::by_strategy) && !fetches)
      remark(afterForward, "where nothing is sharded");
    if (sharding.reshardBeforeBackward)
      remark("sharding.reshard_before_backward", "where nothing is sharded");
    if (!sharding.dim.isEverywhere(ShardDim::first))
      remark("sharding.dim", "where nothing is sharded");
    if (!sharding.replicated.empty())
      remark("sharding.replicated", "where nothing is sharded");
    if (!fetches && recipe.schedule.forwardPrefetch != decltype(recipe.schedule.forwardPrefetch)(std::int64_t(1)))
      remark("schedule.forward_prefetch", "where nothing is gathered");
    if (!fetches && recipe.schedule.backwardPrefetch != decltype(recipe.schedule.backwardPrefetch)(std::int64_t(1)))
      remark("schedule.backward_prefetch", "where nothing is gathered");
  }
  if (gathers && sharding.reshardBeforeBackward && sharding.reshardAfterForward.isEverywhere(true))
    remark("sharding.reshard_before_backward", "where everything is released behind the forward");
  if (!gradient.clipNorm && gradient.clipType != 2)
    remark("gradient.clip_type", "without 'gradient.clip_norm'");
  if (recipe.mesh.shard == 1 && sharding.strategy != ShardingStrategy::full_shard)
    remark("sharding.strategy", "where nothing is sharded");
  if (recipe.mesh.shard * recipe.mesh.replicate == 1) {
    if (gradient.forceSum)
      remark("gradient.force_sum", "on one rank");
    if (recipe.schedule.reduceBuffers != 1)
      remark("schedule.reduce_buffers", "on one rank");
    if (recipe.statistics.sync != StatisticsSync::never)
      remark("statistics.sync", "on one rank");
    bool isAlone = recipe.mesh.tensor == 1;
    if (isAlone && sharding.units != decltype(sharding.units)("block") && memory.offload.empty())
      remark("sharding.units", "on one rank");
    if (isAlone && recipe.loss.mean != LossMean::rank && gradient.microbatches == 1)
      remark("loss.mean", "on one rank with one micro-batch");
  }
  return remarks;
}
