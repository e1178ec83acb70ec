//===- sluice-compile.cpp - from a model and a recipe to a plan -------------------------------===//
//
// The input is an imported model, or any file of --dump-phases: compilation continues after the phase that the module
// names. Nothing is written unless everything succeeded, except the dumps of phases that were reached.
//
//===----------------------------------------------------------------------===//

#include "dialect/plan/Plan.h"
#include "passes/Pipeline.h"
#include "passes/choose/Planner.h"
#include "passes/emit/Emit.h"
#include "passes/import/WriteOutput.h"
#include "passes/recipe/RecipeKeys.h"
#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "tools/CommandLine.h"
#include "tools/compile/CompileRecipe.h"
#include "tools/compile/Diagnostics.h"
#include "tools/compile/Options.h"
#include "tools/compile/Remedies.h"
#include "tools/compile/Verify.h"
#include "tools/compile/WhatIf.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <iostream>

using namespace sluice;

/// Refuses a plan or another binary file, which the parser would report line by line.
static Status checkIsModel(const std::string &path, llvm::StringRef bytes) {
  const bool isPlan = bytes.substr(4, 4) == "SLCE";
  if (!isPlan && (mlir::isBytecode(llvm::MemoryBufferRef(bytes, path)) || !bytes.contains('\0')))
    return Status::ok();
  return inputError(path + ": model, expected textual IR or bytecode but got a " +
                    (isPlan ? "plan (sluice-plan describe shows it)" : "binary file"));
}

static Result<std::unique_ptr<llvm::MemoryBuffer>> readModel(const CompileOptions &options) {
  if (llvm::sys::fs::is_directory(options.input))
    return inputError(options.input + ": cannot read the model, expected a file but got a directory");
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(options.input, &problem);
  if (!file)
    return inputError(options.input + ": cannot read the model: " + problem);
  SLUICE_RETURN_IF_ERROR(checkIsModel(options.input, file->getBuffer()));
  return file;
}

static Status prepareOutputs(const CompileOptions &options) {
  for (const std::string &output : {options.output, options.decisions})
    SLUICE_RETURN_IF_ERROR(checkNoInput(output, {options.input, options.recipe, options.machine}));
  if (options.dumpPhases.empty())
    return Status::ok();
  if (std::error_code error = llvm::sys::fs::create_directories(options.dumpPhases))
    return inputError(options.dumpPhases + ": cannot write the output: " + error.message());
  return Status::ok();
}

/// The machine of --machine, if it is given.
static Result<std::optional<Machine>> machineOf(const CompileOptions &options, const Recipe &recipe) {
  if (options.machine.empty())
    return std::optional<Machine>();
  if (!recipe.memory.budget && !leavesChoices(recipe))
    return Status(StatusCode::usage, "--machine requires 'memory.budget' or a value \"auto\"")
        .withNote("or --what-if, --pareto or --fit");
  SLUICE_ASSIGN_OR_RETURN(Machine machine, readMachine(options.machine));
  return std::optional(std::move(machine));
}

/// Makes the planner's choices. The plan of the choices is written to `plan` if it is within the budget; otherwise the
/// least memory is added to `remedies`.
static Status choose(mlir::ModuleOp module, const CompileOptions &options, const Recipe &recipe, const Machine *machine,
                     llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase, PlanBytes &plan,
                     std::vector<std::string> &remedies) {
  std::optional<PlanChoice> choice;
  if (!options.last || options.last > findPhase("optimize")) {
    SLUICE_ASSIGN_OR_RETURN(choice, makeChoices(module, machine, afterPhase));
  }
  if (!options.decisions.empty() && (!choice || !leavesChoices(recipe)))
    return {StatusCode::usage, "--decisions requires 'recompute.policy' = \"budget\", or a value \"auto\""};
  if (!choice)
    return Status::ok();
  if (choice->isFeasible)
    plan = std::move(choice->plan.bytes);
  else
    remedies.push_back("memory.budget = " + formatBytesExact(static_cast<std::uint64_t>(choice->plan.deviceBytes)) +
                       " is enough for the choice that needs the least memory");
  return options.decisions.empty() ? Status::ok() : writeOutput(options.decisions, decisionsText(*choice));
}

/// Device memory of a rank: arena and workspace of the module's plan.
static std::uint64_t deviceBytesOf(mlir::ModuleOp module) {
  std::uint64_t bytes = 0;
  for (auto arena : module.getOps<plan_ir::ArenaOp>())
    if (arena.getSpace() == MemorySpace::device)
      bytes += arena.getBytes() + arena.getWorkspace();
  return bytes;
}

/// Runs the phases on the module of `file`. Writes the plan's bytes to `plan`, or prints the IR if no plan is
/// requested, and whether the module was the dump of a phase to `isDump`. On return the module and its context, which
/// are larger than a plan, are freed. Returns the exit code.
static int compileModule(const CompileOptions &options, std::unique_ptr<llvm::MemoryBuffer> file, PlanBytes &plan,
                         bool &isDump) {
  mlir::DialectRegistry registry;
  registerSluiceDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Errors show the line of the source; printing the op would hide it.
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  Diagnostics diagnostics(*sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(*sources, &context);
  if (!module)
    return static_cast<int>(StatusCode::input);
  if (options.comparesVariants())
    return compareVariants(options, module.get());

  isDump = !compiledTo(module.get()).empty();
  const mlir::DictionaryAttr given = module->getOperation()->getDiscardableAttrDictionary();
  if (!isDump)
    recordSourceDigest(module.get());
  const Result<Recipe> recipe = mergeRecipe(module.get(), options);
  if (!recipe.isOk())
    return report(recipe.status());
  if (options.printRecipe)
    return report(writeOutput("-", recipe->print()));

  auto afterPhase = [&](unsigned number, const PipelinePhase &phase) -> Status {
    if (options.dumpPhases.empty())
      return Status::ok();
    return writeOutput(llvm::formatv("{0}/{1,0+2}-{2}.mlir", options.dumpPhases, number, phase.name).str(),
                       printModule(module.get()));
  };
  const Result<std::optional<Machine>> found = machineOf(options, *recipe);
  if (!found.isOk())
    return report(found.status());
  const Machine *machine = *found ? &**found : nullptr;
  // The remedies of a plan over the budget are compiled from the given module.
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  if (recipe->memory.budget && !isDump) {
    imported = module->clone();
    imported->getOperation()->setDiscardableAttrs(given);
  }
  std::vector<std::string> remedies;
  Status status = choose(module.get(), options, *recipe, machine, afterPhase, plan, remedies);
  // The plan of the choices is the result, unless the phases after them are wanted.
  if (status.isOk() && !plan.span().empty() && options.emits && options.dumpPhases.empty())
    return 0;
  if (status.isOk())
    status = runPhases(module.get(), options.last, afterPhase);
  if (diagnostics.isOverBudget) {
    if (imported)
      llvm::append_range(remedies,
                         findRemedies(options, imported.get(), *recipe, machine, deviceBytesOf(module.get())));
    for (const std::string &remedy : remedies)
      std::cerr << "note: " << remedy << "\n";
    return static_cast<int>(StatusCode::budget);
  }
  if (!status.isOk())
    return report(status);
  if (!options.emits)
    return report(writeOutput(options.output.empty() ? "-" : options.output, printModule(module.get())));
  llvm::FailureOr<PlanBytes> emitted = emitPlan(module.get());
  if (llvm::failed(emitted)) {
    const std::string message = options.input + ": plan that cannot be emitted";
    return report(isDump ? editedDump(message) : internalError(message + ", please report it"));
  }
  plan = std::move(*emitted);
  return 0;
}

static int compile(const CompileOptions &options) {
  Result<PlanFile> given = PlanFile();
  if (!options.verify.empty())
    given = readPlan(options.verify);
  if (!given.isOk())
    return report(given.status());
  Result<std::unique_ptr<llvm::MemoryBuffer>> file = readModel(options);
  if (!file.isOk())
    return report(file.status());
  if (Status prepared = prepareOutputs(options); !prepared.isOk())
    return report(prepared);
  PlanBytes plan;
  bool isDump = false;
  if (const int code = compileModule(options, std::move(*file), plan, isDump); code != 0 || plan.span().empty())
    return code;
  Status status = checkEmitted(plan, isDump ? options.input : "");
  if (status.isOk() && !options.verify.empty()) {
    status = verifyPlan(options.verify, *given, plan);
    if (status.isOk())
      status = writeOutput("-", options.verify + ": this model and this recipe give the plan, digest " + given->digest +
                                    "\n");
    return report(status);
  }
  if (status.isOk())
    status = writeOutput(options.output, llvm::toStringRef(llvm::ArrayRef(plan.span().data(), plan.span().size())));
  return report(status);
}

int main(int argc, char **argv) {
  CompileOptions options;
  if (const std::optional<int> done = readCompileOptions(argc, argv, options))
    return *done;
  if (options.recipeKeys)
    return report(writeOutput("-", documentRecipeKeys()));
  if (!options.input.empty())
    return compile(options);
  Recipe recipe;
  Status status = readRecipe(recipe, options);
  return report(status.isOk() ? writeOutput("-", recipe.print()) : status);
}
