//===- ParameterPlan.h - the shardings that the recipe states for parameters ------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
#define SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H

#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "runtime/base/Status.h"

namespace sluice::tensor {

/// True where `sharding.tensor` shards a parameter.
bool shardsParameters(const Recipe &recipe);

/// The shardings that `sharding.tensor` states. The dim follows from the rule of the op that contracts the parameter,
/// the segments from ops that separate a dim (a fused Q|K|V).
Result<ParameterShardings> planParameters(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

/// The shardings that `sharding.expert` states: along dim 0, the experts.
Result<ParameterShardings> planExperts(mlir::ModuleOp module, const Recipe &recipe, std::int64_t ranks);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_PARAMETERPLAN_H
