//===- Trainer.cpp - the loop over steps --------------------------------------------===//
#include "runtime/train/Trainer.h"
#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/train/EventFile.h"
#include "runtime/train/Feeder.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/LossScale.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/ModelFiles.h"
#include "runtime/train/Ports.h"
#include "runtime/train/RunLog.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace sluice {

static std::string entryNames(const plan::PlanT &plan) {
  return plan.entries.empty() ? "none" : join(plan.entries, ", ", [](const auto &entry) { return entry->name; });
}

Result<std::vector<DType>> initialize(Ranks &ranks, std::uint64_t seed, const std::string &init) {
  const plan::PlanT &plan = ranks.plan();
  if (int index = findEntry(plan, "init"); index >= 0) {
    for (const auto &port : plan.entries[index]->inputs)
      if (port->role != plan::PortRole::seed)
        return refusedError(fmt::format("input '{}' of entry point 'init', expected only 'seed'", port->name));
    SLUICE_RETURN_IF_ERROR(
        writeScalar(ranks, *plan.entries[index], plan::PortRole::seed, static_cast<std::int64_t>(seed)));
    SLUICE_RETURN_IF_ERROR(ranks.run("init"));
  }
  if (!init.empty())
    return loadWeights(ranks, init);
  const auto refuse = [](const char *what, const std::string &name) {
    return refusedError(fmt::format("{} '{}', expected values for it, which its model does not initialize", what, name))
        .withNote("--init loads weights");
  };
  for (const auto &parameter : plan.parameters)
    if (!parameter->initializer)
      return refuse("parameter", parameter->name);
  for (const auto &variable : plan.variables)
    if (!variable->initializer)
      return refuse("state", variable->name);
  return std::vector<DType>();
}

/// Reads the outputs of an entry point. The loss and norm of a step are those of the first entry point.
static Status readOutputs(const Ranks &ranks, const plan::EntryT &entry, bool isFirst, bool isOnly,
                          StepReport &report) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> loss, readScalar(ranks, entry, plan::PortRole::loss));
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> norm, readScalar(ranks, entry, plan::PortRole::gradient_norm));
  SLUICE_ASSIGN_OR_RETURN(std::optional<double> guard, readScalar(ranks, entry, plan::PortRole::guard));
  if (loss && isFirst)
    report.loss = *loss;
  if (norm && isFirst)
    report.gradientNorm = *norm;
  if (loss && !isOnly)
    report.losses.emplace_back(entry.name, *loss);
  if (const plan::PortT *port = findOutput(entry, plan::PortRole::loss))
    report.dtype = baseType(port->view->dtype);
  // An entry point without a guard changes no weights, or changes them in any case.
  const auto isFinite = [](const std::optional<double> &value) { return !value || std::isfinite(*value); };
  report.guard = report.guard && (guard ? *guard != 0 : isFinite(loss) && isFinite(norm));
  return Status::ok();
}

/// The output with the loss of a rank's rows. In a plan of one rank it is the loss.
static plan::PortRole rankLossRole(const Ranks &ranks) {
  return ranks.size() == 1 ? plan::PortRole::loss : plan::PortRole::rank_loss;
}

static Result<std::vector<double>> readRankLosses(const Ranks &ranks, const plan::EntryT &entry) {
  std::vector<double> losses;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    SLUICE_ASSIGN_OR_RETURN(std::optional<double> loss, readScalar(ranks, entry, rankLossRole(ranks), rank));
    losses.push_back(loss.value_or(NAN));
  }
  return losses;
}

static RunSummary summarize(const Ranks &ranks, const TrainOptions &options) {
  RunSummary summary;
  summary.now = options.now;
  for (const auto &arena : ranks.plan().arenas) {
    std::string space = plan::EnumNameSpace(arena->space);
    summary.predictedPeak[space] = arena->bytes + arena->workspace;
    summary.measuredPeak[space] = ranks.requestedBytes(arena->space);
    if (const PageBytes pages = ranks.pageBytes(arena->space); pages.live != 0)
      summary.pages[space] = {pages.resident, pages.live};
  }
  std::uint64_t held = 0;
  bool writesCheckpoints = false;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    held += ranks.holds(rank);
    writesCheckpoints = writesCheckpoints || (ranks.holds(rank) && !ranks.checkpointMemory(rank).empty());
  }
  if (writesCheckpoints)
    summary.predictedPeak[plan::EnumNameSpace(plan::Space::host)] += checkpointMemory(ranks.plan(), 0).bytes();
  summary.predictedProcess = predictedProcess(ranks.plan(), held, writesCheckpoints);
  summary.measuredProcess = processHighWater() - std::min(options.processBefore, processHighWater());
  return summary;
}

/// The weights, and the options of the run.
static Status saveRun(Ranks &ranks, const TrainOptions &options) {
  return ranks.onRoot([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(saveWeights(ranks, options.save, options.saving));
    SLUICE_RETURN_IF_ERROR(copyFiles(options.copied, options.save));
    if (options.config.empty())
      return {};
    SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(options.save + "/run.toml"));
    SLUICE_RETURN_IF_ERROR(file.write(options.config));
    return file.commit();
  });
}

static std::string weightsNote(std::uint64_t step) { return fmt::format("the weights are those after step {}", step); }

static Status notFinite(const StepReport &report, std::uint64_t applied) {
  const bool isSeen = !std::isfinite(report.loss) || !std::isfinite(report.gradientNorm);
  return failedError(fmt::format("step {}, expected a finite {} loss {:.9g} and gradient norm {:.9g}", report.step,
                                 isSeen ? "loss and gradient norm but got"
                                        : "clip coefficient and learning rate in the step with",
                                 withoutNanSign(report.loss), withoutNanSign(report.gradientNorm)))
      .withNote(weightsNote(applied));
}

/// The result of a search, or how to search.
static std::string searchNote(bool isSearched, const std::string &found) {
  if (!isSearched)
    return "--find-nonfinite names the first value that is not finite";
  return found.empty() ? "the repeated step has no value that is not finite: the fault is not in its arithmetic"
                       : "the first value that is not finite: " + found;
}

/// A search repeats a step that changed nothing.
static Status checkSearchable(const plan::PlanT &plan, const std::vector<const plan::EntryT *> &entries) {
  if (plan.target && plan.target->device != "cpu")
    return {StatusCode::usage,
            fmt::format("'--find-nonfinite' requires a plan for cpu, but this plan is for {}", plan.target->device)};
  for (const plan::EntryT *entry : entries)
    if (!findOutput(*entry, plan::PortRole::guard))
      return Status(StatusCode::usage,
                    fmt::format("'--find-nonfinite' repeats a step whose update a guard suppressed, and entry point "
                                "'{}' has no guard",
                                entry->name))
          .withNote("compile the plan with --set optimizer.in_backward=false, which gives the same losses and weights");
  return {};
}

/// Describes the data to the observer, with the number of steps of its epochs.
static Status reportData(Feeder &feeder, const TrainOptions &options, TrainObserver &observer) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<DataReport> report, feeder.describe());
  if (!report)
    return Status::ok();
  report->epochs = options.epochs;
  report->steps = options.steps;
  observer.onData(*report);
  return Status::ok();
}

static void reportLeftOut(const Ranks &ranks, const Evaluation &evaluation, TrainObserver &observer) {
  if (const std::optional<EvaluationRows> rows = evaluation.leftOut(); rows && ranks.isRoot())
    observer.onRowsLeftOut(*rows);
}

namespace {

/// The log, the event file and the observer.
class Outputs {
public:
  /// Opens the files, and checks that weights can be saved. The run continues after `steps` steps.
  static Result<Outputs> open(const Ranks &ranks, const TrainOptions &options, std::uint64_t steps,
                              TrainObserver &observer) {
    const bool writes = ranks.isRoot() && !options.dryRun;
    if (writes && !options.save.empty())
      SLUICE_RETURN_IF_ERROR(checkWritableFolder(options.save));
    SLUICE_ASSIGN_OR_RETURN(RunLog log, RunLog::open(writes ? options.log : std::string(), steps));
    SLUICE_ASSIGN_OR_RETURN(EventFile events, EventFile::create(writes ? options.tensorboard : std::string()));
    return Outputs(std::move(log), std::move(events), observer);
  }

  void write(const StepReport &report) {
    check(log.write(jsonLine(report)), fmt::format("the log ends before step {}; the run continues", report.step));
    check(events.write(report.step, scalars(report)),
          fmt::format("the event file ends before step {}; the run continues", report.step));
    observer->onStep(report);
  }
  void write(const EvaluationReport &report) {
    check(log.write(jsonLine(report)), "the log has no evaluation");
    check(events.write(0, {{"eval_loss", report.loss}}), "the event file has no evaluation");
    observer->onEvaluation(report);
  }
  void write(const RunSummary &summary) {
    check(log.write(jsonLine(summary)), "the log has no summary");
    observer->onSummary(summary);
  }

private:
  Outputs(RunLog log, EventFile events, TrainObserver &observer)
      : log(std::move(log)), events(std::move(events)), observer(&observer) {}

  /// A file that can no longer be written does not end the run.
  void check(Status written, std::string note) {
    if (!written.isOk())
      observer->onWarning(std::move(written).withNote(std::move(note)));
  }

  RunLog log;
  EventFile events;
  TrainObserver *observer;
};

} // namespace

Status train(Ranks &ranks, const TrainOptions &given, TrainObserver &observer) {
  const plan::PlanT &plan = ranks.plan();
  TrainOptions options = given;
  std::vector<const plan::EntryT *> entries;
  std::vector<Feeder> feeders;
  for (const std::string &name : options.entries) {
    int index = findEntry(plan, name);
    if (index < 0)
      return Status(StatusCode::usage,
                    fmt::format("entry point '{}' is unknown, expected one of {}", name, entryNames(plan)));
    entries.push_back(plan.entries[index].get());
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entries.back(), options));
    feeder.requireTargets();
    feeders.push_back(std::move(feeder));
  }
  if (options.epochs > 0) {
    SLUICE_ASSIGN_OR_RETURN(options.steps, feeders.front().stepsOfEpochs(options.epochs));
  }
  SLUICE_ASSIGN_OR_RETURN(Evaluation evaluation, Evaluation::make(ranks, options.evaluation, options.seed));
  if (options.logRanks && !findOutput(*entries.front(), rankLossRole(ranks)))
    return Status(StatusCode::usage, fmt::format("entry point '{}' has no output 'rank_loss', which --log-ranks reads",
                                                 entries.front()->name))
        .withNote("compile the plan with --set loss.per_rank=true");
  const Status searchable = checkSearchable(plan, entries);
  if (options.findNonFinite && !searchable.isOk())
    return searchable;
  if (ranks.isRoot())
    SLUICE_RETURN_IF_ERROR(reportData(feeders.front(), options, observer));
  reportLeftOut(ranks, evaluation, observer);
  const LearningRate rate(plan, options.steps);
  bool resumes = false;
  if (options.checkpoints && !options.dryRun) {
    SLUICE_ASSIGN_OR_RETURN(resumes, options.checkpoints->open(ranks));
  }
  // A checkpoint has all that persists: only the dtypes of --init are needed then.
  if (!resumes || !options.init.empty()) {
    SLUICE_ASSIGN_OR_RETURN(options.saving.loaded, initialize(ranks, options.seed, options.init));
  }
  TrainProgress progress;
  if (resumes) {
    SLUICE_ASSIGN_OR_RETURN(progress, options.checkpoints->load(ranks));
  }
  for (Feeder &feeder : feeders)
    SLUICE_RETURN_IF_ERROR(feeder.checkTargets(progress.step, options.steps));
  SLUICE_ASSIGN_OR_RETURN(Outputs outputs, Outputs::open(ranks, options, progress.step, observer));

  if (const std::uint64_t total = plan.learning_rate ? plan.learning_rate->total : 0;
      total != 0 && options.steps > total)
    observer.onWarning(
        inputError(fmt::format("--steps, expected at most {} (the plan's lr_schedule.total_steps) but got {}", total,
                               options.steps))
            .withNote(fmt::format("the learning rate stays at {:.4g} after step {}", rate.at(total), total)));

  Status outcome, evaluated;
  LossScale &scale = progress.lossScale;
  bool scales = std::any_of(entries.begin(), entries.end(), [](const plan::EntryT *entry) {
    return findInput(*entry, plan::PortRole::loss_scale) != nullptr;
  });
  const bool isGuarded = std::none_of(entries.begin(), entries.end(), [](const plan::EntryT *entry) {
    return findOutput(*entry, plan::PortRole::gradient_norm) && !findOutput(*entry, plan::PortRole::guard);
  });
  std::uint64_t &updates = progress.updates;
  // A step that follows the same entry point may begin while that one still updates. With several entry points in
  // turn, or an evaluation in between, the update is complete.
  const bool overlaps = entries.size() == 1;
  // When the result of the previous step was known, if this step followed it.
  std::optional<std::chrono::steady_clock::time_point> known;
  observer.onBegin();
  const std::uint64_t steps = options.dryRun ? 0 : options.steps;
  for (std::uint64_t step = progress.step; step < steps && outcome.isOk(); ++step) {
    StepReport report;
    report.step = step + 1;
    report.steps = options.steps;
    report.learningRate = rate.at(step);
    report.epoch = feeders.front().epoch(step + 1);
    report.sourceEpochs = feeders.front().sourceEpochs(step + 1);
    if (scales)
      report.lossScale = scale.value();
    // Decided before the step, so that it is complete if a different entry point follows.
    const bool isCheckpointDue = options.checkpoints && options.checkpoints->isDue(report.step);
    const bool isLast = step + 1 == options.steps || isCheckpointDue || evaluation.isDue(report.step, options.steps);
    // With a dynamic scale a step that changed nothing is skipped, unless the loss itself is not finite.
    const auto endsRun = [&] {
      return !report.guard && !(scales && std::isfinite(report.loss) && scale.canDecrease());
    };
    std::string nonFinite;
    auto begin = known.value_or(std::chrono::steady_clock::now());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(feeders[i].feed(ranks, step, {report.learningRate, scale.value(), updates + 1}));
      SLUICE_RETURN_IF_ERROR(overlaps ? ranks.start(entries[i]->name) : ranks.run(entries[i]->name));
      SLUICE_RETURN_IF_ERROR(readOutputs(ranks, *entries[i], i == 0, entries.size() == 1, report));
      report.tokens += feeders[i].tokensPerStep();
      if (options.findNonFinite && endsRun()) {
        SLUICE_RETURN_IF_ERROR(ranks.finish());
        SLUICE_ASSIGN_OR_RETURN(nonFinite, ranks.findNonFinite(entries[i]->name));
        break;
      }
    }
    if (options.logRanks) {
      SLUICE_ASSIGN_OR_RETURN(report.rankLosses, readRankLosses(ranks, *entries.front()));
    }
    if (overlaps && isLast)
      SLUICE_RETURN_IF_ERROR(ranks.finish());
    const auto end = std::chrono::steady_clock::now();
    known = overlaps && !isLast ? std::optional(end) : std::nullopt;
    report.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
    updates += report.guard;
    const std::uint64_t applied = report.guard || !isGuarded ? report.step : step;
    const bool fails = endsRun();
    if (scales)
      scale.update(report.guard);
    if (fails) {
      outcome = notFinite(report, applied);
      if (searchable.isOk())
        outcome.addNote(searchNote(options.findNonFinite, nonFinite));
    } else if (evaluation.isDue(report.step, options.steps)) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<EvaluationSum> sum, evaluation.run(ranks, updates, options.stop));
      Result<double> mean = sum ? sum->mean() : 0.0;
      if (sum && mean.isOk())
        report.evaluationLoss = *mean;
      evaluated = mean.takeStatus();
    }
    outputs.write(report);
    progress.step = report.step;
    progress.evaluationLoss = report.evaluationLoss;
    if (isCheckpointDue && outcome.isOk())
      outcome = options.checkpoints->save(ranks, progress, /*isFinal=*/false);
    // A signal reaches processes at different steps; all must stop after the same. They exchange their state
    // while the next step runs, and stop after it.
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agreeLater(options.stop && options.stop->load()));
    if (stops)
      observer.onStopped(report.step);
    if (stops || !evaluated.isOk())
      break;
  }
  SLUICE_RETURN_IF_ERROR(ranks.finish());
  if (options.checkpoints && !options.dryRun) {
    Status saved = outcome.isOk() ? options.checkpoints->save(ranks, progress, /*isFinal=*/true)
                                  : options.checkpoints->finish(ranks);
    if (outcome.isOk())
      outcome = std::move(saved);
  }
  if (!options.save.empty() && !options.dryRun)
    if (Status saved = saveRun(ranks, options); !saved.isOk())
      return outcome.isOk() ? std::move(saved)
                            : std::move(outcome).withNote("the weights could not be saved: " + saved.message());
  outputs.write(summarize(ranks, options));
  return outcome.isOk() ? evaluated : outcome;
}

Status evaluate(Ranks &ranks, const TrainOptions &given, TrainObserver &observer) {
  TrainOptions options = given;
  SLUICE_ASSIGN_OR_RETURN(Evaluation evaluation, Evaluation::make(ranks, options.evaluation, options.seed));
  reportLeftOut(ranks, evaluation, observer);
  SLUICE_ASSIGN_OR_RETURN(Outputs outputs, Outputs::open(ranks, options, /*steps=*/0, observer));
  SLUICE_ASSIGN_OR_RETURN(options.saving.loaded, initialize(ranks, options.seed, options.init));
  observer.onBegin();
  if (evaluation.hasData() && !options.dryRun) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<EvaluationSum> sum, evaluation.run(ranks, /*updates=*/0, options.stop));
    if (sum) {
      SLUICE_ASSIGN_OR_RETURN(const double mean, sum->mean());
      outputs.write(evaluation.report(mean));
    } else
      observer.onStopped(0);
  }
  if (!options.save.empty() && !options.dryRun)
    SLUICE_RETURN_IF_ERROR(saveRun(ranks, options));
  outputs.write(summarize(ranks, options));
  return {};
}

} // namespace sluice
