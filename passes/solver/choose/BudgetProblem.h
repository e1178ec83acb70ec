//===- BudgetProblem.h - one alternative for each stage, within a memory budget --------------===//
//
// Stages are blocks of a model in the order of their forward; their backward has the reverse order. Each stage has
// alternatives, which keep different tensors from its forward to its backward. An alternative saves bytes of a base
// plan at all instants at which the stage's forward has ended and its backward has not begun. At such an instant the
// saving stages are the first k, for some k: `live[k]` is the largest number of bytes of the base plan over these
// instants.
//
//   minimize    the sum of the costs of the chosen alternatives
//   subject to  live[k] - (sum of the bytes that the first k stages save) + (bytes of stage k - 1 in flight) <= budget,
//               for k = 0 ... number of stages
//
// Bytes in flight are those of copies to host memory and back, which run during the forward and backward of the next
// stage.
//
// The solver and the checker are separate files that do not use each other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_BUDGETPROBLEM_H
#define SLUICE_PASSES_SOLVER_CHOOSE_BUDGETPROBLEM_H

#include <compare>
#include <cstdint>
#include <vector>

namespace sluice {

/// Compared by time first.
struct BudgetCost {
  /// Picoseconds; FLOPs without a machine.
  std::int64_t time = 0;
  /// Bytes of collectives.
  std::int64_t traffic = 0;

  auto operator<=>(const BudgetCost &) const = default;
  BudgetCost operator+(const BudgetCost &other) const { return {time + other.time, traffic + other.traffic}; }
};

struct BudgetAlternative {
  /// Negative for more bytes than in the base plan.
  std::int64_t savedBytes = 0;
  /// Compared with the base plan; negative for less.
  BudgetCost cost;
  /// The part of the saved bytes that is in device memory until the forward of the next stage has ended, and from the
  /// begin of its backward on.
  std::int64_t inFlightBytes = 0;
  bool operator==(const BudgetAlternative &) const = default;
};

struct BudgetStage {
  /// At least one.
  std::vector<BudgetAlternative> alternatives;
};

struct BudgetProblem {
  std::vector<BudgetStage> stages;
  /// One more than stages.
  std::vector<std::int64_t> live;
  std::int64_t budget = 0;
};

struct BudgetSolution {
  /// For each stage the index of its alternative.
  std::vector<std::uint32_t> chosen;
  BudgetCost cost;
  /// The largest number of live bytes.
  std::int64_t peak = 0;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_BUDGETPROBLEM_H
