//===- StepInputs.cpp - the inputs of an entry point that the host computes -------------===//
#include "runtime/train/StepInputs.h"
#include "runtime/base/Text.h"
#include "runtime/train/Ports.h"

#include <fmt/format.h>

namespace sluice {

Result<StepInputs> StepInputs::make(const Ranks &ranks, const plan::EntryT &entry, std::uint64_t seed) {
  const plan::PlanT &plan = ranks.plan();
  StepInputs inputs;
  inputs.entry = &entry;
  inputs.seed = seed;
  for (const auto &port : entry.inputs)
    if (!isWrittenByHost(port->role))
      inputs.ports.push_back(port.get());
    else if (port->role != plan::PortRole::constant && elementCount(port->view->shape).value_or(0) != 1)
      return refusedError(fmt::format("input '{}' of entry point '{}', expected a scalar of the step but got shape {}",
                                      port->name, entry.name, formatShape(port->view->shape)))
          .withNote("rename the input of the model");
  // Random numbers are those of a rank and a micro-batch even if the model has no data, each of which counts as a row.
  for (int rank = 0; rank < ranks.size(); ++rank)
    inputs.places.push_back(coordinateAlong(plan, static_cast<std::uint32_t>(rank), plan.data_axes));
  inputs.dataOrder.ranks = groupSize(plan, plan.data_axes);
  const plan::PortT *repeated = inputs.ports.empty() ? findInput(entry, plan::PortRole::row) : inputs.ports.front();
  if (repeated && repeated->per_repetition && !entry.sections.empty())
    inputs.dataOrder.microbatches = entry.sections[0]->repeat;
  if (!inputs.ports.empty() && !inputs.ports.front()->view->shape.empty())
    inputs.dataOrder.rows = static_cast<std::uint64_t>(inputs.ports.front()->view->shape[0]);
  return inputs;
}

Status StepInputs::writeRowNumbers(Ranks &ranks) const {
  const plan::PortT *port = findInput(*entry, plan::PortRole::row);
  if (!port)
    return Status::ok();
  if (port->view->dtype != plan::DType::i64)
    return refusedError(fmt::format("port '{}' of entry point '{}', expected i64 but got {}", port->name, entry->name,
                                    dtypeName(baseType(port->view->dtype))));
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (std::uint64_t repetition = 0; repetition < (port->per_repetition ? dataOrder.microbatches : 1); ++repetition) {
      // Only the step number differs between steps.
      auto row = static_cast<std::int64_t>(dataOrder.position(0, repetition, place(rank), 0));
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, port->view->buffer,
                                         port->view->offset + repetition * port->view->repetition_stride,
                                         std::as_bytes(std::span(&row, 1))));
    }
  return Status::ok();
}

Status StepInputs::write(Ranks &ranks, const StepScalars &scalars) const {
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, plan::PortRole::learning_rate, scalars.learningRate));
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, plan::PortRole::loss_scale, scalars.lossScale));
  SLUICE_RETURN_IF_ERROR(writeRowNumbers(ranks));
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, plan::PortRole::step, static_cast<std::int64_t>(scalars.update)));
  return writeScalar(ranks, *entry, plan::PortRole::seed, static_cast<std::int64_t>(seed));
}

} // namespace sluice
