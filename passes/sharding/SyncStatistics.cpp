//===- SyncStatistics.cpp - running statistics become one over the ranks ---------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Placement.h"
#include "passes/sharding/Scopes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_SYNCSTATISTICS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

constexpr llvm::StringLiteral syncKey = "statistics.sync";

/// Where the section that micro-batches repeat yields what takes the place of a state of floats. Counts are alike on
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
    OpOperand &yielded =
        section.getBody().front().getTerminator()->getOpOperand(cast<OpResult>(returned.get()).getResultNumber());
    if (yielded.get().getDefiningOp())
      found.push_back(&yielded);
  }
  return found;
}

/// All of them in one collective, behind the last that is made; what follows does not wait for it.
void average(ArrayRef<OpOperand *> statistics, const Placement &placement) {
  Operation *last = statistics.front()->get().getDefiningOp();
  SmallVector<Value> values;
  for (OpOperand *statistic : statistics) {
    values.push_back(statistic->get());
    if (Operation *maker = statistic->get().getDefiningOp(); last->isBeforeInBlock(maker))
      last = maker;
  }
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  auto start =
      spmd::AllReduceStartOp::create(builder, last->getLoc(), spmd::TokenType::get(builder.getContext()), values,
                                     placement.dataAxes(), ReductionKind::mean, APFloat(1.0), StringAttr());
  model::setPhase(start, model::phaseOf(last));
  Operation *end = statistics.front()->getOwner();
  builder.setInsertionPoint(end);
  auto wait = spmd::WaitOp::create(builder, last->getLoc(), ValueRange(values).getTypes(), start.getToken());
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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (model::entryOf(function) != EntryKind::train || function.isExternal())
        continue;
      SmallVector<OpOperand *> statistics = findStatistics(function, placement);
      any |= !statistics.empty();
      // Of what is averaged nothing is averaged again.
      if (!statistics.empty() && !statistics.front()->get().getDefiningOp<spmd::WaitOp>())
        average(statistics, placement);
    }
    if (!any && recipe->mesh.shard * recipe->mesh.replicate > 1)
      emitRemark(UnknownLoc::get(&getContext()))
          << recipe->origin(syncKey) << ": '" << syncKey << "' has no effect on a model without running statistics";
  }
};

} // namespace
