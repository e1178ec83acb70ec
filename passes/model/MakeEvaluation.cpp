//===- MakeEvaluation.cpp - model-make-evaluation -------------------------------------------===//

#include "dialect/model/Evaluation.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_MAKEEVALUATION
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

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
    if (failed(model::makeEvaluation(evaluation)))
      signalPassFailure();
  }
};

} // namespace
