//===- TrainSession.cpp - the steps of a training ----------------------------------------===//
#include "runtime/train/TrainSession.h"
#include "runtime/base/Text.h"
#include "runtime/train/Ports.h"
#include "runtime/train/Weights.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace sluice {

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

plan::PortRole rankLossRole(const Ranks &ranks) {
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

static std::string weightsNote(std::uint64_t step) { return fmt::format("the weights are those after step {}", step); }

static Status notFinite(const StepReport &report, std::uint64_t applied) {
  const bool isSeen = !std::isfinite(report.loss) || !std::isfinite(report.gradientNorm);
  return failedError(fmt::format("step {}, expected a finite {} loss {:.9g} and gradient norm {:.9g}", report.step,
                                 isSeen ? "loss and gradient norm but got"
                                        : "clip coefficient and learning rate in the step with",
                                 withoutNanSign(report.loss), withoutNanSign(report.gradientNorm)))
      .withNote(weightsNote(applied));
}

StepEntry::StepEntry(const plan::EntryT &entry, std::function<Status(const StepScalars &)> feed)
    : entry(&entry), feed(std::move(feed)), isScaled(findInput(entry, plan::PortRole::loss_scale) != nullptr),
      isGuarded(!findOutput(entry, plan::PortRole::gradient_norm) || findOutput(entry, plan::PortRole::guard)) {}

TrainSession::TrainSession(Ranks &ranks, SessionOptions given)
    : ranks(ranks), options(std::move(given)), rate(ranks.plan(), options.steps) {}

Status TrainSession::open() {
  bool resumes = false;
  if (options.checkpoints) {
    SLUICE_ASSIGN_OR_RETURN(resumes, options.checkpoints->open(ranks));
  }
  // A checkpoint has all that persists: only the dtypes of the weights file are needed then.
  if (!resumes || !options.init.empty()) {
    SLUICE_ASSIGN_OR_RETURN(loadedTypes, initialize(ranks, options.seed, options.init));
  }
  if (resumes) {
    SLUICE_ASSIGN_OR_RETURN(done, options.checkpoints->load(ranks));
  }
  return {};
}

bool TrainSession::isCheckpointDue(std::uint64_t step) const {
  return options.checkpoints && options.checkpoints->isDue(step);
}

Result<StepOutcome> TrainSession::step(const StepRequest &request, StepReport &report) {
  using Clock = std::chrono::steady_clock;
  StepOutcome outcome;
  const std::span<const StepEntry> entries = request.entries;
  const bool isScaled = std::ranges::any_of(entries, &StepEntry::isScaled);
  // With several entry points in turn the update is complete before the next one.
  const bool overlaps = entries.size() == 1;
  LossScale &scale = done.lossScale;
  report.step = done.step + 1;
  report.learningRate = request.learningRate;
  if (isScaled)
    report.lossScale = scale.value();
  // With a dynamic scale a step that changed nothing is skipped, unless the loss itself is not finite.
  const auto endsRun = [&] {
    return !report.guard && !(isScaled && std::isfinite(report.loss) && scale.canDecrease());
  };
  const auto begin = known.value_or(Clock::now());
  for (const StepEntry &each : entries) {
    SLUICE_RETURN_IF_ERROR(each.feed({report.learningRate, scale.value(), done.updates + 1}));
    SLUICE_RETURN_IF_ERROR(overlaps ? ranks.start(each.entry->name) : ranks.run(each.entry->name));
    SLUICE_RETURN_IF_ERROR(readOutputs(ranks, *each.entry, &each == entries.data(), entries.size() == 1, report));
    if (request.findNonFinite && endsRun()) {
      SLUICE_RETURN_IF_ERROR(ranks.finish());
      SLUICE_ASSIGN_OR_RETURN(outcome.nonFinite, ranks.findNonFinite(each.entry->name));
      break;
    }
  }
  if (request.readsRankLosses) {
    SLUICE_ASSIGN_OR_RETURN(report.rankLosses, readRankLosses(ranks, *entries.front().entry));
  }
  if (overlaps && request.isComplete)
    SLUICE_RETURN_IF_ERROR(ranks.finish());
  const auto end = Clock::now();
  known = overlaps && !request.isComplete ? std::optional(end) : std::nullopt;
  report.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
  done.updates += report.guard;
  const bool isGuarded = std::ranges::all_of(entries, &StepEntry::isGuarded);
  const bool fails = endsRun();
  if (isScaled)
    scale.update(report.guard);
  done.evaluationLoss.reset();
  if (fails)
    outcome.status = notFinite(report, report.guard || !isGuarded ? report.step : done.step);
  else
    done.step = report.step;
  return outcome;
}

Status TrainSession::save(bool isFinal) {
  return options.checkpoints ? options.checkpoints->save(ranks, done, isFinal) : Status::ok();
}

Status TrainSession::finishCheckpoint() {
  return options.checkpoints ? options.checkpoints->finish(ranks) : Status::ok();
}

} // namespace sluice
