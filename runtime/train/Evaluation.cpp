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
  std::optional<std::uint64_t> steps = result.feeder.completeSteps();
  result.batches = options.batches ? options.batches
                   : steps         ? std::max<std::uint64_t>(*steps, 1)
                                   : defaultUnboundedBatches;
  return result;
}

EvaluationReport Evaluation::report(double loss) const {
  EvaluationReport report;
  report.loss = loss;
  report.dtype = baseType(findOutput(*entry, plan::PortRole::loss)->view->dtype);
  if (findInput(*entry, plan::PortRole::tokens) && findInput(*entry, plan::PortRole::targets))
    report.perplexity = std::exp(loss);
  return report;
}

Result<std::optional<double>> Evaluation::run(Ranks &ranks, std::uint64_t updates, const std::atomic<bool> *stop) {
  StepScalars scalars;
  scalars.update = updates;
  double sum = 0;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agree(stop && stop->load()));
    if (stops)
      return std::optional<double>();
    SLUICE_RETURN_IF_ERROR(feeder.feed(ranks, batch, scalars));
    SLUICE_RETURN_IF_ERROR(ranks.run(entry->name));
    SLUICE_ASSIGN_OR_RETURN(std::optional<double> loss, readScalar(ranks, *entry, plan::PortRole::loss));
    sum += loss.value_or(0);
  }
  return std::optional<double>(sum / static_cast<double>(batches));
}

} // namespace sluice
