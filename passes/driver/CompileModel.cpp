//===- CompileModel.cpp - from a model and a recipe to a plan ---------------------------------===//
#include "passes/driver/CompileModel.h"

#include "dialect/plan/Plan.h"
#include "passes/choose/Planner.h"
#include "passes/driver/CompileRecipe.h"
#include "passes/driver/Remedies.h"
#include "passes/driver/Verify.h"
#include "passes/emit/Emit.h"
#include "passes/import/WriteOutput.h"
#include "passes/memory/Passes.h"
#include "runtime/base/Text.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sluice {
namespace {

/// The machine of --machine, if it is given.
Result<std::optional<Machine>> machineOf(const CompileOptions &options, const Recipe &recipe) {
  if (options.machine.empty())
    return std::optional<Machine>();
  if (!recipe.memory.budget && !leavesChoices(recipe))
    return Status(StatusCode::usage, "--machine requires 'memory.budget' or a value \"auto\"")
        .withNote("or --what-if, --pareto or --fit");
  SLUICE_ASSIGN_OR_RETURN(Machine machine, readMachine(options.machine));
  return std::optional(std::move(machine));
}

/// Makes the planner's choices. The plan of the choices is the result if it is within the budget; otherwise the least
/// memory is added to `remedies`.
Status choose(mlir::ModuleOp module, const CompileOptions &options, const Recipe &recipe, const Machine *machine,
              llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase, Compilation &result,
              std::vector<std::string> &remedies) {
  std::optional<PlanChoice> choice;
  if (!options.last || options.last > findPhase("optimize")) {
    SLUICE_ASSIGN_OR_RETURN(choice, makeChoices(module, machine, afterPhase));
  }
  const bool isChosen = choice && leavesChoices(recipe);
  if (!options.decisions.empty() && !isChosen)
    return {StatusCode::usage, "--decisions requires 'recompute.policy' = \"budget\", or a value \"auto\""};
  if (!choice)
    return Status::ok();
  if (choice->isFeasible)
    result.plan = std::move(choice->plan.bytes);
  else
    remedies.push_back("memory.budget = " + formatBytesExact(static_cast<std::uint64_t>(choice->plan.deviceBytes)) +
                       " is enough for the choice that needs the least memory");
  if (isChosen)
    result.decisions = decisionsText(*choice);
  return options.decisions.empty() ? Status::ok() : writeOutput(options.decisions, result.decisions);
}

/// Device memory of a rank: arena and workspace of the module's plan.
std::uint64_t deviceBytesOf(mlir::ModuleOp module) {
  std::uint64_t bytes = 0;
  for (auto arena : module.getOps<plan_ir::ArenaOp>())
    if (arena.getSpace() == MemorySpace::device)
      bytes += arena.getBytes() + arena.getWorkspace();
  return bytes;
}

/// Runs the phases and emits the plan. `overBudget` is the error of the memory budget, if it was emitted.
Status compile(const CompileOptions &options, mlir::ModuleOp module, const std::string &overBudget,
               Compilation &result) {
  const mlir::DictionaryAttr given = module.getOperation()->getDiscardableAttrDictionary();
  if (!result.isDump)
    recordSourceDigest(module);
  SLUICE_ASSIGN_OR_RETURN(const Recipe recipe, mergeRecipe(module, options));
  const auto afterPhase = [&](unsigned number, const PipelinePhase &phase) -> Status {
    if (options.dumpPhases.empty())
      return Status::ok();
    return writeOutput(llvm::formatv("{0}/{1,0+2}-{2}.mlir", options.dumpPhases, number, phase.name).str(),
                       printModule(module));
  };
  SLUICE_ASSIGN_OR_RETURN(const std::optional<Machine> found, machineOf(options, recipe));
  const Machine *machine = found ? &*found : nullptr;
  // The remedies of a plan over the budget are compiled from the given module.
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  if (recipe.memory.budget && !result.isDump) {
    imported = module.clone();
    imported->getOperation()->setDiscardableAttrs(given);
  }
  std::vector<std::string> remedies;
  Status status = choose(module, options, recipe, machine, afterPhase, result, remedies);
  // The plan of the choices is the result, unless the phases after them are wanted.
  if (status.isOk() && !result.plan.span().empty() && options.emits && options.dumpPhases.empty())
    return status;
  if (status.isOk())
    status = runPhases(module, options.last, afterPhase);
  if (!overBudget.empty()) {
    if (imported)
      llvm::append_range(remedies, findRemedies(options, imported.get(), recipe, machine, deviceBytesOf(module)));
    result.isEmitted = true;
    status = {StatusCode::budget, overBudget};
    for (std::string &remedy : remedies)
      status.addNote(std::move(remedy));
    return status;
  }
  if (!status.isOk() || !options.emits)
    return status;
  llvm::FailureOr<PlanBytes> emitted = emitPlan(module);
  if (llvm::failed(emitted)) {
    const std::string message = options.input + ": plan that cannot be emitted";
    return result.isDump ? editedDump(message) : internalError(message + ", please report it");
  }
  result.plan = std::move(*emitted);
  return Status::ok();
}

} // namespace

Compilation compileModel(const CompileOptions &options, mlir::ModuleOp module) {
  Compilation result;
  result.isDump = !compiledTo(module).empty();
  std::string overBudget;
  const mlir::ScopedDiagnosticHandler watcher(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (isOverBudgetError(diagnostic))
      overBudget = diagnostic.str();
    return mlir::failure();
  });
  result.status = compile(options, module, overBudget, result);
  if (!result.status.isOk())
    result.plan = PlanBytes();
  return result;
}

} // namespace sluice
