//===- ParameterPlan.h - the shardings that the recipe states for parameters ------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
#define SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H

#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "runtime/base/Status.h"

namespace sluice::tensor {

/// True where `sharding.tensor` shards a parameter.
bool shardsParameters(const Recipe &recipe);

/// The shardings that `sharding.tensor` states. The rule of the op that contracts the parameter has the dim of the
/// output; ops that split a dim have the number of segments (a fused Q|K|V).
Result<ParameterShardings> planParameters(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

/// The shardings that `sharding.expert` states: of experts, which are dim 0.
Result<ParameterShardings> planExperts(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

/// The sharding of a parameter of a Hugging Face family in Megatron's plan: "column", "row", or empty for a replicated
/// one.
llvm::StringRef megatronSplit(llvm::StringRef parameter);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
