//===- Positions.h - which rows of a factor the kernel of an op works on --------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H
#define SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H

#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/IR/Operation.h"

namespace sluice::tensor {

/// States to the kernel its position in a factor, and how many of the rows are data: `spmd.local_shardings`, one for
/// each operand and result. None where it needs none. In the update the padding of parts is zeros, and stays so.
/// `isLocal`: the ranks compute the parts of a replicated value, whose position nothing else states. Types are global.
void setPositions(mlir::Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isLocal,
                  const Axis &axis);

/// False where the position cannot be stated, since the op has one along another axis.
bool canPosition(mlir::Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isLocal,
                 const Axis &axis);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H
