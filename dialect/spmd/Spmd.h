//===- Spmd.h - the spmd dialect ------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SPMD_H
#define SLUICE_DIALECT_SPMD_SPMD_H

#include "dialect/rules/Rules.h"
#include "dialect/rules/ShardingRule.h"
#include "dialect/rules/When.h"
#include "dialect/spmd/Collectives.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_ATTRDEF_CLASSES
#include "dialect/spmd/SpmdAttrs.h.inc"

#include "dialect/spmd/SpmdDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/spmd/SpmdTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/spmd/SpmdOps.h.inc"

#endif // SLUICE_DIALECT_SPMD_SPMD_H
