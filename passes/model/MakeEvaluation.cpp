//===- MakeEvaluation.cpp - model-make-evaluation -------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_MAKEEVALUATION
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Replaces ops by their form outside training (EvaluationOpInterface).
LogicalResult evaluateOps(func::FuncOp function) {
  llvm::SmallVector<Operation *> trained;
  function.walk([&](EvaluationOpInterface op) { trained.push_back(op); });
  for (Operation *op : trained) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    llvm::FailureOr<llvm::SmallVector<Value>> values = cast<EvaluationOpInterface>(op).evaluate(builder);
    if (failed(values))
      return failure();
    op->replaceAllUsesWith(*values);
    op->erase();
  }
  return success();
}

struct MakeEvaluationPass : sluice::impl::MakeEvaluationBase<MakeEvaluationPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SmallVector<func::FuncOp> trained = entryFunctions(module, EntryKind::train);
    if (trained.empty() || SymbolTable::lookupSymbolIn(module, evaluationName))
      return;
    auto *named = llvm::find_if(trained, [](func::FuncOp function) { return function.getSymName() == "train_step"; });
    func::FuncOp evaluation = (named == trained.end() ? trained.front() : *named).clone();
    evaluation.setName(evaluationName);
    evaluation->setAttr(model::entryName, model::EntryKindAttr::get(&getContext(), EntryKind::eval));
    module.push_back(evaluation);
    if (failed(evaluateOps(evaluation)))
      return signalPassFailure();
    // An evaluation changes no state.
    evaluation.walk([](model::WriteOp write) { write.erase(); });
    // Inputs that only training needs are removed.
    for (unsigned i = evaluation.getNumArguments(); i-- > 0;) {
      bool isOfStep = isDeclaredByModel(inputRole(evaluation, i));
      if (isOfStep && evaluation.getArgument(i).use_empty())
        (void)evaluation.eraseArgument(i);
    }
  }
};

} // namespace
