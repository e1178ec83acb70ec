//===- Evaluate.cpp - memory and time of settings ------------------------------------------------===//
#include "passes/driver/fit/Evaluate.h"

#include "passes/Pipeline.h"
#include "passes/choose/Planner.h"
#include "passes/driver/Diagnostics.h"
#include "passes/driver/ModelFile.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Text.h"
#include "runtime/base/Thread.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/accounts/EagerAccount.h"

#include <algorithm>
#include <map>
#include <thread>

namespace sluice {
namespace {

constexpr std::size_t mostThreads = 4;

/// Adds settings to the recipe of the module. `given`: if not null, the user's recipe: other keys
/// of dimensions, which a model can carry, are unset.
Status addSettings(mlir::ModuleOp module, const std::vector<std::string> &settings, const Recipe *given = nullptr) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  if (given)
    SLUICE_RETURN_IF_ERROR(unsetVariedKeys(recipe, *given));
  for (const std::string &setting : settings)
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(setting));
  attachRecipe(module, recipe);
  // Defaults that depend on other values belong to one setting; only the contradictions are wanted here.
  return recipe.resolve();
}

/// The settings of the job that are those of all rows.
std::vector<std::string> commonSettings(const FitRequest &request, const Gpus &gpus, std::uint64_t limit) {
  // Without a budget a plan would be placed as low as possible, which takes seconds and saves less than a percent.
  std::vector<std::string> settings = {"target.device=cuda",
                                       concat("memory.budget=", std::max<std::uint64_t>(limit, 1))};
  if (gpus.machine)
    settings.push_back("target.arch=" + gpus.machine->arch);
  settings.insert(settings.end(), request.settings.begin(), request.settings.end());
  return settings;
}

/// The setting of the plan of which settings of PyTorch have an account: one that differs in recomputation only.
FitSetting programSetting(FitSetting setting) {
  setting.mesh = {1, setting.mesh.replicate * setting.mesh.shard, 1};
  setting.offload = "none";
  return setting;
}

} // namespace

std::vector<FitRow> Evaluator::evaluate(const FitModel &model, std::span<const FitSetting> settings) {
  std::vector<FitRow> rows(settings.size());
  std::vector<std::vector<std::size_t>> tasks;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const auto task = std::ranges::find_if(tasks, [&](const std::vector<std::size_t> &others) {
      const FitSetting &other = settings[others.front()];
      return other.rows == settings[s].rows && other.precision == settings[s].precision;
    });
    task == tasks.end() ? tasks.push_back({s}) : task->push_back(s);
  }
  std::vector<std::set<std::string>> unknown(tasks.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t t = next++; t < tasks.size(); t = next++)
      evaluateTask(model, settings, tasks[t], rows, unknown[t]);
  };
  const std::size_t count = std::min({tasks.size(), mostThreads, std::size_t(std::thread::hardware_concurrency())});
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < count; ++t)
    if (std::thread thread; startThread(thread, "a comparison of settings", work).isOk())
      threads.push_back(std::move(thread));
  work();
  for (std::thread &thread : threads)
    thread.join();
  for (const std::set<std::string> &names : unknown)
    missing.insert(names.begin(), names.end());
  return rows;
}

void Evaluator::evaluateTask(const FitModel &model, std::span<const FitSetting> settings,
                             const std::vector<std::size_t> &task, std::vector<FitRow> &rows,
                             std::set<std::string> &unknown) {
  const std::unique_ptr<mlir::MLIRContext> context = createContext();
  const auto fail = [&](std::size_t s, const Status &status) {
    rows[s].setting = settings[s];
    rows[s].status = status;
  };
  const auto prepare = [&]() -> Result<mlir::OwningOpRef<mlir::ModuleOp>> {
    SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                            model.build(context.get(), settings[task.front()].rows));
    // The phases up to `optimize` depend on the precision, but on no other dimension.
    std::vector<std::string> common = settings[task.front()].precisionRecipe();
    const std::vector<std::string> others = commonSettings(request, gpus, limit);
    common.insert(common.end(), others.begin(), others.end());
    SLUICE_ASSIGN_OR_RETURN(const Recipe given, givenRecipe(request));
    SLUICE_RETURN_IF_ERROR(addSettings(*module, common, &given));
    const DiagnosticList diagnostics(context.get());
    SLUICE_RETURN_IF_ERROR(
        diagnostics.explain(runPhases(*module, findPhase("optimize"), {}, /*verifiesEachPhase=*/false)));
    return module;
  };
  Result<mlir::OwningOpRef<mlir::ModuleOp>> prepared = prepare();
  if (!prepared.isOk()) {
    for (const std::size_t s : task)
      fail(s, prepared.status());
    return;
  }
  // PyTorch's account reads the unsharded program, which does not depend on mesh and offload: by recomputation.
  const bool isTorch = request.framework == FitFramework::pytorch;
  std::map<std::string, Result<CompiledPlan>> plans;
  for (const std::size_t s : task) {
    FitSetting setting = settings[s];
    if (isTorch)
      setting = programSetting(setting);
    auto plan = plans.find(setting.recompute);
    if (plan == plans.end() || !isTorch) {
      if (!isTorch)
        plans.clear();
      plan = plans.emplace(setting.recompute, compile(**prepared, setting)).first;
    }
    if (!plan->second.isOk())
      fail(s, plan->second.status());
    else
      rows[s] = isTorch ? account(plan->second->file.plan, settings[s], model.isArchive())
                        : measure(*plan->second, settings[s], unknown);
  }
}

Result<CompiledPlan> Evaluator::compile(mlir::ModuleOp prepared, const FitSetting &setting) {
  ++compiled;
  mlir::OwningOpRef<mlir::ModuleOp> copy(prepared.clone());
  SLUICE_ASSIGN_OR_RETURN(const Recipe given, givenRecipe(request));
  SLUICE_RETURN_IF_ERROR(addSettings(*copy, setting.recipe(given)));
  const Machine *machine = gpus.machine ? &*gpus.machine : nullptr;
  // Of this plan alone: the context is that of several.
  const DiagnosticList diagnostics(copy->getContext());
  Result<std::optional<PlanChoice>> choice = makeChoices(*copy, machine);
  if (!choice.isOk())
    return diagnostics.explain(choice.takeStatus());
  if (*choice)
    return std::move((*choice)->plan);
  Result<CompiledPlan> plan = compilePlan(*copy, /*isQuiet=*/true);
  if (!plan.isOk())
    return diagnostics.explain(plan.takeStatus());
  return plan;
}

FitRow Evaluator::measure(const CompiledPlan &compiledPlan, const FitSetting &setting,
                          std::set<std::string> &unknown) const {
  const plan::PlanT &plan = compiledPlan.file.plan;
  FitRow row;
  row.setting = setting;
  row.peak = static_cast<std::uint64_t>(compiledPlan.deviceBytes);
  const PeakPlace peak = findPeak(plan, plan::Space::device);
  const BytesByClass byClass = liveAt(plan, peak.entry, peak.instruction, plan::Space::device).byClass;
  for (std::size_t c = 0; c < byClass.size(); ++c)
    if (byClass[c] > 0)
      row.classes.emplace_back(plan::EnumNameBufferClass(plan::BufferClass(c)), byClass[c]);
  row.fits = *row.peak <= limit && compiledPlan.overBudget.empty();
  if (!gpus.machine)
    return row;
  const int entry = std::max(0, findEntry(plan, "train_step"));
  Result<PredictedStep> step = predictStep(plan, *gpus.machine, static_cast<std::uint32_t>(entry));
  if (!step.isOk()) {
    row.timeStatus = step.takeStatus();
    return row;
  }
  for (const auto &[name, count] : step->unknown)
    unknown.insert(name);
  if (step->isComplete)
    row.seconds = step->seconds;
  row.tokensPerSecond = step->tokensPerSecond();
  row.mfu = step->mfu();
  return row;
}

FitRow Evaluator::account(const plan::PlanT &plan, const FitSetting &setting, bool hasLossInModel) const {
  FitRow row;
  row.setting = setting;
  Result<EagerAccount> account = accountFsdp2(plan, {.shardRanks = static_cast<std::uint64_t>(setting.mesh.shard),
                                                     .offloads = setting.offload == "parameters",
                                                     .hasLossInModel = hasLossInModel});
  if (!account.isOk()) {
    row.status = account.takeStatus();
    return row;
  }
  row.peak = account->peak;
  row.reserved = account->reserved;
  row.classes = std::move(account->peakByPurpose);
  std::erase_if(row.classes, [](const auto &each) { return each.second == 0; });
  for (const auto &unit : plan.units)
    if (!unit->parameters.empty())
      row.units.push_back(unit->root ? "" : unit->name);
  row.fits = row.requested() <= limit;
  return row;
}

} // namespace sluice
