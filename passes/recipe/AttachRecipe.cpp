//===- AttachRecipe.cpp - settings of the recipe on the module ----------------------------===//

#include "passes/recipe/Passes.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {
#define GEN_PASS_DEF_ATTACHRECIPE
#include "passes/recipe/Passes.h.inc"
} // namespace sluice

using namespace sluice;

namespace {

struct AttachRecipe : sluice::impl::AttachRecipeBase<AttachRecipe> {
  using AttachRecipeBase::AttachRecipeBase;
  void runOnOperation() override {
    Result<Recipe> recipe = attachedRecipe(getOperation());
    Status status = recipe.isOk() ? Status::ok() : recipe.takeStatus();
    for (const std::string &setting : settings)
      if (status.isOk())
        status = recipe->addSetting(setting, "option");
    if (status.isOk())
      status = recipe->resolve();
    if (status.isOk())
      return attachRecipe(getOperation(), *recipe);
    getOperation().emitError() << status.message();
    signalPassFailure();
  }
};

} // namespace
