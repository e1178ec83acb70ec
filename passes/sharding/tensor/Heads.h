//===- Heads.h - heads that several ranks share --------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
#define SLUICE_PASSES_SHARDING_TENSOR_HEADS_H

#include "passes/sharding/tensor/Layout.h"

#include "mlir/IR/Value.h"

namespace sluice::tensor {

/// True where the factor of the value's dim `dim`, whose extent the ranks do not divide, comes forward to an op that has
/// it several times over in a dim of another operand, which the ranks divide: as heads of keys and values, of which each
/// serves several heads of queries. Then every rank can have all of it, and the work is split all the same.
bool isShared(mlir::Value value, std::int64_t dim, std::int64_t ranks);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
