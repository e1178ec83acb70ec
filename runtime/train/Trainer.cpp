//===- Trainer.cpp - the loop over steps --------------------------------------------===//
#include "runtime/train/Trainer.h"
#include "runtime/train/Feeder.h"
#include "runtime/train/File.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/Ports.h"
#include "runtime/train/Process.h"
#include "runtime/train/RunLog.h"
#include "runtime/train/Weights.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace sluice {

static std::string entryNames(const plan::PlanT &plan) {
  std::string names;
  for (const auto &entry : plan.entries)
    names += (names.empty() ? "" : ", ") + entry->name;
  return names.empty() ? "none" : names;
}

Status initialize(Ranks &ranks, std::uint64_t seed, const std::string &init) {
  const plan::PlanT &plan = ranks.plan();
  if (int index = findEntry(plan, "init"); index >= 0) {
    SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *plan.entries[index], "seed", static_cast<std::int64_t>(seed)));
    SLUICE_RETURN_IF_ERROR(ranks.run("init"));
  }
  return init.empty() ? Status::ok() : loadWeights(ranks, init);
}

/// Reads what an entry point says of the step it ran.
static Status readOutputs(const Ranks &ranks, const plan::EntryT &entry, StepReport &report) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> loss, readScalar(ranks, entry, "loss"));
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> norm, readScalar(ranks, entry, "grad_norm"));
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> guard, readScalar(ranks, entry, "guard"));
  if (loss)
    report.loss = *loss;
  if (norm)
    report.gradientNorm = *norm;
  if (const plan::PortT *port = findOutput(entry, "loss"))
    report.dtype = baseType(port->view->dtype);
  // A plan without a guard (an evaluation, say) changes no weights, so its loss alone decides.
  report.guard = report.guard && (guard ? *guard != 0 : std::isfinite(report.loss));
  return Status::ok();
}

static RunSummary summarize(const Ranks &ranks, const TrainOptions &options) {
  RunSummary summary;
  std::uint64_t perRank = 0;
  for (const auto &arena : ranks.plan().arenas) {
    std::string space = plan::EnumNameSpace(arena->space);
    summary.predictedPeak[space] = arena->bytes + arena->workspace;
    summary.measuredPeak[space] = ranks.requestedBytes(arena->space);
    perRank += arena->bytes + arena->workspace;
  }
  summary.predictedProcess = perRank * static_cast<std::uint64_t>(ranks.size());
  summary.measuredProcess = processHighWater() - std::min(options.processBefore, processHighWater());
  return summary;
}

Status train(Ranks &ranks, const TrainOptions &options, TrainObserver &observer) {
  const plan::PlanT &plan = ranks.plan();
  std::vector<const plan::EntryT *> entries;
  std::vector<Feeder> feeders;
  FeederOptions given{options.data, options.seed, options.shuffled, options.overfit};
  for (const std::string &name : options.entries) {
    int index = findEntry(plan, name);
    if (index < 0)
      return Status(StatusCode::usage,
                    fmt::format("entry point '{}' is unknown, expected one of {}", name, entryNames(plan)));
    entries.push_back(plan.entries[index].get());
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entries.back(), given));
    feeders.push_back(std::move(feeder));
  }
  SLUICE_ASSIGN_OR_RETURN(LearningRate rate, LearningRate::parse(plan.recipe, options.steps));
  if (!options.save.empty())
    SLUICE_RETURN_IF_ERROR(checkWritableFolder(options.save));
  SLUICE_ASSIGN_OR_RETURN(RunLog log, RunLog::open(options.log));
  SLUICE_RETURN_IF_ERROR(initialize(ranks, options.seed, options.init));

  Status outcome;
  for (std::uint64_t step = 0; step < options.steps && outcome.isOk(); ++step) {
    StepReport report;
    report.step = step + 1;
    report.steps = options.steps;
    report.learningRate = rate.at(step);
    auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(feeders[i].feed(ranks, step, report.learningRate));
      SLUICE_RETURN_IF_ERROR(ranks.run(entries[i]->name));
      SLUICE_RETURN_IF_ERROR(readOutputs(ranks, *entries[i], report));
      report.tokens += feeders[i].tokensPerStep();
    }
    report.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    SLUICE_RETURN_IF_ERROR(log.write(jsonLine(report)));
    observer.onStep(report);
    if (!report.guard)
      outcome = failedError(fmt::format("step {}, expected a finite loss and gradient norm but got loss {:.9g} and "
                                        "gradient norm {:.9g}",
                                        report.step, report.loss, report.gradientNorm))
                    .withNote(fmt::format("the weights are those after step {}", step));
    if (options.stop && options.stop->load()) {
      observer.onStopped(report.step);
      break;
    }
  }
  if (!options.save.empty())
    SLUICE_RETURN_IF_ERROR(saveWeights(ranks, options.save));
  RunSummary summary = summarize(ranks, options);
  SLUICE_RETURN_IF_ERROR(log.write(jsonLine(summary)));
  observer.onSummary(summary);
  return outcome;
}

} // namespace sluice
