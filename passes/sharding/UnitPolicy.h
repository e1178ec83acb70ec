//===- UnitPolicy.h - the settings of the recipe for each unit ----------------------------===//
#ifndef SLUICE_PASSES_SHARDING_UNITPOLICY_H
#define SLUICE_PASSES_SHARDING_UNITPOLICY_H

#include "dialect/spmd/Spmd.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {

/// The sizes of the sub-axes of `shard`, outermost first: several where units keep a shard over fewer ranks than all,
/// else one. Errors where a number divides neither the ranks nor the next larger number.
Result<llvm::SmallVector<std::int64_t>> shardAxisSizes(const Recipe &recipe, llvm::ArrayRef<std::string> units);

/// The names of the sub-axes: `shard`, or `shard.0`, `shard.1`, ...
llvm::SmallVector<std::string> shardAxisNames(std::size_t count);

/// Sets the attributes of a unit to the recipe's policy. Errors name the recipe's line.
Status setUnitPolicy(spmd::UnitOp unit, const Recipe &recipe, llvm::ArrayRef<std::int64_t> shardAxes);

/// One remark for each key that is given without effect, with its line.
std::vector<std::string> ineffectiveSettings(const Recipe &recipe);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_UNITPOLICY_H
