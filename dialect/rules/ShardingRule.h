//===- ShardingRule.h - sharding rules: factors of an op's dims ---------------===//
//
// Each dim of each operand and result is a list of factors, outermost first (as in Shardy's sharding rules). A factor
// of operands and results is parallel: sharding it divides the work. A factor of operands alone is reduced: sharding
// it leaves partial results, which `reduction` combines. A factor of results alone is created: any part of it can be
// computed alone. A factor marked `replicated` must not be sharded.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_SHARDINGRULE_H
#define SLUICE_DIALECT_RULES_SHARDINGRULE_H

#include "dialect/rules/Enums.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace sluice {

struct ShardingFactor {
  std::int64_t size = 1;
  /// Must not be sharded: each rank has all of it.
  bool replicated = false;
  /// The kernel reads the offset of its part from views along the factor.
  bool positioned = false;
};

/// Factors of one tensor: per dim the list of factor numbers, outermost first; empty for an extent-1 dim of no factor.
using TensorFactors = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4>;

struct ShardingRule {
  llvm::SmallVector<ShardingFactor> factors;
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// For factors that no result has.
  PartialReduction reduction = PartialReduction::none;
  /// Linear in all operands together: with partial sums as operands the results are partial sums.
  bool linear = false;
  /// The result combines one term of each operand: terms of replicated operands count once.
  bool additive = false;

  unsigned addFactor(std::int64_t size, bool replicated = false, bool positioned = false) {
    factors.push_back({size, replicated, positioned});
    return factors.size() - 1;
  }
  /// One line: `([i, j], [j, k]) -> ([i, k]) {i=2, j=4, k=8} reduce=sum`.
  std::string str() const;
};

/// Elementwise: every dim is a separate factor, trailing dims align; a dim of extent 1 that is repeated has no factor,
/// and scalars have no dims.
ShardingRule elementwiseRule(llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> operandShapes,
                             llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> resultShapes);

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_SHARDINGRULE_H
