//===- UnitKnobs.h - what the recipe says of each unit -----------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_UNITKNOBS_H
#define SLUICE_PASSES_SHARDING_UNITKNOBS_H

#include "dialect/spmd/Spmd.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {

/// How many ranks each part of the axis `shard` has, outermost first: one part, or several where units keep a piece
/// over fewer ranks than all. Errors where a number divides neither the ranks nor the next larger number.
Result<llvm::SmallVector<std::int64_t>> shardParts(const Recipe &recipe, llvm::ArrayRef<std::string> units);

/// The names of the parts: `shard`, or `shard.0`, `shard.1`, ...
llvm::SmallVector<std::string> shardPartNames(std::size_t count);

/// Puts residency and reduction of a unit on it, as the recipe says. Errors name the recipe's line.
Status setUnitKnobs(spmd::UnitOp unit, const Recipe &recipe, llvm::ArrayRef<std::int64_t> parts);

/// Keys that are given and change nothing: one remark for each, behind the line that gives it.
std::vector<std::string> ineffectiveSettings(const Recipe &recipe);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_UNITKNOBS_H
