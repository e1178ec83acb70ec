//===- Feeder.cpp - fills an entry point's inputs, step by step ---------------------===//
#include "runtime/train/Feeder.h"
#include "runtime/train/Ports.h"

#include <fmt/format.h>

namespace sluice {

/// Inputs that are scalars of the step, not data.
static bool isScalarOfStep(const plan::PortT &port) {
  return port.name == "lr" || port.name == "loss_scale" || port.name == "step" || port.name == "seed" ||
         port.name == "row";
}

Result<Feeder> Feeder::make(const Ranks &ranks, const plan::EntryT &entry, const FeederOptions &options) {
  const plan::PlanT &plan = ranks.plan();
  Feeder feeder;
  feeder.entry = &entry;
  feeder.options = options;
  for (const auto &port : entry.inputs)
    if (!isScalarOfStep(*port))
      feeder.ports.push_back(port.get());
  // Rows of a dropout are numbered even if the model has no data.
  for (int rank = 0; rank < ranks.size(); ++rank)
    feeder.places.push_back(coordinateAlong(plan, static_cast<std::uint32_t>(rank), plan.data_axes));
  feeder.order.ranks = groupSize(plan, plan.data_axes);
  if (feeder.ports.empty())
    return feeder;
  SLUICE_ASSIGN_OR_RETURN(feeder.data, openInputData(options.data, options.format, feeder.ports));
  for (const plan::PortT *port : feeder.ports) {
    if (port->per_repetition != feeder.ports[0]->per_repetition)
      return refusedError(fmt::format("inputs '{}' and '{}' of entry point '{}', expected both or neither to differ by "
                                      "micro-batch",
                                      feeder.ports[0]->name, port->name, entry.name));
    feeder.rows.emplace_back(rowElements(*port) * dtypeBytes(baseType(port->view->dtype)));
  }
  for (std::vector<std::byte> &row : feeder.rows)
    feeder.windows.emplace_back(row);

  feeder.order.rows = static_cast<std::uint64_t>(feeder.ports[0]->view->shape[0]);
  feeder.order.microbatches =
      feeder.ports[0]->per_repetition && !entry.sections.empty() ? entry.sections[0]->repeat : 1;
  feeder.order.shuffled = options.shuffled;
  feeder.order.seed = options.seed;
  feeder.tokens = feeder.order.microbatches * feeder.order.ranks * feeder.order.rows * rowElements(*feeder.ports[0]);
  return feeder;
}

std::optional<std::uint64_t> Feeder::completeSteps() const {
  if (!data || data->isEndless())
    return std::nullopt;
  return data->samples() / (order.microbatches * order.ranks * order.rows);
}

Status Feeder::feedRowNumbers(Ranks &ranks) {
  const plan::PortT *port = findInput(*entry, "row");
  if (!port)
    return Status::ok();
  if (port->view->dtype != plan::DType::i64)
    return refusedError(fmt::format("port 'row' of entry point '{}', expected i64 but got {}", entry->name,
                                    dtypeName(baseType(port->view->dtype))));
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (std::uint64_t repetition = 0; repetition < (port->per_repetition ? order.microbatches : 1); ++repetition) {
      // Only the step number differs between steps.
      auto row = static_cast<std::int64_t>(order.position(0, repetition, places[static_cast<std::size_t>(rank)], 0));
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, port->view->buffer,
                                         port->view->offset + repetition * port->view->repetition_stride,
                                         std::as_bytes(std::span(&row, 1))));
    }
  return Status::ok();
}

Status Feeder::feed(Ranks &ranks, std::uint64_t step, const StepScalars &scalars) {
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "lr", scalars.learningRate));
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "loss_scale", scalars.lossScale));
  SLUICE_RETURN_IF_ERROR(feedRowNumbers(ranks));
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "step", static_cast<std::int64_t>(scalars.update)));
  SLUICE_RETURN_IF_ERROR(writeScalar(ranks, *entry, "seed", static_cast<std::int64_t>(options.seed)));
  if (!data)
    return Status::ok();
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (std::uint64_t repetition = 0; ranks.holds(rank) && repetition < order.microbatches; ++repetition)
      for (std::uint64_t row = 0; row < order.rows; ++row)
        SLUICE_RETURN_IF_ERROR(feedRow(ranks, rank, options.overfit ? 0 : step, places[rank], repetition, row));
  return Status::ok();
}

Status Feeder::feedRow(Ranks &ranks, int rank, std::uint64_t step, std::uint64_t place, std::uint64_t repetition,
                       std::uint64_t row) {
  SLUICE_RETURN_IF_ERROR(
      data->read(order.sequence(order.position(step, repetition, place, row), data->samples()), windows));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const plan::ViewT &view = *ports[i]->view;
    SLUICE_RETURN_IF_ERROR(ranks.write(
        rank, view.buffer, view.offset + repetition * view.repetition_stride + row * rows[i].size(), rows[i]));
  }
  return Status::ok();
}

} // namespace sluice
