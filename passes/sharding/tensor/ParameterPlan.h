//===- ParameterPlan.h - which parameters are split, and how ------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
#define SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H

#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/tensor/Propagate.h"
#include "runtime/base/Status.h"

namespace sluice::tensor {

/// True where the recipe splits anything.
bool asksForSplits(const Recipe &recipe);

/// The splits that `sharding.tensor` asks for. Which dim is the output's is told by the rule of the op that contracts
/// the parameter; segments by ops that take a dim apart (a fused Q|K|V).
Result<ParameterSplits> planParameters(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

/// The splits that `sharding.expert` asks for: of experts, which are dim 0.
Result<ParameterSplits> planExperts(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

/// What Megatron's plan says of a parameter of a Hugging Face family: "column", "row", or empty for one that is whole.
llvm::StringRef megatronSplit(llvm::StringRef parameter);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
