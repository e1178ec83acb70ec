//===- Model.h - the model dialect -------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_MODEL_H
#define SLUICE_DIALECT_MODEL_MODEL_H

#include "dialect/rules/Enums.h"
#include "dialect/rules/Rules.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sluice::model {

/// True if the types have the same shapes and element types, whatever their encodings.
bool typesAgree(mlir::TypeRange a, mlir::TypeRange b);
/// True for no value, or one with the element type of `of`.
bool hasElementOf(mlir::Value value, mlir::Value of);
/// True for a value with the type of statistics of `of`.
bool hasStatisticsOf(mlir::Value value, mlir::Value of);
/// True for a value with the type of a gradient of `of`: its element type or that of its statistics.
bool hasGradientOf(mlir::Value value, mlir::Value of);

} // namespace sluice::model

#define GET_ATTRDEF_CLASSES
#include "dialect/model/ModelAttrs.h.inc"

#include "dialect/model/ModelDialect.h.inc"

#define GET_OP_CLASSES
#include "dialect/model/ModelOps.h.inc"

#endif // SLUICE_DIALECT_MODEL_MODEL_H
