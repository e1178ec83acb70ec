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
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sluice::spmd {

/// True for reductions of all_reduce, and of those for the ones of reduce_scatter.
inline bool isReduction(ReductionKind kind) { return kind != ReductionKind::none; }
inline bool isSumOrMean(ReductionKind kind) { return isReduction(kind) && kind != ReductionKind::max; }

/// An axis along which each rank holds a partial result, and how these are combined.
struct PartialAxis {
  mlir::StringAttr axis;
  PartialReduction reduction = PartialReduction::none;
  bool operator==(const PartialAxis &) const = default;
};
inline llvm::hash_code hash_value(const PartialAxis &partial) {
  return llvm::hash_combine(partial.axis, partial.reduction);
}

} // namespace sluice::spmd

#define GET_ATTRDEF_CLASSES
#include "dialect/spmd/SpmdAttrs.h.inc"

#include "dialect/spmd/SpmdDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/spmd/SpmdTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/spmd/SpmdOps.h.inc"

#endif // SLUICE_DIALECT_SPMD_SPMD_H
