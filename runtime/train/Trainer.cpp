//===- Trainer.cpp - the loop over steps --------------------------------------------===//
#include "runtime/train/Trainer.h"
#include "runtime/base/File.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/train/EventFile.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/ModelFiles.h"
#include "runtime/train/Ports.h"
#include "runtime/train/RunLog.h"
#include "runtime/train/TrainSession.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <ranges>

namespace sluice {

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

/// The result of a search, or how to search.
static std::string searchNote(bool isSearched, const std::string &found) {
  if (!isSearched)
    return "--find-nonfinite names the first value that is not finite";
  return found.empty() ? "the repeated step has no value that is not finite: the fault is not in its arithmetic"
                       : "the first value that is not finite: " + found;
}

/// A search repeats a step that changed nothing.
static Status checkSearchable(const plan::PlanT &plan, std::span<const EntrySchedule::Source> sources) {
  if (plan.target && plan.target->device != "cpu")
    return {StatusCode::usage,
            fmt::format("'--find-nonfinite' requires a plan for cpu, but this plan is for {}", plan.target->device)};
  for (const plan::EntryT *entry : std::views::transform(sources, &EntrySchedule::Source::entry))
    if (!findOutput(*entry, plan::PortRole::guard))
      return Status(StatusCode::usage,
                    fmt::format("'--find-nonfinite' repeats a step whose update a guard suppressed, and entry point "
                                "'{}' has no guard",
                                entry->name))
          .withNote("compile the plan with --set optimizer.in_backward=false, which gives the same losses and weights");
  return {};
}

/// Describes the data to the observer, with the number of steps of its epochs.
static Status reportData(EntrySchedule &schedule, const TrainOptions &options, TrainObserver &observer) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<DataReport> report, schedule.describe());
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
  SLUICE_ASSIGN_OR_RETURN(EntrySchedule schedule, EntrySchedule::make(ranks, options, options));
  std::vector<EntrySchedule::Source> &sources = schedule.sources();
  if (options.epochs > 0) {
    SLUICE_ASSIGN_OR_RETURN(options.steps, schedule.stepsOfEpochs(options.epochs));
  }
  SLUICE_ASSIGN_OR_RETURN(Evaluation evaluation, Evaluation::make(ranks, options.evaluation, options.seed));
  if (options.logRanks && !findOutput(*sources.front().entry, rankLossRole(ranks)))
    return Status(StatusCode::usage, fmt::format("entry point '{}' has no output 'rank_loss', which --log-ranks reads",
                                                 sources.front().entry->name))
        .withNote("compile the plan with --set loss.per_rank=true");
  Status searchable = checkSearchable(plan, sources);
  if (options.findNonFinite && !searchable.isOk())
    return searchable;
  if (ranks.isRoot())
    SLUICE_RETURN_IF_ERROR(reportData(schedule, options, observer));
  reportLeftOut(ranks, evaluation, observer);
  SessionOptions sessionOptions;
  sessionOptions.seed = options.seed;
  sessionOptions.init = options.init;
  sessionOptions.steps = options.steps;
  sessionOptions.checkpoints = options.dryRun ? nullptr : options.checkpoints;
  TrainSession session(ranks, sessionOptions);
  SLUICE_RETURN_IF_ERROR(session.open());
  options.saving.loaded = session.loaded();
  const std::uint64_t first = session.progress().step;
  if (!options.overfit)
    schedule.continueFrom(first, session.progress().rowsRead);
  SLUICE_RETURN_IF_ERROR(schedule.checkTargets(first, options.steps));
  SLUICE_ASSIGN_OR_RETURN(Outputs outputs, Outputs::open(ranks, options, first, observer));

  if (const std::uint64_t total = plan.learning_rate ? plan.learning_rate->total : 0;
      total != 0 && options.steps > total)
    observer.onWarning(
        inputError(fmt::format("--steps, expected at most {} (the plan's lr_schedule.total_steps) but got {}", total,
                               options.steps))
            .withNote(fmt::format("the learning rate stays at {:.4g} after step {}",
                                  LearningRate(plan, options.steps).at(total), total)));

  std::vector<StepEntry> stepEntries;
  EntrySchedule::Part part;
  for (EntrySchedule::Source &source : sources)
    stepEntries.emplace_back(*source.entry, [&ranks, &part, &source](const StepScalars &scalars) {
      return source.feeder.feed(ranks, part.step, scalars);
    });
  StepRequest request;
  request.findNonFinite = options.findNonFinite;
  request.readsRankLosses = options.logRanks;
  Status outcome, evaluated;
  observer.onBegin();
  for (std::uint64_t step = first, steps = options.dryRun ? 0 : options.steps; step < steps && outcome.isOk(); ++step) {
    StepReport report;
    report.steps = options.steps;
    report.epoch = schedule.epoch(step + 1);
    report.sourceEpochs = schedule.sourceEpochs(step + 1);
    report.packed = schedule.packed(step);
    report.tokens = schedule.tokens(step);
    part = schedule.at(step);
    if (schedule.differs())
      report.entry = sources[part.first].entry->name;
    request.entries = std::span(stepEntries).subspan(part.first, part.count);
    // Decided before the step, so that it is complete if a different entry point follows.
    const bool isCheckpointDue = session.isCheckpointDue(step + 1),
               isEvaluated = evaluation.isDue(step + 1, options.steps);
    request.isComplete = step + 1 == options.steps || isCheckpointDue || isEvaluated ||
                         sources[schedule.at(step + 1).first].entry != sources[part.first].entry;
    request.learningRate = session.learningRate();
    SLUICE_ASSIGN_OR_RETURN(StepOutcome result, session.step(request, report));
    if (!result.status.isOk()) {
      outcome = std::move(result.status);
      if (searchable.isOk())
        outcome.addNote(searchNote(options.findNonFinite, result.nonFinite));
    } else if (isEvaluated) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<EvaluationSum> sum,
                              evaluation.run(ranks, session.progress().updates, options.stop));
      Result<double> mean = sum ? sum->mean() : 0.0;
      if (sum && mean.isOk())
        report.evaluationLoss = *mean;
      evaluated = mean.takeStatus();
    }
    outputs.write(report);
    session.setEvaluationLoss(report.evaluationLoss);
    session.setRowsRead(schedule.rowsRead(session.progress().step));
    if (isCheckpointDue && outcome.isOk())
      outcome = session.save(/*isFinal=*/false);
    // A signal reaches processes at different steps; all must stop after the same. They exchange their state
    // while the next step runs, and stop after it.
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agreeLater(options.stop && options.stop->load()));
    if (stops)
      observer.onStopped(report.step);
    if (stops || !evaluated.isOk())
      break;
  }
  SLUICE_RETURN_IF_ERROR(session.finish());
  Status written = outcome.isOk() ? session.save(/*isFinal=*/true) : session.finishCheckpoint();
  if (outcome.isOk())
    outcome = std::move(written);
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
