//===- Tasks.cpp - what sluice-compile does ---------------------------------------------------===//
#include "tools/compile/Tasks.h"

#include "passes/Pipeline.h"
#include "passes/driver/CompileModel.h"
#include "passes/driver/CompileRecipe.h"
#include "passes/driver/Verify.h"
#include "passes/driver/WhatIf.h"
#include "passes/import/WriteOutput.h"
#include "passes/recipe/RecipeKeys.h"
#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "runtime/plan/PlanFolder.h"
#include "tools/CommandLine.h"
#include "tools/compile/Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

int printKeys(const CompileCommand &) { return report(writeOutput("-", documentRecipeKeys())); }

int printRecipe(const CompileCommand &command) {
  Recipe recipe;
  Status status = readRecipe(recipe, command);
  return report(status.isOk() ? writeOutput("-", recipe.print()) : status);
}

int printModelRecipe(const CompileCommand &command) {
  return withModel(command, [&](mlir::ModuleOp module) {
    const Result<Recipe> recipe = mergeRecipe(module, command);
    return report(recipe.isOk() ? writeOutput("-", recipe->print()) : recipe.status());
  });
}

Status writePlan(const std::string &path, const PlanBytes &plan) {
  return writeOutput(path, llvm::toStringRef(llvm::ArrayRef(plan.span().data(), plan.span().size())));
}

/// Prints the table or JSON of the variants, and writes the plan of the best one if an output is given.
int compare(const CompileCommand &command) {
  return withModel(command, [&](mlir::ModuleOp module) {
    const Result<VariantReport> variants = compareVariants(command, module);
    if (!variants.isOk())
      return report(variants.status());
    if (variants->best && !command.output.empty())
      if (Status written = writePlan(command.output, variants->rows[*variants->best].plan); !written.isOk())
        return report(written);
    return finish(command.json ? dumpJson(variants->toJson(), 2) + "\n" : variants->toText(), Status::ok(),
                  variants->exitCode());
  });
}

/// Prints an error of the compilation, of which a diagnostic may be printed. Returns the exit code.
int reportCompilation(const Compilation &compilation) {
  if (!compilation.isEmitted)
    return report(compilation.status);
  for (const std::string &note : compilation.status.notes())
    std::cerr << noteText(note);
  return static_cast<int>(compilation.status.code());
}

/// Compiles and checks a plan, and returns the exit code of `use`. Without a plan, because IR was requested or by an
/// error, it returns that of the compilation.
int compile(const CompileCommand &command, llvm::function_ref<Status(const PlanBytes &)> use) {
  Compilation compilation;
  const int code = withModel(command, [&](mlir::ModuleOp module) {
    compilation = compileModel(command, module);
    if (compilation.status.isOk() && !command.emits)
      return report(writeOutput(command.output.empty() ? "-" : command.output, printModule(module)));
    return reportCompilation(compilation);
  });
  if (code != 0 || compilation.plan.span().empty())
    return code;
  Status status = checkEmitted(compilation.plan, compilation.isDump ? command.input : "");
  return report(status.isOk() ? use(compilation.plan) : status);
}

int verify(const CompileCommand &command) {
  const Result<PlanFile> given = readPlan(command.verify);
  if (!given.isOk())
    return report(given.status());
  return compile(command, [&](const PlanBytes &plan) -> Status {
    SLUICE_RETURN_IF_ERROR(verifyPlan(command.verify, *given, plan));
    return writeOutput("-",
                       command.verify + ": this model and this recipe give the plan, digest " + given->digest + "\n");
  });
}

int compileToFile(const CompileCommand &command) {
  return compile(command, [&](const PlanBytes &plan) { return writePlan(command.output, plan); });
}

/// A command that compiles the plan of a world into the folder of all.
Result<CompileCommand> commandOf(const CompileCommand &command, const Recipe &recipe, std::int64_t world) {
  const std::int64_t others = recipe.mesh.replicate * recipe.mesh.tensor * recipe.mesh.expert;
  if (world % others != 0)
    return Status(StatusCode::usage, concat("--worlds, expected a multiple of the ", others,
                                            " ranks of the axes other than shard but got ", world))
        .withNote("the axis shard has the rest of the ranks");
  CompileCommand one = command;
  one.settings.push_back(concat("mesh.shard=", world / others));
  one.output = planOfWorld(command.output, world);
  return one;
}

int compileWorlds(const CompileCommand &command) {
  Recipe recipe;
  if (Status status = readRecipe(recipe, command); !status.isOk())
    return report(status);
  std::vector<CompileCommand> commands;
  for (const std::int64_t world : command.worlds) {
    Result<CompileCommand> one = commandOf(command, recipe, world);
    if (!one.isOk())
      return report(one.status());
    commands.push_back(std::move(*one));
  }
  const bool isFile = llvm::sys::fs::exists(command.output) && !llvm::sys::fs::is_directory(command.output);
  if (isFile || command.output == "-")
    return report(Status(StatusCode::usage,
                         concat("-o, expected a folder for the plans of --worlds but got '", command.output, "'")));
  if (const std::error_code error = llvm::sys::fs::create_directories(command.output))
    return report(inputError(concat("'", command.output, "': cannot create the folder: ", error.message())));
  for (const CompileCommand &one : commands)
    if (const int code = compileToFile(one); code != 0)
      return code;
  return 0;
}

constexpr Task rows[] = {
    {[](const CompileCommand &command) { return command.recipeKeys; }, printKeys},
    {[](const CompileCommand &command) { return command.input.empty(); }, printRecipe},
    {[](const CompileCommand &command) { return command.comparesVariants(); }, compare},
    {[](const CompileCommand &command) { return command.printRecipe; }, printModelRecipe},
    {[](const CompileCommand &command) { return !command.verify.empty(); }, verify},
    {[](const CompileCommand &command) { return !command.worlds.empty(); }, compileWorlds},
    {[](const CompileCommand &) { return true; }, compileToFile},
};

} // namespace

std::span<const Task> tasks() { return rows; }

} // namespace sluice
