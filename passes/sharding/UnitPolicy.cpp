//===- UnitPolicy.cpp - the settings of the recipe for each unit --------------------------===//

#include "passes/sharding/UnitPolicy.h"

#include "dialect/spmd/Names.h"

#include "mlir/IR/Builders.h"
#include "passes/recipe/Keys.h"

#include <set>

using namespace mlir;
using namespace sluice;

namespace {

constexpr llvm::StringRef afterForward = keys::reshardAfterForward;
constexpr llvm::StringRef afterBackward = keys::reshardAfterBackward;
constexpr llvm::StringRef beforeBackward = keys::reshardBeforeBackward;
constexpr llvm::StringLiteral gradientSync = "gradient.sync";
/// The length of the list of repetitions of a plan's instruction.
constexpr std::size_t maxListed = 64;

std::string ownerText(StringRef unit) { return "unit '" + unit.str() + "'"; }

/// The ranks over which a unit keeps a shard; nothing where it keeps all or none.
std::optional<std::int64_t> keptRanks(const Recipe &recipe, StringRef unit) {
  auto *ranks = std::get_if<std::int64_t>(&recipe.sharding.reshardAfterForward.at(unit));
  if (!ranks || *ranks == 1 || *ranks == recipe.mesh.shard)
    return std::nullopt;
  return *ranks;
}

bool reshardsAfterForward(const Recipe &recipe, spmd::UnitOp unit) {
  const auto &setting = recipe.sharding.reshardAfterForward.at(unit.getName());
  if (auto *flag = std::get_if<bool>(&setting))
    return *flag;
  if (auto *ranks = std::get_if<std::int64_t>(&setting))
    return *ranks != 1;
  return recipe.sharding.strategy != ShardingStrategy::shard_grad_op && !unit.getRoot();
}

/// Sets the unit's `sync` or `sync_in`; neither where its gradients are reduced in the last micro-batch.
Status setSync(spmd::UnitOp op, const Recipe &recipe, StringRef unit) {
  const auto &setting = recipe.gradient.sync.at(unit);
  if (auto *mode = std::get_if<GradientSync>(&setting)) {
    if (*mode != GradientSync::last && recipe.gradient.hasMicrobatches())
      op.setSync(*mode == GradientSync::every ? SyncMode::every : SyncMode::reduce_scatter_only);
    return Status::ok();
  }
  if (recipe.gradient.microbatches.table)
    return recipe.refuse(gradientSync, ownerText(unit),
                         ": a list by micro-batch cannot be combined with a table '" + std::string(keys::microbatches) +
                             "'");
  const std::int64_t count = recipe.gradient.microbatches.value;
  const auto &list = std::get<std::vector<bool>>(setting);
  if (static_cast<std::int64_t>(list.size()) != count)
    return recipe.refuse(gradientSync, ownerText(unit),
                         ", expected " + std::to_string(count) + " values, one for each micro-batch, but got " +
                             std::to_string(list.size()));
  SmallVector<std::int64_t> reduces;
  for (std::size_t index = 0; index < list.size(); ++index)
    if (list[index])
      reduces.push_back(static_cast<std::int64_t>(index));
  if (reduces.empty() || reduces.back() != count - 1)
    return recipe.refuse(gradientSync, ownerText(unit), ", expected true for the last micro-batch but got false");
  if (static_cast<std::int64_t>(reduces.size()) == count) {
    if (count > 1)
      op.setSync(SyncMode::every);
    return Status::ok();
  }
  if (reduces.size() == 1)
    return Status::ok();
  // Such gradients are accumulated before and after their reduction, and the host does so only after it.
  if (recipe.memory.offloadsState(unit))
    return recipe.refuse(gradientSync, ownerText(unit),
                         ": a list that reduces in some micro-batches before the last cannot be combined with "
                         "'memory.offload'");
  // Plans list the micro-batches that reduce, and those that do not.
  if (std::size_t others = list.size() - reduces.size(); std::max(reduces.size(), others) > maxListed)
    return recipe.refuse(gradientSync, ownerText(unit),
                         ", expected at most " + std::to_string(maxListed) +
                             " micro-batches that reduce and as many that do not, or \"last\" or \"every\", but got " +
                             std::to_string(reduces.size()) + " and " + std::to_string(others));
  op.setSyncIn(When(reduces));
  return Status::ok();
}

} // namespace

Result<llvm::SmallVector<std::int64_t>> sluice::shardAxisSizes(const Recipe &recipe, ArrayRef<std::string> units) {
  std::int64_t all = recipe.mesh.shard;
  std::set<std::int64_t> kept;
  for (const std::string &unit : units)
    if (std::optional<std::int64_t> ranks = keptRanks(recipe, unit)) {
      if (all % *ranks != 0) {
        std::string divisors;
        for (std::int64_t divisor = 1; divisor <= all; ++divisor)
          if (all % divisor == 0)
            divisors += (divisors.empty() ? "" : ", ") + std::to_string(divisor);
        return recipe.refuse(afterForward, ownerText(unit),
                             ", expected a divisor of 'mesh.shard' (" + divisors + ") but got " +
                                 std::to_string(*ranks));
      }
      for (std::int64_t other : kept)
        if (*ranks % other != 0 && other % *ranks != 0)
          return recipe.refuse(afterForward, ownerText(unit),
                               ", expected a number that divides or is divided by " + std::to_string(other) +
                                   " of another unit but got " + std::to_string(*ranks));
      kept.insert(*ranks);
    }
  SmallVector<std::int64_t> sizes;
  std::int64_t inner = 1;
  kept.insert(all);
  for (std::int64_t ranks : kept) {
    sizes.insert(sizes.begin(), ranks / inner);
    inner = ranks;
  }
  return sizes;
}

llvm::SmallVector<std::string> sluice::shardAxisNames(std::size_t count) {
  SmallVector<std::string> names;
  for (std::size_t index = 0; index < count; ++index)
    names.push_back(stringifyAxisRole(AxisRole::shard).str() + (count == 1 ? "" : "." + std::to_string(index)));
  return names;
}

Status sluice::setUnitPolicy(spmd::UnitOp unit, const Recipe &recipe, ArrayRef<std::int64_t> shardAxes) {
  Builder builder(unit.getContext());
  StringRef name = unit.getName();
  unit.setReshardAfterForward(reshardsAfterForward(recipe, unit));
  if (std::optional<std::int64_t> ranks = keptRanks(recipe, name)) {
    if (recipe.sharding.strategy == ShardingStrategy::no_shard)
      return recipe.refuse(afterForward, ownerText(name),
                           ": a number of ranks cannot be combined with 'sharding.strategy' = \"no_shard\"");
    SmallVector<std::string> names = shardAxisNames(shardAxes.size());
    SmallVector<Attribute> axes;
    std::int64_t inner = 1;
    for (std::size_t index = shardAxes.size(); index-- > 0 && inner < *ranks;) {
      axes.insert(axes.begin(), builder.getStringAttr(names[index]));
      inner *= shardAxes[index];
    }
    unit.setKeptAxesAttr(builder.getArrayAttr(axes));
  }
  unit.setReshardBeforeBackward(recipe.sharding.reshardBeforeBackward);
  if (recipe.sharding.reshardAfterBackward.at(name) == ReshardAfterBackward::last &&
      recipe.gradient.hasMicrobatches()) {
    if (unit.getReshardAfterForward())
      return recipe.refuse(afterBackward, ownerText(name),
                           ": \"last\" requires 'sharding.reshard_after_forward' = false for the unit");
    if (unit.getReshardBeforeBackward())
      return recipe.refuse(afterBackward, ownerText(name),
                           ": \"last\" requires 'sharding.reshard_before_backward' = false");
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
  auto remarkIf = [&](bool isIneffective, StringRef key, StringRef why) {
    if (isIneffective)
      remarks.push_back(recipe.origin(key) + ": '" + key.str() + "' has no effect " + why.str());
  };
  const Recipe::Sharding &sharding = recipe.sharding;
  const Recipe::Gradient &gradient = recipe.gradient;
  const Recipe::Schedule &schedule = recipe.schedule;
  const Recipe::Memory &memory = recipe.memory;
  const bool isOneBatch = !gradient.hasMicrobatches();
  remarkIf(isOneBatch && !gradient.sync.isEverywhere(GradientSync::last), gradientSync, "with one micro-batch");
  remarkIf(isOneBatch && !sharding.reshardAfterBackward.isEverywhere(ReshardAfterBackward::always), afterBackward,
           "with one micro-batch");
  remarkIf(!isOneBatch && gradient.sync.isEverywhere(GradientSync::reduce_scatter_only) && recipe.mesh.replicate == 1,
           gradientSync, "beyond \"every\" with one replica");
  remarkIf(!memory.offloads() && !memory.pinned, "memory.pinned", "without 'memory.offload'");
  remarkIf(memory.offloads(Offloaded::optimizer) && !memory.offloads(Offloaded::parameters) &&
               !memory.offloads(Offloaded::activations) &&
               recipe.optimizer.info()->states(recipe.optimizer.settings).empty(),
           keys::memoryOffload, "on an optimizer without state");
  remarkIf(recipe.kernels.attention == AttentionKernels::own && recipe.target.device == TargetDevice::cpu,
           keys::attentionKernels, "without 'target.device' = \"cuda\"");
  const bool gathers = recipe.mesh.shard > 1 && sharding.strategy != ShardingStrategy::no_shard;
  const bool gathersOrCopies = gathers || memory.offloads(Offloaded::parameters);
  constexpr llvm::StringLiteral unsharded = "where nothing is sharded", ungathered = "where nothing is gathered";
  remarkIf(!gathersOrCopies && !sharding.reshardAfterForward.isEverywhere(ReshardRule::by_strategy), afterForward,
           unsharded);
  remarkIf(!gathers && sharding.reshardBeforeBackward, beforeBackward, unsharded);
  remarkIf(!gathers && !sharding.dim.isEverywhere(ShardDim::first), keys::shardingDim, unsharded);
  remarkIf(!gathers && !sharding.replicated.empty(), "sharding.replicated", unsharded);
  auto isOneUnit = [](const auto &distance) { return std::decay_t<decltype(distance)>(std::int64_t(1)) == distance; };
  remarkIf(!gathersOrCopies && !isOneUnit(schedule.forwardPrefetch), keys::forwardPrefetch, ungathered);
  remarkIf(!gathersOrCopies && !memory.offloads(Offloaded::activations) && !isOneUnit(schedule.backwardPrefetch),
           keys::backwardPrefetch, ungathered);
  remarkIf(gathers && sharding.reshardBeforeBackward && sharding.reshardAfterForward.isEverywhere(true), beforeBackward,
           "where everything is released after the forward");
  const auto isSelective = [](const auto &entry) { return entry.second == RecomputePolicy::selective; };
  const auto &policy = recipe.recompute.policy;
  const bool savesOps =
      policy.table ? llvm::any_of(*policy.table, isSelective) : policy.isEverywhere(RecomputePolicy::selective);
  remarkIf(!savesOps && !recipe.recompute.save.isEverywhere(Strings()), keys::recomputeSave,
           "without a policy \"selective\"");
  remarkIf(!gradient.clipNorm && gradient.clipType != 2, "gradient.clip_type", "without 'gradient.clip_norm'");
  remarkIf(recipe.mesh.shard == 1 && sharding.strategy != ShardingStrategy::full_shard, "sharding.strategy", unsharded);
  const bool isOneRank = recipe.mesh.shard * recipe.mesh.replicate == 1,
             isUnsharded = isOneRank && recipe.mesh.tensor == 1;
  remarkIf(isOneRank && gradient.forceSum, "gradient.force_sum", "on one rank");
  remarkIf(isOneRank && !isOneUnit(schedule.reduceBuffers), keys::reduceBuffers, "on one rank");
  remarkIf(isOneRank && recipe.statistics.sync != StatisticsSync::never, "statistics.sync", "on one rank");
  remarkIf(isUnsharded && sharding.units != decltype(sharding.units)("block") && !memory.offloads(), keys::units,
           "on one rank");
  remarkIf(isUnsharded && recipe.loss.mean != LossMean::rank && isOneBatch, "loss.mean",
           "on one rank with one micro-batch");
  return remarks;
}
