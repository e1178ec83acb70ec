//===- SyncStatistics.cpp - running statistics are averaged over the ranks -------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Placement.h"
#include "passes/sharding/Utils.h"

namespace sluice {
#define GEN_PASS_DEF_SYNCSTATISTICS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

constexpr llvm::StringLiteral syncKey = "statistics.sync";

/// The operands by which the section of micro-batches yields the new values of states of floats. Counts are equal on
/// all ranks.
SmallVector<OpOperand *> findStatistics(func::FuncOp function, const Placement &placement) {
  SmallVector<OpOperand *> found;
  for (OpOperand &returned : function.front().getTerminator()->getOpOperands()) {
    auto donates = function.getResultAttrOfType<IntegerAttr>(returned.getOperandNumber(), spmd::donatesName);
    auto name = donates ? function.getArgAttrOfType<FlatSymbolRefAttr>(donates.getInt(), spmd::parameterName) : nullptr;
    model::ParameterOp parameter = name ? placement.find(name.getValue()) : nullptr;
    if (!parameter || !parameter.isState() || !isa<FloatType>(getElementTypeOrSelf(returned.get())))
      continue;
    auto section = returned.get().getDefiningOp<spmd::SectionOp>();
    if (!section)
      continue;
    OpOperand &yielded = section.getYield()->getOpOperand(cast<OpResult>(returned.get()).getResultNumber());
    if (yielded.get().getDefiningOp())
      found.push_back(&yielded);
  }
  return found;
}

/// Averages all of them by one collective after the last op that computes one, and waits for it where the section ends.
void average(ArrayRef<OpOperand *> statistics, const Placement &placement) {
  Operation *last = statistics.front()->get().getDefiningOp();
  SmallVector<Value> values;
  for (OpOperand *statistic : statistics) {
    values.push_back(statistic->get());
    if (Operation *op = statistic->get().getDefiningOp(); last->isBeforeInBlock(op))
      last = op;
  }
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  auto start = spmd::AllReduceStartOp::create(builder, last->getLoc(), values, placement.dataAxes(),
                                              ReductionKind::mean, APFloat(1.0), StringAttr());
  model::setPhase(start, model::phaseOf(last));
  Operation *end = statistics.front()->getOwner();
  builder.setInsertionPoint(end);
  auto wait = spmd::WaitOp::create(builder, last->getLoc(), start);
  model::setPhase(wait, model::phaseOf(wait->getPrevNode()));
  if (cast<spmd::SectionOp>(end->getParentOp()).getRepeat() > 1)
    for (Operation *op : {start.getOperation(), wait.getOperation()})
      spmd::setWhen(op, WhenKind::last);
  for (auto [statistic, value] : llvm::zip(statistics, wait.getValues()))
    statistic->set(value);
}

struct SyncStatistics : sluice::impl::SyncStatisticsBase<SyncStatistics> {
  using SyncStatisticsBase::SyncStatisticsBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), sync);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->statistics.sync != StatisticsSync::last)
      return;
    Placement placement(getOperation());
    bool any = false;
    for (func::FuncOp entry : entriesOf(getOperation())) {
      if (model::entryOf(entry) != EntryKind::train)
        continue;
      SmallVector<OpOperand *> statistics = findStatistics(entry, placement);
      any |= !statistics.empty();
      // A second run changes nothing.
      if (!statistics.empty() && !statistics.front()->get().getDefiningOp<spmd::WaitOp>())
        average(statistics, placement);
    }
    if (!any && recipe->mesh.shard * recipe->mesh.replicate > 1)
      emitRemark(UnknownLoc::get(&getContext()))
          << recipe->origin(syncKey) << ": '" << syncKey << "' has no effect on a model without running statistics";
  }
};

} // namespace
