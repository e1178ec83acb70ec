//===- sluice-compile.cpp - from a model and a recipe to a plan -------------------------------===//
//
// The input is an imported model, or any file of --dump-phases: compilation goes on after the phase that the module
// names. Nothing is written unless everything succeeded, but for the dumps of phases that were reached.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline.h"
#include "passes/import/WriteOutput.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/recipe/RecipeKeys.h"
#include "runtime/base/Files.h"
#include "runtime/base/Message.h"
#include "tools/CommandLine.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace sluice;

namespace {

struct Options {
  std::string input, recipe, output, compileTo, dumpPhases;
  std::vector<std::string> settings;
  bool printRecipe = false;
};

int report(const Status &status) {
  if (!status.isOk())
    std::cerr << messageText(status);
  return static_cast<int>(status.code());
}

/// A module path of the source, as the importer names places; empty for none.
std::string pathOf(mlir::Location location) {
  auto name = mlir::dyn_cast<mlir::NameLoc>(location);
  return name && name.getName() != "model" ? " (at " + name.getName().str() + ")" : std::string();
}

bool hasFile(mlir::Location location) {
  bool found = false;
  location->walk([&](mlir::Location inner) {
    found |= mlir::isa<mlir::FileLineColLoc>(inner);
    return mlir::WalkResult::advance();
  });
  return found;
}

/// Prints diagnostics as they come, and remembers one kind of them. What has a place in a file shows its line; what the
/// importer named shows its module path.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context)
      : printer(sources, context, llvm::errs()),
        watcher(context, [this](mlir::Diagnostic &diagnostic) { return print(diagnostic); }) {}

  bool isOverBudget = false;

private:
  mlir::SourceMgrDiagnosticHandler printer;
  mlir::ScopedDiagnosticHandler watcher;

  llvm::LogicalResult print(mlir::Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    isOverBudget |= isError && llvm::StringRef(diagnostic.str()).starts_with("over the memory budget");
    // The printer, registered before, takes what is not handled here.
    if (hasFile(diagnostic.getLocation()))
      return mlir::failure();
    auto word = [&]() -> const char * {
      switch (diagnostic.getSeverity()) {
      case mlir::DiagnosticSeverity::Error:
        return "error: ";
      case mlir::DiagnosticSeverity::Warning:
        return "warning: ";
      case mlir::DiagnosticSeverity::Note:
        return "note: ";
      case mlir::DiagnosticSeverity::Remark:
        return "remark: ";
      }
      return "";
    };
    std::cerr << word() << diagnostic.str() << pathOf(diagnostic.getLocation()) << "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      std::cerr << "note: " << note.str() << pathOf(note.getLocation()) << "\n";
    return mlir::success();
  }
};

Status readRecipe(Recipe &recipe, const Options &options) {
  if (!options.recipe.empty())
    SLUICE_RETURN_IF_ERROR(recipe.addFile(options.recipe));
  for (const std::string &setting : options.settings)
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(setting));
  return recipe.resolve();
}

/// The recipe of the command line over the one that the module carries. A module that has been through a phase has been
/// compiled by its own, so nothing may differ.
Status settleRecipe(mlir::ModuleOp module, const Options &options, Recipe &recipe) {
  SLUICE_ASSIGN_OR_RETURN(recipe, attachedRecipe(module));
  Recipe carried = recipe;
  SLUICE_RETURN_IF_ERROR(readRecipe(recipe, options));
  if (auto done = module->getAttrOfType<mlir::StringAttr>(compiledToAttribute)) {
    SLUICE_RETURN_IF_ERROR(carried.resolve());
    for (const RecipeKey &key : recipeKeys())
      if (recipe.value(key.name) != carried.value(key.name))
        return inputError(recipe.origin(key.name) + ": value of '" + key.name + "' for a module that is compiled to '" +
                          done.getValue().str() + "', expected " + printRecipeValue(carried.value(key.name)) +
                          " as it was begun but got " + printRecipeValue(recipe.value(key.name)));
    return Status::ok();
  }
  attachRecipe(module, recipe);
  return Status::ok();
}

Status dump(const std::string &folder, unsigned number, llvm::StringRef name, mlir::ModuleOp module) {
  char prefix[16];
  std::snprintf(prefix, sizeof(prefix), "%02u-", number);
  return writeOutput(folder + "/" + prefix + name.str() + ".mlir", printModule(module));
}

/// A plan, or what else is no text, makes no sense line by line.
Status checkIsModel(const std::string &path, llvm::StringRef bytes) {
  const bool isPlan = bytes.substr(4, 4) == "SLCE";
  if (!isPlan && (mlir::isBytecode(llvm::MemoryBufferRef(bytes, path)) || !bytes.contains('\0')))
    return Status::ok();
  return inputError(path + ": model, expected textual IR or bytecode but got a " +
                    (isPlan ? "plan (sluice-plan describe shows it)" : "binary file"));
}

int compile(const Options &options) {
  const PipelinePhase *last = options.compileTo.empty() ? nullptr : findPhase(options.compileTo);
  bool emits = options.compileTo.empty() || options.compileTo == "emit";
  if (!emits && !last) {
    std::string names;
    for (const PipelinePhase &phase : pipelinePhases())
      names += phase.name.str() + ", ";
    return report(Status(StatusCode::usage,
                         "--compile-to, expected one of " + names + "emit but got '" + options.compileTo + "'"));
  }
  if (llvm::sys::fs::is_directory(options.input))
    return report(inputError(options.input + ": cannot read the model, expected a file but got a directory"));
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(options.input, &problem);
  if (!file)
    return report(inputError(options.input + ": cannot read the model: " + problem));
  if (Status fit = checkIsModel(options.input, file->getBuffer()); !fit.isOk())
    return report(fit);
  if (Status kept = checkNoInput(options.output, {options.input, options.recipe}); !kept.isOk())
    return report(kept);
  if (!options.dumpPhases.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(options.dumpPhases))
      return report(inputError(options.dumpPhases + ": cannot write the output: " + error.message()));

  mlir::DialectRegistry registry;
  registerSluiceDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // The line of the source says it; a whole function printed behind it hides it.
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  Diagnostics diagnostics(*sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(*sources, &context);
  if (!module)
    return static_cast<int>(StatusCode::input);

  Recipe recipe;
  if (Status settled = settleRecipe(module.get(), options, recipe); !settled.isOk())
    return report(settled);
  if (options.printRecipe)
    return report(writeOutput("-", recipe.print()));

  auto afterPhase = [&](unsigned number, const PipelinePhase &phase) -> Status {
    return options.dumpPhases.empty() ? Status::ok() : dump(options.dumpPhases, number, phase.name, module.get());
  };
  Status status = runPhases(module.get(), last, afterPhase);
  if (diagnostics.isOverBudget)
    return static_cast<int>(StatusCode::budget);
  if (!status.isOk())
    return report(status);

  if (!emits) {
    status = writeOutput(options.output.empty() ? "-" : options.output, printModule(module.get()));
    return status.isOk() ? 0 : report(status);
  }
  std::vector<std::uint8_t> bytes;
  if (llvm::failed(emitModule(module.get(), bytes)))
    return report(Status(StatusCode::internal, options.input + ": plan that cannot be emitted, please report it"));
  status = writeOutput(options.output, llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  return status.isOk() ? 0 : report(status);
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line("Compiles a model by a recipe to a plan", "sluice-compile");
  Options options;
  std::vector<std::string> whatIf;
  std::string fit;
  bool pareto = false, asJson = false, recipeKeys = false;
  line.option("model", options.input, "the model, or a file of --dump-phases; - is standard input");
  line.option("--recipe", options.recipe, "the recipe, a TOML file").check(whyNoPath);
  line.option("--set", options.settings, "key=value over the recipe, again and again").oneEach();
  line.option("-o,--output", options.output, "the plan to write (with --compile-to: IR, else standard output)");
  line.option("--compile-to", options.compileTo, "stop after this phase and write the IR");
  line.option("--dump-phases", options.dumpPhases, "write the IR after each phase into this folder")
      .check(whyNoPath);
  line.flag("--print-recipe", options.printRecipe, "print every value of the recipe and where it came from");
  line.flag("--recipe-keys", recipeKeys, "print all keys of the recipe as a table in Markdown");
  line.option("--what-if", whatIf, "compile variants and print a table").oneEach();
  line.flag("--pareto", pareto, "print a table of memory against time");
  line.option("--fit", fit, "the largest batch or sequence within the budget");
  line.flag("--json", asJson, "the table as JSON");

  std::string phases = "Phases:";
  for (const PipelinePhase &phase : pipelinePhases())
    phases += "\n  " + phase.name.str() + ": " + phase.doc.str();
  line.footer(phases + "\n  emit: the plan's bytes\n\nexit codes: 0 done, 1 the model or the recipe is at fault or an "
                      "output cannot be written, 2 usage, 3 over the memory budget, 70 an internal error");
  line.version(versionText("sluice-compile"));
  Result<std::optional<int>> parsed = line.parse(argc, argv);
  if (!parsed.isOk())
    return report(parsed.status());
  if (*parsed)
    return **parsed;

  if (std::getenv("NO_COLOR"))
    llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &) { return false; });
  if (recipeKeys)
    return report(writeOutput("-", documentRecipeKeys()));
  for (auto [isGiven, name] : {std::pair(!whatIf.empty(), "--what-if"), std::pair(pareto, "--pareto"),
                               std::pair(!fit.empty(), "--fit"), std::pair(asJson, "--json")})
    if (isGiven)
      return report(Status(StatusCode::usage, std::string(name) + ", expected a compiler with a planner but this version "
                                                                  "has none")
                        .withNote("compile each variant with --set, and compare plans with sluice-plan diff"));
  if (options.input.empty()) {
    if (!options.printRecipe)
      return report(Status(StatusCode::usage, "model, expected a file but got nothing"));
    Recipe recipe;
    if (Status status = readRecipe(recipe, options); !status.isOk())
      return report(status);
    return report(writeOutput("-", recipe.print()));
  }
  if (options.output.empty() && options.compileTo.empty() && !options.printRecipe)
    return report(Status(StatusCode::usage, "-o, expected the plan's file but got nothing"));
  if (options.output.empty() && options.compileTo == "emit")
    return report(Status(StatusCode::usage, "-o, expected the plan's file but got nothing"));
  return compile(options);
}
