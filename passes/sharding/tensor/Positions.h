//===- Positions.h - the position of a rank's chunk, for kernels that read it --------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H
#define SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H

#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/IR/Operation.h"

namespace sluice::tensor {

/// Sets `spmd.local_shardings`, one for each operand and result, if the kernel reads its position in a factor or leaves
/// padding out. In the update padding is zeros, and remains so. `isComputed`: the ranks compute chunks of a replicated
/// value, whose position no operand has. Types are global.
void setPositions(mlir::Operation *op, const ShardingRule &rule, const FactorSharding &factor, bool isComputed,
                  const Axis &axis);

/// False where the op already has a position along another axis.
bool canPosition(mlir::Operation *op, const ShardingRule &rule, const FactorSharding &factor, bool isComputed,
                 const Axis &axis);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_POSITIONS_H
