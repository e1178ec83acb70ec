//===- Common.cpp - what the passes of the model stage share ---------------------------===//

#include "passes/model/Common.h"

using namespace mlir;

llvm::SmallVector<func::FuncOp> sluice::entryFunctions(ModuleOp module, llvm::StringRef kind) {
  llvm::SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    auto entry = function->getAttrOfType<StringAttr>(names::entry);
    if (entry && (kind.empty() || entry.getValue() == kind))
      functions.push_back(function);
  }
  return functions;
}

llvm::StringRef sluice::textAttribute(Operation *op, llvm::StringRef name) {
  auto text = op->getAttrOfType<StringAttr>(name);
  return text ? text.getValue() : llvm::StringRef();
}

llvm::StringRef sluice::outermost(llvm::StringRef path) { return path.split('/').first; }

bool sluice::hasPhase(func::FuncOp function, llvm::StringRef phase) {
  for (Operation &op : function.getBody().front())
    if (textAttribute(&op, names::phase) == phase)
      return true;
  return false;
}
