//===- FreezeParameters.cpp - model-freeze-parameters ---------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {
#define GEN_PASS_DEF_FREEZEPARAMETERS
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct FreezeParametersPass : sluice::impl::FreezeParametersBase<FreezeParametersPass> {
  using FreezeParametersBase::FreezeParametersBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), globs);
    if (failed(recipe))
      return signalPassFailure();
    llvm::StringSet<> names = parametersMatching(getOperation(), recipe->parameters.frozen, "parameters.frozen");
    for (auto parameter : getOperation().getOps<model::ParameterOp>())
      if (names.contains(parameter.getSymName()))
        parameter.setFrozen(true);
  }
};

} // namespace
