//===- LaunchOperands.cpp - operands of a launch for the catalogue -------------------===//
#include "passes/schedule/LaunchOperands.h"

#include "llvm/ADT/STLExtras.h"

namespace sluice {

std::vector<Operand> launchOperands(mlir::ArrayAttr views) {
  std::vector<Operand> operands;
  for (plan_ir::ViewAttr view : views.getAsRange<plan_ir::ViewAttr>()) {
    Operand operand;
    operand.dtype = plan_ir::dtypeOf(view.getElementType());
    operand.rank = view.getShape().size();
    for (auto [d, extent, stride] : llvm::enumerate(view.getShape(), view.getOrComputeStrides())) {
      operand.shape[d] = operand.extent[d] = operand.global[d] = extent;
      operand.strides[d] = stride;
    }
    operands.push_back(operand);
  }
  return operands;
}

} // namespace sluice
