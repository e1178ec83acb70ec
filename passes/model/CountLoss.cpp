//===- CountLoss.cpp - model-count-loss -----------------------------------------------------===//

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
    if (recipe->loss.mean != LossMean::tokens)
      return;
    for (EntryKind kind : {EntryKind::train, EntryKind::eval})
      for (func::FuncOp function : entryFunctions(getOperation(), kind))
        if (function.getNumResults() == 1 && failed(buildSumAndCount(function)))
          return signalPassFailure();
  }

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
      return function.emitError("'loss.mean' = \"tokens\" for the loss of '@")
             << function.getName() << "', expected the mean of a loss that counts its targets but got "
             << (loss.getDefiningOp() ? loss.getDefiningOp()->getName().getStringRef()
                                      : llvm::StringRef("an argument"));
    copyScope(recorder.created, counted);
    terminator->setOperand(0, parts->first);
    addOutput(function, parts->second, "counted");
    if (isOpTriviallyDead(counted))
      counted->erase();
    return success();
  }
};

} // namespace
