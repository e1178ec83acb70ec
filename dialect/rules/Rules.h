//===- Rules.h - the op interfaces, in C++ --------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_RULES_H
#define SLUICE_DIALECT_RULES_RULES_H

#include "dialect/rules/KernelCall.h"
#include "dialect/rules/Optimizer.h"
#include "dialect/rules/ShardingRule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace sluice {

/// Floating-point operations, and the least number of bytes read and written. A view costs nothing.
struct OpCost {
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
};

} // namespace sluice

#include "dialect/rules/RuleAttrs.h.inc"
#include "dialect/rules/Rules.h.inc"

namespace sluice {

/// True if a discardable attribute states a sharding under which a rank holds a part of one of the op's tensors:
/// extents may then be those of a part.
bool hasShardedTensor(mlir::Operation *op);

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_RULES_H
