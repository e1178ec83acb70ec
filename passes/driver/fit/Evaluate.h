//===- Evaluate.h - memory and time of settings --------------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_EVALUATE_H
#define SLUICE_PASSES_DRIVER_FIT_EVALUATE_H

#include "passes/choose/CompiledPlan.h"
#include "passes/driver/fit/FitModel.h"
#include "passes/driver/fit/FitResult.h"

#include <atomic>
#include <set>
#include <span>

namespace sluice {

class Evaluator {
public:
  /// All outlive the object. `limit`: bytes for the framework on a GPU.
  Evaluator(const FitRequest &request, const Gpus &gpus, std::uint64_t limit)
      : request(request), gpus(gpus), limit(limit) {}

  /// A row for each setting, in their order. Settings of equal rows and precision are one task; tasks run on up to four
  /// threads.
  std::vector<FitRow> evaluate(const FitModel &model, std::span<const FitSetting> settings);

  std::size_t plans() const { return compiled; }
  /// Rates that the machine file does not have.
  const std::set<std::string> &unknown() const { return missing; }

private:
  /// Fills the rows of a task, the positions of settings of equal rows and precision.
  void evaluateTask(const FitModel &model, std::span<const FitSetting> settings, const std::vector<std::size_t> &task,
                    std::vector<FitRow> &rows, std::set<std::string> &unknown);
  /// A plan of a module after the phase `optimize`.
  Result<CompiledPlan> compile(mlir::ModuleOp prepared, const FitSetting &setting);
  FitRow measure(const CompiledPlan &compiledPlan, const FitSetting &setting, std::set<std::string> &unknown) const;
  FitRow account(const plan::PlanT &plan, const FitSetting &setting, bool hasLossInModel) const;

  const FitRequest &request;
  const Gpus &gpus;
  const std::uint64_t limit;
  std::atomic<std::size_t> compiled = 0;
  std::set<std::string> missing;
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_EVALUATE_H
