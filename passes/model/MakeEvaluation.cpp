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
    SymbolTable symbols(module);
    auto source = symbols.lookup<func::FuncOp>("train_step");
    if (!source || model::entryOf(source) != EntryKind::train || symbols.lookup("eval_step"))
      return;
    func::FuncOp evaluation = source.clone();
    evaluation.setName("eval_step");
    evaluation->setAttr(model::entryName, model::EntryKindAttr::get(&getContext(), EntryKind::eval));
    module.push_back(evaluation);
    if (failed(evaluateOps(evaluation)))
      return signalPassFailure();
    // A write of the value that was read is erased.
    evaluation.walk([](model::WriteOp write) {
      auto read = write.getValue().getDefiningOp<model::ReadOp>();
      if (read && read.getParameter() == write.getParameter() && read.getState() == write.getState())
        write.erase();
    });
    // Inputs that only training needs are removed.
    for (unsigned i = evaluation.getNumArguments(); i-- > 0;) {
      bool isOfStep = isStepInput(evaluation.getArgAttrOfType<StringAttr>(i, model::inputName).getValue());
      if (isOfStep && evaluation.getArgument(i).use_empty())
        (void)evaluation.eraseArgument(i);
    }
  }
};

} // namespace
