//===- Heads.h - heads are not cut, and several ranks may share one -------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
#define SLUICE_PASSES_SHARDING_TENSOR_HEADS_H

#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/IR/Value.h"

namespace sluice::tensor {

/// True where the factor of the value's dim `dim`, whose extent the ranks do not divide, comes forward to an op that
/// has it several times over in a dim of another operand, which the ranks divide: as heads of keys and values, of which
/// each serves several heads of queries. Then every rank can have all of it, and the work is split all the same.
bool isShared(mlir::Value value, std::int64_t dim, std::int64_t ranks);

/// How many rows of the parameter's sharded dim stay together: those of a head, where an op that reads the parameter,
/// or computes the other operand of its product, splits the dim; of all heads that serve one of keys and values, where
/// the ranks do not divide heads. 1 where no op splits the dim, and where heads are shared: then every rank has all of
/// them.
std::int64_t grainOf(mlir::Value parameter, const AxisSharding &sharding, std::int64_t ranks);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
