//===- CompileModel.cpp - from a model and a recipe to a plan ---------------------------------===//
#include "tools/compile/CompileModel.h"

#include "dialect/plan/Plan.h"
#include "passes/choose/Planner.h"
#include "passes/emit/Emit.h"
#include "passes/import/WriteOutput.h"
#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "tools/CommandLine.h"
#include "tools/compile/CompileRecipe.h"
#include "tools/compile/Remedies.h"
#include "tools/compile/Verify.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <iostream>

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

/// Makes the planner's choices. The plan of the choices is written to `plan` if it is within the budget; otherwise the
/// least memory is added to `remedies`.
Status choose(mlir::ModuleOp module, const CompileOptions &options, const Recipe &recipe, const Machine *machine,
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
std::uint64_t deviceBytesOf(mlir::ModuleOp module) {
  std::uint64_t bytes = 0;
  for (auto arena : module.getOps<plan_ir::ArenaOp>())
    if (arena.getSpace() == MemorySpace::device)
      bytes += arena.getBytes() + arena.getWorkspace();
  return bytes;
}

} // namespace

int compileModel(const CompileOptions &options, mlir::ModuleOp module, const Diagnostics &diagnostics, PlanBytes &plan,
                 bool &isDump) {
  isDump = !compiledTo(module).empty();
  const mlir::DictionaryAttr given = module.getOperation()->getDiscardableAttrDictionary();
  if (!isDump)
    recordSourceDigest(module);
  const Result<Recipe> recipe = mergeRecipe(module, options);
  if (!recipe.isOk())
    return report(recipe.status());

  auto afterPhase = [&](unsigned number, const PipelinePhase &phase) -> Status {
    if (options.dumpPhases.empty())
      return Status::ok();
    return writeOutput(llvm::formatv("{0}/{1,0+2}-{2}.mlir", options.dumpPhases, number, phase.name).str(),
                       printModule(module));
  };
  const Result<std::optional<Machine>> found = machineOf(options, *recipe);
  if (!found.isOk())
    return report(found.status());
  const Machine *machine = *found ? &**found : nullptr;
  // The remedies of a plan over the budget are compiled from the given module.
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  if (recipe->memory.budget && !isDump) {
    imported = module.clone();
    imported->getOperation()->setDiscardableAttrs(given);
  }
  std::vector<std::string> remedies;
  Status status = choose(module, options, *recipe, machine, afterPhase, plan, remedies);
  // The plan of the choices is the result, unless the phases after them are wanted.
  if (status.isOk() && !plan.span().empty() && options.emits && options.dumpPhases.empty())
    return 0;
  if (status.isOk())
    status = runPhases(module, options.last, afterPhase);
  if (diagnostics.isOverBudget) {
    if (imported)
      llvm::append_range(remedies, findRemedies(options, imported.get(), *recipe, machine, deviceBytesOf(module)));
    for (const std::string &remedy : remedies)
      std::cerr << noteText(remedy);
    return static_cast<int>(StatusCode::budget);
  }
  if (!status.isOk())
    return report(status);
  if (!options.emits)
    return report(writeOutput(options.output.empty() ? "-" : options.output, printModule(module)));
  llvm::FailureOr<PlanBytes> emitted = emitPlan(module);
  if (llvm::failed(emitted)) {
    const std::string message = options.input + ": plan that cannot be emitted";
    return report(isDump ? editedDump(message) : internalError(message + ", please report it"));
  }
  plan = std::move(*emitted);
  return 0;
}

} // namespace sluice
