//===- Plan.h - the plan dialect ------------------------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_PLAN_H
#define SLUICE_DIALECT_PLAN_PLAN_H

#include "dialect/rules/Roles.h"
#include "dialect/rules/Rules.h"
#include "dialect/rules/When.h"
#include "runtime/base/DType.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/plan/PlanDialect.h.inc"

namespace sluice::plan_ir {
/// The runtime's name of an element type.
DType dtypeOf(mlir::Type type);
/// Verifies that every view of an instruction names a buffer and is inside it.
llvm::LogicalResult verifyInstruction(mlir::Operation *op, mlir::SymbolTableCollection &tables);
} // namespace sluice::plan_ir

#define GET_ATTRDEF_CLASSES
#include "dialect/plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialect/plan/PlanOps.h.inc"

#endif // SLUICE_DIALECT_PLAN_PLAN_H
