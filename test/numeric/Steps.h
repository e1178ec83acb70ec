//===- Steps.h - train steps of a plan in this process, with delays -------------------===//
#ifndef SLUICE_TEST_NUMERIC_STEPS_H
#define SLUICE_TEST_NUMERIC_STEPS_H

#include "runtime/executor/Executor.h"
#include "runtime/plan/Plan.h"

#include <atomic>
#include <string>
#include <vector>

namespace sluice::numeric {

/// An injector that acts only in train steps: instructions of init are numbered separately.
class StepInjector : public DelayInjector {
public:
  /// The entry point that runs; -1: init.
  std::atomic<int> entry{-1};
  void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) final {
    if (entry >= 0)
      beforeInStep(instruction);
    (void)stream, (void)repetition;
  }

protected:
  virtual void beforeInStep(std::uint32_t instruction) = 0;
};

/// Compiles a model, `zoo NAME ...` or `hf CONFIG ...` as sluice-import takes it, by a recipe; returns the plan's path.
/// `label` is unique in a test program. A failure fails the running test.
std::string compilePlan(const std::string &label, const std::string &model, const std::string &toml);

/// gpt2-tiny for two ranks, all units resharded, two micro-batches: compiled once.
const std::string &tinyPlanPath();

/// Indices of instructions of an entry point.
struct Places {
  const plan::PlanT &plan;
  std::vector<const plan::InstructionT *> instructions;

  explicit Places(const plan::PlanT &plan, std::string_view name = "train_step") : plan(plan) {
    for (const auto &entry : plan.entries)
      if (entry->name == name)
        for (const auto &section : entry->sections)
          for (const auto &instruction : section->instructions)
            instructions.push_back(instruction.get());
  }
  bool isCollective(std::size_t i, plan::CollectiveKind kind) const {
    const auto *collective = instructions[i]->operation.AsCollective();
    return collective && collective->kind == kind;
  }
  std::string unit(std::size_t i) const {
    int unit = instructions[i]->unit;
    return unit < 0 ? "" : plan.units[static_cast<std::size_t>(unit)]->name;
  }
};

/// Outputs of the last step, and every parameter and variable after it, on every rank, as bytes.
struct Outcome {
  Status status;
  std::vector<std::byte> bytes;
  /// Of the last step, by rank; without those that the entry point does not have.
  std::vector<float> losses, norms;
};

struct StepsOptions {
  int steps = 2;
  /// One per step, in order.
  std::vector<std::string> entries = {"train_step"};
  /// The host waits for each step; otherwise it issues all of them without waiting, on the same inputs.
  bool waits = true;
  /// All steps use the inputs of the first.
  bool sameInputs = false;
  /// The host waits only for each step's ports, before it writes those of the next one.
  bool overlaps = false;
  /// Of the executor (runtime/executor/InstructionObserver.h).
  ObserverFactory observe = {};
  bool prefault = true;
};

/// Writes the inputs of a step: small numbers that differ by step, rank and micro-batch.
Status writeInputs(Executor &executor, const std::string &entry, std::int64_t step);

/// Initializes the weights and trains; inputs are functions of step, rank and micro-batch. `delays` may be null.
Outcome runSteps(const plan::PlanT &plan, StepInjector *delays, const StepsOptions &options = {});

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_STEPS_H
