//===- PlanStages.h - the blocks of a plan and their alternatives ----------------------------===//
//
// Reads the problem of BudgetProblem.h from a plan that recomputes nothing. A stage is an outermost block. Its
// alternatives recompute nothing, all of its forward that its backward needs, or all of it except the results of ops
// with some names (`selective`); alternatives that save less and cost more than another one are left out. If its unit
// may stay gathered after the forward, each alternative exists with and without that. If its activations may be in host
// memory, each alternative except those of the last stage also exists with the kept values copied there and back. Their
// cost is the time by which a copy takes longer than the forward, or the backward, of the next stage, during which it
// runs.
//
// Saved bytes are those of the values that the backward reads, less those that the recomputed ops read. Costs are
// those of the launches that are executed again in a step, by the plan's FLOPs or by the rates of a machine; the cost
// of a gather is the time in which compute waits for it in the predicted step. A block whose forward and backward do
// not enclose those of the later blocks is not a stage.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_PLANSTAGES_H
#define SLUICE_PASSES_SOLVER_CHOOSE_PLANSTAGES_H

#include "passes/solver/choose/BudgetProblem.h"
#include "runtime/report/machine/MachineFile.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice {

struct StageAlternative {
  bool recomputes = false;
  /// The ops whose results are kept; empty: none, or all if nothing is recomputed.
  std::set<std::string> save;
  /// Its unit is not released after the forward.
  bool staysGathered = false;
  /// Bytes that are copied to host memory and back.
  std::int64_t hostBytes = 0;
  /// Bytes of activations that the stage keeps on the device for its backward, with those of its gathered unit if that
  /// stays.
  std::int64_t keptBytes = 0;
  bool operator==(const StageAlternative &) const = default;
};

struct PlanStage {
  std::string block;
  /// Parallel to those of the problem's stage; the first recomputes nothing and releases its unit.
  std::vector<StageAlternative> alternatives;
};

struct PlanStages {
  /// Its budget is not set.
  BudgetProblem problem;
  std::vector<PlanStage> stages;
};

/// The entry point with a backward that has the most live bytes; nullopt: none has a backward.
std::optional<std::uint32_t> trainedEntry(const plan::PlanT &plan);

/// Names of units that may stay gathered, and of blocks whose activations may be in host memory.
struct StageFreedom {
  std::set<std::string> mayStayGathered;
  /// Not empty only with a machine.
  std::set<std::string> mayOffload;
};

/// Of the trained entry point. Without a machine, time is in FLOPs. Errors: those of the machine's predictions
/// (predictStep), and rates that it does not have.
Result<PlanStages> readStages(const plan::PlanT &plan, const StageFreedom &freedom, const Machine *machine);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_PLANSTAGES_H
