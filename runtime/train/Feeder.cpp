//===- Feeder.cpp - fills an entry point's inputs, step by step ---------------------===//
#include "runtime/train/Feeder.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_map>

namespace sluice {

Status Feeder::open() {
  if (options.weights.empty()) {
    // At least the rows of one rank's micro-batch.
    const std::uint64_t rows = ports[0]->view->shape.empty() ? 1 : static_cast<std::uint64_t>(ports[0]->view->shape[0]);
    SLUICE_ASSIGN_OR_RETURN(auto all, openInputData(options.data, options.files, ports, rows));
    data.push_back(std::move(all));
    return Status::ok();
  }
  if (options.weights.size() != options.data.size())
    return Status(StatusCode::usage,
                  fmt::format("--data-weights, expected {} weights, one per argument of --data, but got {}",
                              options.data.size(), options.weights.size()))
        .withNote("a glob in quotes is one argument");
  for (const std::string &source : options.data) {
    SLUICE_ASSIGN_OR_RETURN(auto one, openInputData({source}, options.files, ports, 1));
    data.push_back(std::move(one));
  }
  mixture = DataMixture(options.weights, options.seed);
  return Status::ok();
}

Result<Feeder> Feeder::make(const Ranks &ranks, const plan::EntryT &entry, const FeederOptions &options) {
  Feeder feeder;
  feeder.entry = &entry;
  feeder.options = options;
  if (feeder.options.files.packing)
    feeder.options.files.packing->seed = options.seed;
  SLUICE_ASSIGN_OR_RETURN(feeder.inputs, StepInputs::make(ranks, entry, options.seed));
  feeder.order = feeder.inputs.order();
  feeder.ports = feeder.inputs.dataPorts();
  if (feeder.ports.empty())
    return feeder;
  SLUICE_RETURN_IF_ERROR(feeder.open());
  for (const plan::PortT *port : feeder.ports) {
    if (port->per_repetition != feeder.ports[0]->per_repetition)
      return refusedError(fmt::format("inputs '{}' and '{}' of entry point '{}', expected both or neither to differ by "
                                      "micro-batch",
                                      feeder.ports[0]->name, port->name, entry.name));
    feeder.rows.emplace_back(rowElements(*port) * dtypeBytes(baseType(port->view->dtype)));
  }
  for (std::vector<std::byte> &row : feeder.rows)
    feeder.windows.emplace_back(row);

  feeder.order.shuffled = options.shuffled;
  feeder.order.seed = options.seed;
  feeder.tokens = feeder.order.microbatches * feeder.order.ranks * feeder.order.rows * rowElements(*feeder.ports[0]);
  return feeder;
}

void Feeder::beginAt(std::uint64_t step, std::uint64_t row) {
  order.firstStep = step;
  order.firstRow = row;
}

std::optional<std::uint64_t> Feeder::totalRows() const {
  std::uint64_t total = 0;
  for (const auto &source : data) {
    if (source->isEndless())
      return std::nullopt;
    total += source->samples();
  }
  return data.empty() ? std::nullopt : std::optional(total);
}

std::optional<std::uint64_t> Feeder::completeSteps() const {
  const std::optional<std::uint64_t> total = totalRows();
  return total ? std::optional(*total / rowsPerStep()) : std::nullopt;
}

Result<std::uint64_t> Feeder::stepsOfEpochs(double epochs) const {
  const std::optional<std::uint64_t> total = totalRows();
  if (!total)
    return Status(StatusCode::usage, "--epochs needs data with an end")
        .withNote("random data and a model without data have a number of --steps");
  const double rows = epochs * static_cast<double>(*total) - static_cast<double>(order.firstRow);
  const double steps = std::ceil(std::max(rows, 0.0) / static_cast<double>(rowsPerStep()));
  // Any larger number of steps takes longer than a machine exists.
  return order.firstStep + static_cast<std::uint64_t>(std::min(steps, 0x1p53));
}

std::optional<double> Feeder::epoch(std::uint64_t steps) const {
  const std::optional<std::uint64_t> total = totalRows();
  if (!total || options.overfit)
    return std::nullopt;
  return static_cast<double>(order.position(steps, 0, 0, 0)) / static_cast<double>(*total);
}

std::vector<double> Feeder::sourceEpochs(std::uint64_t steps) const {
  std::vector<double> epochs;
  for (std::size_t i = 0; i < options.weights.size() && epoch(steps); ++i)
    epochs.push_back(static_cast<double>(mixture.count(i, order.position(steps, 0, 0, 0))) /
                     static_cast<double>(data[i]->samples()));
  return epochs;
}

PackedContent Feeder::content() const {
  PackedContent sum;
  for (const auto &source : data)
    if (const std::optional<PackedContent> packed = source->packed(0, source->samples())) {
      sum.documents += packed->documents;
      sum.tokens += packed->tokens;
    }
  return sum;
}

Result<std::optional<DataReport>> Feeder::describe() {
  if (!totalRows())
    return std::optional<DataReport>();
  DataReport report;
  for (const auto &source : data) {
    report.sources.push_back({source->formats(), source->samples()});
    if (source->packed(0, 0))
      report.packedPositions += source->samples() * rowTokens();
  }
  report.packed = content();
  report.stepRows = rowsPerStep();
  const auto port =
      std::ranges::find(ports, plan::PortRole::tokens, [](const plan::PortT *port) { return port->role; });
  if (port == ports.end())
    return std::optional(std::move(report));
  const std::vector<std::byte> &row = rows[static_cast<std::size_t>(port - ports.begin())];
  std::vector<bool> seen;
  report.rowTokens = rowElements(**port);
  report.tokens = tokens;
  for (std::uint64_t position = 0; position < rowsPerStep(); ++position) {
    SLUICE_RETURN_IF_ERROR(read(position));
    for (std::uint64_t i = 0; i < report.rowTokens; ++i) {
      const std::int64_t id =
          cpu::loadInteger(row.data(), baseType((*port)->view->dtype), static_cast<std::int64_t>(i));
      report.largest = std::max(report.largest, id);
      // Negative numbers are ignored positions.
      if (id < 0)
        continue;
      const auto index = static_cast<std::size_t>(id);
      seen.resize(std::max(seen.size(), index + 1));
      report.distinct += !seen[index];
      seen[index] = true;
    }
  }
  return std::optional(std::move(report));
}

std::optional<PackedContent> Feeder::packed(std::uint64_t step) const {
  std::optional<PackedContent> sum;
  for (std::uint64_t position = 0; position < rowsPerStep() && !data.empty(); ++position) {
    const auto [source, row] = rowAt(order.position(options.overfit ? order.firstStep : step, 0, 0, 0) + position);
    if (const std::optional<PackedContent> content = source->packed(row, 1))
      sum = {sum ? sum->documents + content->documents : content->documents,
             sum ? sum->tokens + content->tokens : content->tokens};
  }
  return sum;
}

/// The number of an ignored target, if the entry point has the mean of a loss over the targets that are not ignored.
static std::optional<std::int64_t> ignoredOfMean(const plan::EntryT &entry) {
  for (const auto &section : entry.sections)
    for (const auto &instruction : section->instructions) {
      const plan::LaunchT *launch = instruction->operation.AsLaunch();
      if (!launch)
        continue;
      const Attributes attributes = attributesOf(*launch);
      constexpr std::int64_t none = INT64_MIN;
      const std::int64_t index = attributes.integer("ignore_index", none);
      if (index != none && attributes.integer("reduction", none) == static_cast<int>(kernel::LossReduction::mean))
        return index;
    }
  return std::nullopt;
}

void Feeder::requireTargets() {
  const auto port =
      std::ranges::find(ports, plan::PortRole::targets, [](const plan::PortT *port) { return port->role; });
  const std::optional<std::int64_t> index = ignoredOfMean(*entry);
  if (!index || port == ports.end() ||
      std::ranges::none_of(data, [](const auto &source) { return source->mayIgnoreTargets(); }))
    return;
  targets = static_cast<std::size_t>(port - ports.begin());
  ignored = *index;
}

bool Feeder::hasTarget() const {
  const std::vector<std::byte> &row = rows[*targets];
  const DType dtype = baseType(ports[*targets]->view->dtype);
  for (std::uint64_t i = 0; i < row.size() / dtypeBytes(dtype); ++i)
    if (cpu::loadInteger(row.data(), dtype, static_cast<std::int64_t>(i)) != ignored)
      return true;
  return false;
}

Status Feeder::noTarget(std::uint64_t step, std::uint64_t place, std::uint64_t repetition) const {
  const DataMixture::Row row = mixture.at(order.position(step, repetition, place, 0));
  return inputError(
             fmt::format("step {}: micro-batch {} of data-parallel rank {} has no target, so that its loss is the "
                         "mean of nothing; its first row is sequence {} of the data",
                         step + 1, repetition, place, order.sequence(row.index, data[row.source]->samples())))
      .withNote("compile the plan with --set loss.mean=tokens, which averages over the targets of a step, or leave out "
                "rows without targets");
}

Status Feeder::checkTargets(std::uint64_t first, std::uint64_t last) {
  // Enough for most data sets; beyond that, feed() checks each step.
  constexpr std::uint64_t mostBytes = std::uint64_t(1) << 30, mostRows = std::uint64_t(1) << 22;
  if (!targets)
    return Status::ok();
  std::uint64_t rowBytes = 0, bytes = 0, visited = 0;
  for (const std::vector<std::byte> &row : rows)
    rowBytes += row.size();
  // By source and row: whether it has a target.
  std::vector<std::unordered_map<std::uint64_t, bool>> known(data.size());
  const auto rowHasTarget = [&](std::uint64_t position) -> Result<bool> {
    const DataMixture::Row row = mixture.at(position);
    InputData &source = *data[row.source];
    const auto [found, isNew] = known[row.source].try_emplace(order.sequence(row.index, source.samples()), true);
    if (isNew) {
      SLUICE_RETURN_IF_ERROR(source.read(found->first, windows));
      found->second = hasTarget();
      bytes += rowBytes;
    }
    return found->second;
  };
  for (std::uint64_t step = first; step < (options.overfit ? std::min(last, first + 1) : last); ++step) {
    const std::uint64_t read = options.overfit ? order.firstStep : step;
    for (std::uint64_t repetition = 0; repetition < order.microbatches; ++repetition)
      for (std::uint64_t place = 0; place < order.ranks; ++place) {
        bool isCounted = false;
        for (std::uint64_t row = 0; row < order.rows && !isCounted; ++row, ++visited) {
          SLUICE_ASSIGN_OR_RETURN(isCounted, rowHasTarget(order.position(read, repetition, place, row)));
        }
        if (!isCounted)
          return noTarget(read, place, repetition);
        if (bytes > mostBytes || visited > mostRows)
          return Status::ok();
      }
  }
  return Status::ok();
}

Status Feeder::feed(Ranks &ranks, std::uint64_t step, const StepScalars &scalars) {
  SLUICE_RETURN_IF_ERROR(inputs.write(ranks, scalars));
  if (data.empty())
    return Status::ok();
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (std::uint64_t repetition = 0; ranks.holds(rank) && repetition < order.microbatches; ++repetition) {
      const std::uint64_t from = options.overfit ? order.firstStep : step;
      bool isCounted = !targets;
      for (std::uint64_t row = 0; row < order.rows; ++row) {
        SLUICE_RETURN_IF_ERROR(feedRow(ranks, rank, from, inputs.place(rank), repetition, row));
        isCounted = isCounted || hasTarget();
      }
      if (!isCounted)
        return noTarget(from, inputs.place(rank), repetition);
    }
  return Status::ok();
}

std::pair<InputData *, std::uint64_t> Feeder::rowAt(std::uint64_t position) const {
  const DataMixture::Row row = mixture.at(position);
  InputData &source = *data[row.source];
  return {&source, order.sequence(row.index, source.samples())};
}

Status Feeder::read(std::uint64_t position) {
  const auto [source, row] = rowAt(position);
  return source->read(row, windows);
}

Status Feeder::feedRow(Ranks &ranks, int rank, std::uint64_t step, std::uint64_t place, std::uint64_t repetition,
                       std::uint64_t row) {
  SLUICE_RETURN_IF_ERROR(read(order.position(step, repetition, place, row)));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const plan::ViewT &view = *ports[i]->view;
    SLUICE_RETURN_IF_ERROR(ranks.write(
        rank, view.buffer, view.offset + repetition * view.repetition_stride + row * rows[i].size(), rows[i]));
  }
  return Status::ok();
}

} // namespace sluice
