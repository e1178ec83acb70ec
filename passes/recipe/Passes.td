//===- Passes.td - model-attach-recipe --------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_PASSES_TD
#define SLUICE_PASSES_RECIPE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachRecipe : Pass<"model-attach-recipe", "::mlir::ModuleOp"> {
  let summary = "attaches settings of the recipe to the module";
  let description = [{
    Sets `model.recipe` to the resolved recipe of the module with `settings` instead of its values. Later
    passes read the settings there unless they are given as options of the pass.
    ```mlir
    module attributes {model.recipe = {mesh.shard = 4 : i64}} {}
    ==> -model-attach-recipe="set=gradient.microbatches=2,precision.compute=bf16"
    module attributes {model.recipe = {gradient.microbatches = 2 : i64, mesh.shard = 4 : i64, precision.compute = "bf16"}} {}
    ```
  }];
  let options = [ListOption<"settings", "set", "std::string", "settings of the recipe, each key=value">];
}

#endif // SLUICE_PASSES_RECIPE_PASSES_TD
