//===- Heads.h - heads are not cut, and several ranks may share one -------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
#define SLUICE_PASSES_SHARDING_TENSOR_HEADS_H

#include "passes/sharding/tensor/Layout.h"

#include "mlir/IR/Value.h"

namespace sluice::tensor {

/// True where the factor of the value's dim `dim`, whose extent the ranks do not divide, comes forward to an op that has
/// it several times over in a dim of another operand, which the ranks divide: as heads of keys and values, of which each
/// serves several heads of queries. Then every rank can have all of it, and the work is split all the same.
bool isShared(mlir::Value value, std::int64_t dim, std::int64_t ranks);

/// How many rows of the parameter's split dim stay together: those of a head, where an op behind the parameter, or ahead of
/// what it is multiplied with, takes the dim apart; of all heads that serve one of keys and values, where the ranks do not
/// divide heads. 1 where nothing is taken apart, and where heads are shared: then every rank has all of them anyway.
std::int64_t grainOf(mlir::Value parameter, const Layout &layout, std::int64_t ranks);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
