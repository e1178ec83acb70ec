//===- Evaluation.cpp - the loss on other data ------------------------------------===//
#include "runtime/train/Evaluation.h"
#include "runtime/train/Ports.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace sluice {

/// Batches of one evaluation on unbounded data.
static constexpr std::uint64_t defaultUnboundedBatches = 20;

Result<Evaluation> Evaluation::make(const Ranks &ranks, const EvaluationOptions &options, std::uint64_t seed) {
  Evaluation result;
  result.options = options;
  if (options.data.empty())
    return result;
  int index = findEntry(ranks.plan(), "eval_step");
  if (index < 0 || !findOutput(*ranks.plan().entries[index], plan::PortRole::loss))
    return inputError("the plan has no entry point 'eval_step' with a loss")
        .withNote("the compiler derives it from a model's train function");
  result.entry = ranks.plan().entries[index].get();
  for (plan::PortRole role : {plan::PortRole::learning_rate, plan::PortRole::loss_scale})
    if (const plan::PortT *port = findInput(*result.entry, role))
      return refusedError(fmt::format("input '{}' of entry point 'eval_step', which is a scalar of the training step",
                                      port->name))
          .withNote("rename the input of the model");
  FeederOptions feederOptions;
  feederOptions.data = options.data;
  feederOptions.files = options.files;
  feederOptions.seed = seed;
  SLUICE_ASSIGN_OR_RETURN(result.feeder, Feeder::make(ranks, *result.entry, feederOptions));
  const std::optional<std::uint64_t> complete = result.feeder.completeSteps();
  if (complete == 0)
    return inputError(fmt::format("--eval-data, expected at least the {} rows of one batch of all ranks but got {}",
                                  result.feeder.rowsPerStep(), *result.feeder.totalRows()))
        .withNote("give more data, or a plan with fewer rows in a batch or fewer ranks");
  result.batches = options.batches ? std::min(options.batches, complete.value_or(UINT64_MAX))
                                   : complete.value_or(defaultUnboundedBatches);
  return result;
}

std::optional<EvaluationRows> Evaluation::leftOut() const {
  const std::optional<std::uint64_t> total = entry ? feeder.totalRows() : std::nullopt;
  EvaluationRows rows;
  rows.batch = feeder.rowsPerStep();
  rows.covered = batches * rows.batch;
  if (!total || *total == rows.covered || *total - rows.covered >= rows.batch)
    return std::nullopt;
  rows.total = *total;
  return rows;
}

Result<double> EvaluationSum::mean() const {
  if (weight == 0)
    return inputError("the evaluated rows of --eval-data have no target that counts")
        .withNote("give rows with targets that are not ignored");
  return loss / weight;
}

EvaluationReport Evaluation::report(double loss) const {
  EvaluationReport report;
  report.loss = loss;
  report.dtype = baseType(findOutput(*entry, plan::PortRole::loss)->view->dtype);
  if (findInput(*entry, plan::PortRole::tokens) && findInput(*entry, plan::PortRole::targets))
    report.perplexity = std::exp(loss);
  return report;
}

Result<std::optional<EvaluationSum>> Evaluation::run(Ranks &ranks, std::uint64_t updates,
                                                     const std::atomic<bool> *stop) {
  StepScalars scalars;
  scalars.update = updates;
  EvaluationSum sum;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agree(stop && stop->load()));
    if (stops)
      return std::optional<EvaluationSum>();
    SLUICE_RETURN_IF_ERROR(feeder.feed(ranks, batch, scalars));
    SLUICE_RETURN_IF_ERROR(ranks.run(entry->name));
    SLUICE_ASSIGN_OR_RETURN(std::optional<double> loss, readScalar(ranks, *entry, plan::PortRole::loss));
    SLUICE_ASSIGN_OR_RETURN(std::optional<double> counted, readScalar(ranks, *entry, plan::PortRole::counted));
    // The mean over no targets is not a number.
    if (counted == 0)
      continue;
    sum.loss += loss.value_or(0) * counted.value_or(1);
    sum.weight += counted.value_or(1);
  }
  return std::optional(sum);
}

} // namespace sluice
