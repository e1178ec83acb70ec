//===- AccumulateGradients.cpp - gradients over the micro-batches of a step -----------------===//
//
// A section that is repeated for micro-batches has one gradient for each repetition. `sync` of spmd.unit is the
// schedule of repetitions in which the gradients are reduced over the ranks. Gradients of the other repetitions are
// accumulated before the reduction, and the results of several reductions after it. With `reduce_scatter_only` the
// shards are accumulated between the reduce_scatter and the all_reduce over replicas, so that one reshard becomes two.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"

namespace sluice {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The repetitions of a section in which a unit's gradients are reduced.
struct ReductionSchedule {
  /// Over the ranks along the shard axes, and over replicas.
  When overShards = WhenKind::last, overReplicas = WhenKind::last;
  bool accumulatesBefore = true, accumulatesAfter = false;
  /// The repetitions in which the accumulation before the reduction begins; the first for null.
  spmd::WhenAttr starts = {};
};

ReductionSchedule scheduleOf(spmd::UnitOp unit, std::int64_t repeat) {
  if (unit.getSync() == SyncMode::every)
    return {WhenKind::all, WhenKind::all, /*accumulatesBefore=*/false, /*accumulatesAfter=*/true};
  if (unit.getSync() == SyncMode::reduce_scatter_only)
    return {WhenKind::all, WhenKind::last, /*accumulatesBefore=*/false, /*accumulatesAfter=*/true};
  ReductionSchedule schedule;
  if (std::optional<When> listed = unit.getSyncIn()) {
    SmallVector<std::int64_t> reduces, starts = {0};
    for (std::int64_t repetition = 0; repetition < repeat; ++repetition)
      if (listed->includes(repetition, repeat)) {
        reduces.push_back(repetition);
        if (repetition + 1 < repeat)
          starts.push_back(repetition + 1);
      }
    // Attributes own their lists.
    auto attribute = [&](ArrayRef<std::int64_t> repetitions) {
      return spmd::WhenAttr::get(unit.getContext(), When::of(repetitions, repeat));
    };
    schedule.overShards = schedule.overReplicas = attribute(reduces).getValue();
    schedule.accumulatesAfter = true;
    schedule.starts = attribute(starts);
  }
  return schedule;
}

/// The sum over repetitions of a value of a section, after the op that computes it.
Value accumulateLocal(Value local, spmd::SectionOp section, spmd::WhenAttr starts) {
  OpBuilder builder(section.getContext());
  builder.setInsertionPointAfterValue(local);
  // Values from outside are also accumulated in the section.
  if (local.getParentBlock() != &section.getBody().front())
    builder.setInsertionPointToStart(&section.getBody().front());
  auto sum = spmd::AccumulateOp::create(builder, local.getLoc(), local.getType(), local, starts);
  Operation *op = local.getDefiningOp();
  model::setPhase(sum, op ? model::phaseOf(op) : Phase::backward);
  return sum.getSum();
}

/// The sum over the repetitions `when` of a reduced value, at the insertion point.
Value accumulateReduced(OpBuilder &builder, Value value, When when) {
  auto sum = spmd::AccumulateOp::create(builder, value.getLoc(), value.getType(), value, spmd::WhenAttr());
  model::setPhase(sum, Phase::backward);
  spmd::setWhen(sum, when);
  return sum.getSum();
}

/// Accumulates the results of a reshard, after it. The sums have the results' value numbers.
void accumulateResults(spmd::ReshardOp reshard, When when) {
  OpBuilder builder(reshard.getContext());
  builder.setInsertionPointAfter(reshard);
  auto ids = dyn_cast_or_null<DenseI64ArrayAttr>(reshard->removeAttr(model::idsName));
  for (auto [index, value] : llvm::enumerate(reshard.getResults())) {
    Value sum = accumulateReduced(builder, value, when);
    setId(sum.getDefiningOp(), ids, index);
    value.replaceAllUsesExcept(sum, sum.getDefiningOp());
  }
}

/// The sharding after the reduction over shards: still partial over replicas.
spmd::ShardingAttr afterScatter(spmd::ShardingAttr source, spmd::ShardingAttr destination) {
  auto left = llvm::filter_to_vector(source.getPartialAxes(), [&](const spmd::PartialAxis &partial) {
    return !destination.dimAlong(partial.axis.getValue());
  });
  return spmd::ShardingAttr::get(source.getContext(), destination.getDims(), left);
}

/// Reduces over shards first, accumulates the shards, then reduces over replicas.
void splitReduction(spmd::ReshardOp reshard, const ReductionSchedule &schedule) {
  OpBuilder builder(reshard);
  SmallVector<Attribute> between;
  for (std::size_t index = 0; index < reshard->getNumResults(); ++index)
    between.push_back(afterScatter(sourceOf(reshard, index), destinationOf(reshard, index)));
  ArrayAttr middle = builder.getArrayAttr(between);
  auto scatter = spmd::ReshardOp::create(builder, reshard.getLoc(), reshard.getResultTypes(), reshard.getOperands(),
                                         reshard.getSources(), middle, reshard.getUnitAttr());
  scatter->setDiscardableAttrs(reshard->getDiscardableAttrDictionary());
  spmd::setWhen(scatter, schedule.overShards);
  auto sums = llvm::map_to_vector(scatter.getResults(),
                                  [&](Value value) { return accumulateReduced(builder, value, schedule.overShards); });
  reshard.getOperandsMutable().assign(sums);
  reshard.setSourcesAttr(middle);
  spmd::setWhen(reshard, schedule.overReplicas);
}

/// The sum over backward passes of a reduced value is computed where the reductions are.
void setWhenOfSums(Value reduced, When when) {
  for (Operation *user : reduced.getUsers()) {
    if (isa<model::AddOp>(user))
      spmd::setWhen(user, when);
    if (isa<model::AddOp, spmd::AccumulateOp>(user))
      setWhenOfSums(user->getResult(0), when);
  }
}

void accumulate(spmd::ReshardOp reshard, spmd::UnitOp unit, spmd::SectionOp section, std::int64_t shards) {
  ReductionSchedule schedule = scheduleOf(unit, section.getRepeat());
  bool isSplit = schedule.overShards != schedule.overReplicas && shards > 1;
  if (schedule.overShards != schedule.overReplicas && !isSplit) {
    // Without a reduction over shards, the only reduction is in the last repetition.
    schedule.accumulatesBefore = true;
    schedule.accumulatesAfter = false;
  }
  if (schedule.accumulatesBefore)
    for (OpOperand &operand : reshard->getOpOperands())
      operand.set(accumulateLocal(operand.get(), section, schedule.starts));
  if (isSplit) {
    splitReduction(reshard, schedule);
  } else {
    spmd::setWhen(reshard, schedule.overReplicas);
    if (schedule.accumulatesAfter)
      accumulateResults(reshard, schedule.overReplicas);
  }
  for (Value reduced : reshard.getResults())
    setWhenOfSums(reduced, schedule.overReplicas);
}

/// The mean of a scalar over the repetitions of the section that computes it.
void averageRepetitions(spmd::ReshardOp mean) {
  auto section = mean.getOperands()[0].getDefiningOp<spmd::SectionOp>();
  if (!section || section.getRepeat() == 1)
    return;
  Value value = mean.getOperands()[0];
  OpOperand &yielded = section.getYield()->getOpOperand(cast<OpResult>(value).getResultNumber());
  yielded.set(accumulateLocal(yielded.get(), section, {}));
  OpBuilder builder(mean);
  auto scale = model::ScaleOp::create(builder, mean.getLoc(), value.getType(), value,
                                      builder.getF64FloatAttr(1.0 / static_cast<double>(section.getRepeat())));
  model::setPhase(scale, Phase::update);
  mean->setOperand(0, scale.getResult());
}

struct AccumulateGradients : sluice::impl::AccumulateGradientsBase<AccumulateGradients> {
  void runOnOperation() override {
    Placement placement(getOperation());
    getOperation().walk([&](spmd::SectionOp section) {
      for (auto reshard : llvm::to_vector(section.getBody().front().getOps<spmd::ReshardOp>())) {
        if (!isReduction(reshard))
          continue;
        if (!reshard.getUnit()) {
          averageRepetitions(reshard);
          continue;
        }
        // A second run changes nothing.
        if (section.getRepeat() == 1 || reshard->hasAttr(spmd::whenName) ||
            llvm::any_of(reshard->getUsers(), [](Operation *user) { return isa<spmd::AccumulateOp>(user); }))
          continue;
        auto sharded = spmd::shardedDim(destinationOf(reshard));
        accumulate(reshard, placement.units()[placement.indexOf(*reshard.getUnit())], section,
                   sharded ? spmd::groupSize(placement.mesh(), sharded->axesAttr()) : 1);
      }
    });
  }
};

} // namespace
