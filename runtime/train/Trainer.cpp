//===- Trainer.cpp - the loop over steps --------------------------------------------===//
#include "runtime/train/Trainer.h"
#include "runtime/train/DataOrder.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/Ports.h"
#include "runtime/train/Process.h"
#include "runtime/train/RunLog.h"
#include "runtime/train/TokenData.h"
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

/// Repetitions of an entry point that have inputs of their own.
static std::uint64_t repetitionsOf(const plan::EntryT &entry) {
  return entry.sections.empty() ? 1 : entry.sections[0]->repeat;
}

namespace {

/// Fills the ports of one entry point, step by step.
class Feeder {
public:
  /// Checks that every input of the entry point is known and opens the data.
  static Result<Feeder> make(const Ranks &ranks, const plan::EntryT &entry, const TrainOptions &options) {
    Feeder feeder;
    feeder.entry = &entry;
    for (const auto &port : entry.inputs)
      if (port->name != "tokens" && port->name != "targets" && port->name != "lr" && port->name != "step" &&
          port->name != "seed")
        return inputError(fmt::format("entry point '{}' has an input '{}', expected only tokens, targets, lr, step and "
                                      "seed",
                                      entry.name, port->name));
    const plan::PortT *tokens = findInput(entry, "tokens");
    const plan::PortT *targets = findInput(entry, "targets");
    if (!tokens)
      return feeder;
    const std::vector<std::int64_t> &extents = tokens->view->shape;
    if (extents.size() != 2 || tokens->view->dtype != plan::DType::i32 ||
        (targets && (targets->view->shape != extents || targets->view->dtype != plan::DType::i32)))
      return refusedError(fmt::format("entry point '{}', expected i32 tokens and targets of one shape, rows by length, "
                                      "but got {} dims",
                                      entry.name, extents.size()));
    feeder.tokens = tokens;
    feeder.targets = targets;
    feeder.order.microbatches = tokens->per_repetition ? repetitionsOf(entry) : 1;
    feeder.axes = dataAxes(ranks.plan());
    feeder.order.ranks = groupSize(ranks.plan(), feeder.axes);
    feeder.order.rows = static_cast<std::uint64_t>(extents[0]);
    feeder.order.shuffled = options.shuffled;
    feeder.order.seed = options.seed;
    feeder.length = static_cast<std::uint64_t>(extents[1]);
    feeder.tokenRow.resize(feeder.length);
    feeder.targetRow.resize(feeder.length);
    std::uint64_t vocabulary = tokens->limit;
    if (targets && targets->limit && (!vocabulary || targets->limit < vocabulary))
      vocabulary = targets->limit;
    SLUICE_ASSIGN_OR_RETURN(TokenData data,
                            TokenData::open(options.data, {feeder.length, feeder.order.rows, vocabulary}));
    feeder.data.emplace(std::move(data));
    return feeder;
  }

  /// Tokens of one step over all ranks.
  std::uint64_t tokensPerStep() const {
    return data ? order.microbatches * order.ranks * order.rows * length : 0;
  }

  Status feed(Ranks &ranks, std::uint64_t step, double learningRate, std::uint64_t seed) {
    SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "lr", learningRate));
    SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "step", static_cast<std::int64_t>(step + 1)));
    SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "seed", static_cast<std::int64_t>(seed)));
    if (!data)
      return Status::ok();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      std::uint64_t place = coordinateAlong(ranks.plan(), static_cast<std::uint32_t>(rank), axes);
      for (std::uint64_t m = 0; m < order.microbatches; ++m)
        for (std::uint64_t row = 0; row < order.rows; ++row) {
          std::uint64_t sequence = order.sequence(order.position(step, m, place, row), data->sequences());
          SLUICE_RETURN_IF_ERROR(data->read(sequence, tokenRow, targetRow));
          SLUICE_RETURN_IF_ERROR(writeRow(ranks, rank, *tokens, m, row, tokenRow));
          if (targets)
            SLUICE_RETURN_IF_ERROR(writeRow(ranks, rank, *targets, m, row, targetRow));
        }
    }
    return Status::ok();
  }

private:
  Status writeRow(Ranks &ranks, int rank, const plan::PortT &port, std::uint64_t repetition, std::uint64_t row,
                  std::span<const std::int32_t> values) {
    const plan::ViewT &view = *port.view;
    std::uint64_t offset = view.offset + repetition * view.repetition_stride + row * length * sizeof(std::int32_t);
    return ranks.write(rank, view.buffer, offset, std::as_bytes(values));
  }

  const plan::EntryT *entry = nullptr;
  const plan::PortT *tokens = nullptr;
  const plan::PortT *targets = nullptr;
  std::vector<std::uint32_t> axes;
  DataOrder order;
  std::uint64_t length = 0;
  std::optional<TokenData> data;
  std::vector<std::int32_t> tokenRow;
  std::vector<std::int32_t> targetRow;
};

} // namespace

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
  for (const std::string &name : options.entries) {
    int index = findEntry(plan, name);
    if (index < 0)
      return Status(StatusCode::usage,
                    fmt::format("entry point '{}' is unknown, expected one of {}", name, entryNames(plan)));
    entries.push_back(plan.entries[index].get());
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entries.back(), options));
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
      SLUICE_RETURN_IF_ERROR(feeders[i].feed(ranks, step, report.learningRate, options.seed));
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
