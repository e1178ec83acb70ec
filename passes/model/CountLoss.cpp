//===- CountLoss.cpp - model-count-loss -----------------------------------------------------===//

#include "dialect/model/SavedTensors.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {
#define GEN_PASS_DEF_COUNTLOSS
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct CountLossPass : sluice::impl::CountLossBase<CountLossPass> {
  using CountLossBase::CountLossBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), mean);
    if (failed(recipe))
      return signalPassFailure();
    const bool isOverTokens = recipe->loss.mean == LossMean::tokens;
    for (EntryKind kind : {EntryKind::train, EntryKind::eval})
      for (func::FuncOp function : entryFunctions(getOperation(), kind))
        // The mean of an evaluation is over all its counted targets in any case.
        if (function.getNumResults() == 1 && (isOverTokens || kind == EntryKind::eval) &&
            failed(buildSumAndCount(function)) && isOverTokens) {
          Operation *loss = function.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
          function.emitError("'loss.mean' = \"tokens\" for the loss of '@")
              << function.getName() << "', expected the mean of a loss that counts its targets but got "
              << (loss ? loss->getName().getStringRef() : llvm::StringRef("an argument"));
          return signalPassFailure();
        }
  }

  /// Failure if the loss is no mean over counted targets; then nothing changes.
  static LogicalResult buildSumAndCount(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    Value loss = terminator->getOperand(0);
    auto counted = loss.getDefiningOp<CountedMeanOpInterface>();
    InsertionRecorder recorder;
    llvm::FailureOr<std::pair<Value, Value>> parts = failure();
    if (counted && cast<OpResult>(loss).getResultNumber() == 0) {
      ImplicitLocOpBuilder builder(counted->getLoc(), counted, &recorder);
      parts = counted.buildSumAndCount(builder);
    }
    if (failed(parts))
      return failure();
    copyScope(recorder.created, counted);
    for (Operation *op : recorder.created)
      if (op->getName() == counted->getName())
        model::copyAttribute(counted, model::savedName, op);
    terminator->setOperand(0, parts->first);
    addOutput(function, parts->second, nameOf(PortRole::counted));
    if (isOpTriviallyDead(counted))
      counted->erase();
    return success();
  }
};

} // namespace
