//===- OffloadChoice.h - units whose states are in host memory --------------------------------===//
//
// With memory.offload = "auto" the compiler chooses the blocks whose activations are in host memory (PlanStages.h), and
// the units whose optimizer states, or also parameters, are there (UnitOffload.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_OFFLOADCHOICE_H
#define SLUICE_PASSES_OFFLOADCHOICE_H

#include "passes/CompiledPlan.h"
#include "passes/solver/choose/PlanStages.h"
#include "passes/solver/choose/UnitOffload.h"
#include "runtime/report/machine/MachineFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace sluice {

/// The units that may be offloaded, and for each kind of tensors the bytes that it saves and its time.
struct OffloadOptions {
  /// In the order in which they are offloaded: those with the fewest bytes first.
  std::vector<std::string> units;
  std::vector<std::int64_t> unitBytes;
  /// The entry of a unit in memory.offload, parallel to `kinds`.
  std::vector<Strings> tensors;
  std::vector<OffloadKind> kinds;
  /// Predicted step of the base plan.
  double baseSeconds = 0;
};

/// Compiles a plan with these entries of units in memory.offload.
using CompileOffloaded = llvm::function_ref<Result<CompiledPlan>(const RecipeTable &)>;

/// The entries of units that have a kind.
RecipeTable offloadTable(const OffloadOptions &options, std::size_t kind, std::size_t units);

/// Compiles a plan for each kind, with all units offloaded, by `compile`, and compares it with the base plan. A kind
/// that saves nothing is left out.
Result<OffloadOptions> findOffloadOptions(const plan::PlanT &base, const PlanStages &stages,
                                          const StageFreedom &freedom, const Machine &machine,
                                          CompileOffloaded compile);

/// Compiles a plan with the first unit of a kind offloaded, for its time.
Result<std::int64_t> timeOfFirstUnit(const OffloadOptions &options, std::size_t kind, const Machine &machine,
                                     CompileOffloaded compile);

/// The value of memory.offload for a choice: the recipe's lists without activations, the units' entries `table`, and
/// activations of the stages whose alternative has them in host memory.
RecipeValue offloadValue(const Recipe &recipe, RecipeTable table, const PlanStages &stages,
                         const std::vector<std::uint32_t> &chosen);

/// The kinds with the bytes and seconds of all units, and the choice.
llvm::json::Object offloadJson(const OffloadOptions &options, const UnitOffloadSolution &solution);

} // namespace sluice

#endif // SLUICE_PASSES_OFFLOADCHOICE_H
