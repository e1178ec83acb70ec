//===- Choice.h - values that the compiler chooses for a recipe key ---------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_CHOICE_H
#define SLUICE_PASSES_CHOOSE_CHOICE_H

#include "passes/choose/BudgetDecisions.h"
#include "passes/choose/CompiledPlan.h"
#include "passes/recipe/Keys.h"

#include <functional>
#include <memory>

namespace sluice {

/// A gather of the step.
struct PrefetchDecision {
  std::string unit;
  bool isBackward = false;
  /// The unit whose use issues the gather; its own for a gather at its use.
  std::string issuedAt;
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// A plan that was compared with others that differ in one setting.
struct ComparedPlan {
  RecipeValue value;
  /// Device memory of a rank before placement.
  std::int64_t liveBytes = 0;
  std::optional<double> seconds;
  bool isFeasible = false;
};

/// A setting for whose values plans were compiled.
struct ComparedSetting {
  std::string key;
  std::vector<ComparedPlan> plans;
  std::size_t chosen = 0;
};

/// What was chosen for a plan.
struct Decided {
  /// The settings that replace "budget" and "auto".
  ChosenValues values;
  /// With recompute.policy = "budget". The plans of one search share the problem.
  std::shared_ptr<BudgetDecisions> budget;
  UnitOffloadSolution solution;
  /// Empty where distances were better in a direction.
  std::vector<PrefetchDecision> prefetch;
  std::vector<ComparedSetting> compared;
};

struct PlanChoice : Decided {
  CompiledPlan plan = {};
  /// The plan is within the budget, or without one within the memory of the machine's GPU; otherwise it is the one with
  /// the least memory.
  bool isFeasible = false;
  /// Predicted step; nullopt without a machine, and before a choice that compares it.
  std::optional<double> seconds = std::nullopt;
  /// Number of plans that were compiled for the choice.
  int plans = 0;
};

/// The choice with all alternatives as JSON: the file of --decisions.
std::string decisionsText(const PlanChoice &choice);

/// The best of feasible plans is the one with
enum class Price : std::uint8_t {
  /// the shortest step, then the least memory;
  time,
  /// the same, if a longer step that needs less memory is not worth more (Search.cpp);
  timeAndMemory,
  /// the least cost of its UnitOffloadSolution.
  model,
};

class Search;

/// The state of the search for one choice.
struct Progress {
  Search &search;
  /// The module that the plans are compiled from.
  mlir::ModuleOp from;
  /// Of the plan before the choice.
  const Decided &before;
  PlanChoice &best;
  /// The plan of the alternative before; at first `best`.
  const PlanChoice &last;
};

struct Choice {
  /// The first of its keys.
  const char *key;
  /// The settings of the first alternative, of which the plan exists before the search.
  ChosenValues first;
  /// The other alternatives, one after the other; nullopt after the last. A copy of a Choice begins with the first.
  std::function<Result<std::optional<Decided>>(const Progress &)> next;
  Price price = Price::time;
  /// The last phase that the choice does not change.
  const char *from = "optimize";
  /// Later choices are made for each alternative, instead of after the choice.
  bool isOuter = false;
  /// --decisions lists the alternatives.
  bool isListed = false;
};

/// Both divisions into units: outermost blocks, and with embedding and head as units.
Choice chooseUnits(const Recipe &recipe, const Machine *machine);

/// Within recipe.memory.budget: what blocks recompute, units that stay gathered after the forward, blocks whose
/// activations and units whose states are in host memory. docs/rationale/budget.md explains the method.
Choice chooseWithinBudget(const Recipe &recipe, const Machine *machine);

/// When gathers are issued: at their uses, by the schedule of PrefetchSolver.h, and at each distance.
Choice choosePrefetch(const Recipe &recipe, const Machine *machine);

/// No unit stays gathered between micro-batches, or the first units in the order of the plan's forward, which are
/// needed last in one micro-batch and first in the next. They also stay gathered after the forward, so units for which
/// the recipe says to reshard then are left out.
Choice chooseAfterBackward(const Recipe &recipe, const Machine *machine);

/// From 1 to the number of reductions in a micro-batch of the plan's training step.
Choice chooseReduceBuffers(const Recipe &recipe, const Machine *machine);

/// Sluice's kernels of attention, which need less workspace than cuDNN's.
inline ChosenValues ownAttention() { return {{keys::attentionKernels, std::string("own")}}; }

/// `first`, each greater number up to 8, then powers of two, and `last`.
std::vector<std::int64_t> comparedNumbers(std::int64_t first, std::int64_t last);

ChosenValues replaceValues(ChosenValues values, const ChosenValues &changes);

/// The same decisions, but with other values of some keys.
Decided withValues(Decided decided, const ChosenValues &changes);

/// The chosen value of a key, or the recipe's.
RecipeValue valueOf(const ChosenValues &values, const char *key, const Recipe &recipe);

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_CHOICE_H
