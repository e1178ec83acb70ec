//===- Search.h - the search for the best plan of a recipe ------------------------------------===//
//
// Choices are made one after the other: a plan is compiled for each alternative, and the best is kept.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_SEARCH_H
#define SLUICE_PASSES_CHOOSE_SEARCH_H

#include "passes/choose/Choice.h"

#include <span>

namespace sluice {

class Search {
public:
  /// `machine` may be null: then plans are compared by FLOPs and bytes. Both outlive the search.
  Search(const Recipe &recipe, const Machine *machine) : recipe(recipe), machine(machine) {}

  /// The best plan of a module after the phase `optimize`. Warnings and remarks are emitted once, or not at all if
  /// `isQuiet`.
  Result<PlanChoice> run(mlir::ModuleOp module, const std::vector<Choice> &choices, bool isQuiet);

  /// A plan of the module with these values in its recipe.
  Result<CompiledPlan> compile(mlir::ModuleOp from, const ChosenValues &values, bool isQuiet = true);

  /// True if no placement of the plan is within the budget.
  bool isTooLarge(const CompiledPlan &plan) const;

  /// A plan whose live bytes are over the budget is not placed as low as possible: its arena says little.
  std::int64_t bytesOf(const CompiledPlan &plan) const;

  const Recipe &recipe;
  const Machine *const machine;

private:
  Status choose(mlir::ModuleOp module, std::span<const Choice> choices, PlanChoice &best);
  bool isFeasible(const CompiledPlan &plan) const;
  Status predict(PlanChoice &choice) const;
  bool isWorthItsMemory(const PlanChoice &a, const PlanChoice &b) const;
  bool isBetter(const PlanChoice &a, const PlanChoice &b, Price price) const;

  int plans = 0;
};

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_SEARCH_H
