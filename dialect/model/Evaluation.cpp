//===- Evaluation.cpp - a training function outside training -------------------------------===//

#include "dialect/model/Evaluation.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sluice;

llvm::LogicalResult model::makeEvaluation(func::FuncOp function) {
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
  function.walk([](model::WriteOp write) { write.erase(); });
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    auto name = function.getArgAttrOfType<StringAttr>(i, model::inputName);
    const bool isOfStep = name && isDeclaredByModel(impliedPortRole(PortDirection::input, name));
    if (isOfStep && function.getArgument(i).use_empty())
      (void)function.eraseArgument(i);
  }
  return success();
}
