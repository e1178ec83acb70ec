//===- Tasks.cpp - what sluice-compile does ---------------------------------------------------===//
#include "tools/compile/Tasks.h"

#include "passes/Pipeline.h"
#include "passes/import/WriteOutput.h"
#include "passes/recipe/RecipeKeys.h"
#include "tools/CommandLine.h"
#include "tools/compile/CompileModel.h"
#include "tools/compile/CompileRecipe.h"
#include "tools/compile/Model.h"
#include "tools/compile/Verify.h"
#include "tools/compile/WhatIf.h"

#include "llvm/ADT/StringExtras.h"

namespace sluice {
namespace {

int printKeys(const CompileOptions &) { return report(writeOutput("-", documentRecipeKeys())); }

int printRecipe(const CompileOptions &options) {
  Recipe recipe;
  Status status = readRecipe(recipe, options);
  return report(status.isOk() ? writeOutput("-", recipe.print()) : status);
}

int printModelRecipe(const CompileOptions &options) {
  return withModel(options, [&](mlir::ModuleOp module, const Diagnostics &) {
    const Result<Recipe> recipe = mergeRecipe(module, options);
    return report(recipe.isOk() ? writeOutput("-", recipe->print()) : recipe.status());
  });
}

int compare(const CompileOptions &options) {
  return withModel(options,
                   [&](mlir::ModuleOp module, const Diagnostics &) { return compareVariants(options, module); });
}

/// Compiles and checks a plan, and returns the exit code of `use`. Without a plan, because IR was requested or by an
/// error, it returns that of the compilation.
int compile(const CompileOptions &options, llvm::function_ref<Status(const PlanBytes &)> use) {
  PlanBytes plan;
  bool isDump = false;
  const int code = withModel(options, [&](mlir::ModuleOp module, const Diagnostics &diagnostics) {
    return compileModel(options, module, diagnostics, plan, isDump);
  });
  if (code != 0 || plan.span().empty())
    return code;
  Status status = checkEmitted(plan, isDump ? options.input : "");
  return report(status.isOk() ? use(plan) : status);
}

int verify(const CompileOptions &options) {
  const Result<PlanFile> given = readPlan(options.verify);
  if (!given.isOk())
    return report(given.status());
  return compile(options, [&](const PlanBytes &plan) -> Status {
    SLUICE_RETURN_IF_ERROR(verifyPlan(options.verify, *given, plan));
    return writeOutput("-",
                       options.verify + ": this model and this recipe give the plan, digest " + given->digest + "\n");
  });
}

int compileToFile(const CompileOptions &options) {
  return compile(options, [&](const PlanBytes &plan) {
    return writeOutput(options.output, llvm::toStringRef(llvm::ArrayRef(plan.span().data(), plan.span().size())));
  });
}

constexpr Task rows[] = {
    {[](const CompileOptions &options) { return options.recipeKeys; }, printKeys},
    {[](const CompileOptions &options) { return options.input.empty(); }, printRecipe},
    {[](const CompileOptions &options) { return options.comparesVariants(); }, compare},
    {[](const CompileOptions &options) { return options.printRecipe; }, printModelRecipe},
    {[](const CompileOptions &options) { return !options.verify.empty(); }, verify},
    {[](const CompileOptions &) { return true; }, compileToFile},
};

} // namespace

std::span<const Task> tasks() { return rows; }

} // namespace sluice
