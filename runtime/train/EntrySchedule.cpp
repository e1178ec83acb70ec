//===- EntrySchedule.cpp - the entry points of each step, and their rows -----------------===//
#include "runtime/train/EntrySchedule.h"
#include "runtime/base/Text.h"
#include "runtime/plan/EntryShape.h"
#include "runtime/plan/Roles.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <ranges>

namespace sluice {

namespace {

/// The shape from a step on; `rows` 0: any number.
struct ShapeFrom {
  std::uint64_t step = 0, rows = 0, tokens = 0;
};

bool readNumber(std::string_view text, std::uint64_t &value) {
  const char *begin = text.data(), *end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  return error == std::errc() && rest == end && !text.empty();
}

Result<std::vector<ShapeFrom>> readShapesAt(const std::vector<std::string> &texts) {
  std::vector<ShapeFrom> shapes;
  for (const std::string &text : texts) {
    ShapeFrom shape;
    const std::string_view view = text;
    const std::size_t colon = std::min(view.find(':'), view.size()), cross = std::min(view.find('x'), view.size());
    const std::string_view extents = view.substr(std::min(colon + 1, view.size()));
    const bool hasRows = cross != view.size() && cross > colon;
    if (!readNumber(view.substr(0, colon), shape.step) ||
        (hasRows && !readNumber(view.substr(colon + 1, cross - colon - 1), shape.rows)) ||
        !readNumber(hasRows ? view.substr(cross + 1) : extents, shape.tokens))
      return Status(StatusCode::usage,
                    fmt::format("--shapes-at, expected a step and the tokens of a row such as 2000:1024, or with rows "
                                "2000:4x1024, but got '{}'",
                                printable(text)));
    if (shapes.empty() ? shape.step != 0 : shape.step <= shapes.back().step)
      return Status(StatusCode::usage,
                    shapes.empty()
                        ? fmt::format("--shapes-at, expected a first shape from step 0 but got step {}", shape.step)
                        : fmt::format("--shapes-at, expected ascending steps but got {} after {}", shape.step,
                                      shapes.back().step));
    shapes.push_back(shape);
  }
  return shapes;
}

/// The train entry points with rows of tokens.
std::vector<const plan::EntryT *> shapedEntries(const plan::PlanT &plan) {
  std::vector<const plan::EntryT *> entries;
  for (const auto &entry : plan.entries)
    if (hasUpdate(*entry) && entryShape(*entry).tokens != 0)
      entries.push_back(entry.get());
  return entries;
}

/// A note with the shapes of the plan.
std::string shapesText(std::span<const plan::EntryT *const> entries) {
  return entries.empty() ? "the plan has no train entry point with rows of tokens"
                         : "the plan has " + join(entries, ", ", [](const plan::EntryT *entry) {
                             return fmt::format("{} ({})", entry->name, entryShape(*entry).text());
                           });
}

Result<const plan::EntryT *> entryOf(const plan::PlanT &plan, const ShapeFrom &shape) {
  const std::vector<const plan::EntryT *> all = shapedEntries(plan);
  std::vector<const plan::EntryT *> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const plan::EntryT *entry) {
    const EntryShape own = entryShape(*entry);
    return own.tokens == shape.tokens && (shape.rows == 0 || own.rows == shape.rows);
  });
  if (found.size() == 1)
    return found.front();
  const std::string rows = shape.rows == 0 ? "rows" : fmt::format("{} rows", shape.rows);
  return found.empty()
             ? Status(StatusCode::usage, fmt::format("--shapes-at {}: no train entry point has {} of {} tokens",
                                                     shape.step, rows, shape.tokens))
                   .withNote(shapesText(all))
             : Status(StatusCode::usage, fmt::format("--shapes-at {}: {} train entry points have {} of {} tokens",
                                                     shape.step, found.size(), rows, shape.tokens))
                   .withNote(fmt::format("name the rows, for example {}:{}x{}", shape.step,
                                         entryShape(*found.front()).rows, shape.tokens));
}

} // namespace

Result<EntrySchedule> EntrySchedule::make(const Ranks &ranks, const EntryScheduleOptions &options,
                                          const FeederOptions &feeding) {
  EntrySchedule schedule;
  if (!options.shapesAt.empty())
    SLUICE_RETURN_IF_ERROR(schedule.addBySteps(ranks, options.shapesAt, feeding));
  else if (feeding.files.packing && feeding.files.packing->isSeparate)
    SLUICE_RETURN_IF_ERROR(schedule.addByLength(ranks, feeding));
  else
    SLUICE_RETURN_IF_ERROR(schedule.addInTurn(ranks, options, feeding));
  for (Source &source : schedule.list)
    source.feeder.requireTargets();
  return schedule;
}

Status EntrySchedule::addInTurn(const Ranks &ranks, const EntryScheduleOptions &options, const FeederOptions &feeding) {
  const plan::PlanT &plan = ranks.plan();
  for (const std::string &name : options.entries) {
    const int index = findEntry(plan, name);
    if (index < 0)
      return {StatusCode::usage,
              fmt::format("entry point '{}' is unknown, expected one of {}", name,
                          plan.entries.empty() ? "none" : join(plan.entries, ", ", [](const auto &entry) {
                            return entry->name;
                          }))};
    const plan::EntryT &entry = *plan.entries[static_cast<std::size_t>(index)];
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, entry, feeding));
    list.push_back({&entry, std::move(feeder)});
  }
  return {};
}

Status EntrySchedule::addBySteps(const Ranks &ranks, const std::vector<std::string> &texts,
                                 const FeederOptions &feeding) {
  kind = Kind::bySteps;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<ShapeFrom> shapes, readShapesAt(texts));
  for (const ShapeFrom &shape : shapes) {
    SLUICE_ASSIGN_OR_RETURN(const plan::EntryT *entry, entryOf(ranks.plan(), shape));
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entry, feeding));
    list.push_back({entry, std::move(feeder), shape.step});
    if (list.size() > 1)
      beginAfter(list.size() - 1);
  }
  return {};
}

void EntrySchedule::beginAfter(std::size_t index) {
  const Feeder &before = list[index - 1].feeder;
  auto &[entry, feeder, begin] = list[index];
  const std::uint64_t tokens = before.positionOf(begin) * before.rowTokens(), length = feeder.rowTokens();
  feeder.beginAt(begin, (tokens + length - 1) / length);
}

Status EntrySchedule::addByLength(const Ranks &ranks, const FeederOptions &feeding) {
  kind = Kind::byLength;
  std::vector<const plan::EntryT *> entries = shapedEntries(ranks.plan());
  const auto tokensOf = [](const plan::EntryT *entry) { return entryShape(*entry).tokens; };
  std::ranges::sort(entries, {}, tokensOf);
  if (entries.empty())
    return Status(StatusCode::usage, "--bucket: " + shapesText(entries));
  if (const auto equal = std::ranges::adjacent_find(entries, {}, tokensOf); equal != entries.end())
    return Status(StatusCode::usage,
                  fmt::format("--bucket: several train entry points have rows of {} tokens", tokensOf(*equal)))
        .withNote(shapesText(entries))
        .withNote("import the model with one shape for each length");
  FeederOptions options = feeding;
  options.files.packing->longest = tokensOf(entries.back());
  std::vector<double> weights;
  for (const plan::EntryT *entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entry, options));
    const std::uint64_t rows = feeder.totalRows().value_or(0);
    // Too few documents for a step join those of the next bucket.
    if (rows == 0 || (rows < feeder.rowsPerStep() && entry != entries.back()))
      continue;
    options.files.packing->over = tokensOf(entry);
    weights.push_back(static_cast<double>(rows) / static_cast<double>(feeder.rowsPerStep()));
    list.push_back({entry, std::move(feeder)});
  }
  if (list.empty())
    return internalError("data without documents, which are refused when they are opened");
  mixture = DataMixture(weights, feeding.seed);
  return {};
}

std::uint64_t EntrySchedule::endOf(std::size_t index) const {
  return index + 1 < list.size() ? list[index + 1].begin : UINT64_MAX;
}

EntrySchedule::Part EntrySchedule::at(std::uint64_t step) const {
  if (kind == Kind::inTurn)
    return {0, list.size(), step};
  if (kind == Kind::byLength) {
    const DataMixture::Row row = mixture.at(step);
    return {row.source, 1, row.index};
  }
  const auto next = std::ranges::upper_bound(list, step, {}, &Source::begin);
  return {static_cast<std::size_t>(next - list.begin()) - 1, 1, step};
}

std::vector<std::uint64_t> EntrySchedule::rowsRead(std::uint64_t steps) const {
  std::vector<std::uint64_t> rows;
  for (std::size_t i = 0; i < list.size(); ++i)
    rows.push_back(list[i].feeder.positionOf(kind == Kind::byLength  ? mixture.count(i, steps)
                                             : kind == Kind::bySteps ? std::clamp(steps, list[i].begin, endOf(i))
                                                                     : steps));
  return rows;
}

void EntrySchedule::continueFrom(std::uint64_t steps, const std::vector<std::uint64_t> &rows) {
  if (rows.size() != list.size())
    return;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (kind != Kind::bySteps)
      list[i].feeder.beginAt(kind == Kind::byLength ? mixture.count(i, steps) : steps, rows[i]);
    else if (list[i].begin > steps)
      beginAfter(i);
    else if (steps < endOf(i))
      list[i].feeder.beginAt(steps, rows[i]);
}

std::uint64_t EntrySchedule::tokens(std::uint64_t step) const {
  const Part part = at(step);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < part.count; ++i)
    sum += list[part.first + i].feeder.tokensPerStep();
  return sum;
}

double EntrySchedule::rowsOf(std::size_t bucket, std::uint64_t steps) const {
  return static_cast<double>(mixture.count(bucket, steps)) * static_cast<double>(list[bucket].feeder.rowsPerStep());
}

std::optional<double> EntrySchedule::epoch(std::uint64_t steps) const {
  if (kind != Kind::byLength)
    return list[at(steps == 0 ? 0 : steps - 1).first].feeder.epoch(steps);
  double read = 0, all = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    read += rowsOf(i, steps);
    all += static_cast<double>(list[i].feeder.totalRows().value_or(0));
  }
  return list[0].feeder.epoch(0) ? std::optional(read / all) : std::nullopt;
}

std::vector<double> EntrySchedule::sourceEpochs(std::uint64_t steps) const {
  if (kind == Kind::byLength)
    return {};
  return list[at(steps == 0 ? 0 : steps - 1).first].feeder.sourceEpochs(steps);
}

Result<std::uint64_t> EntrySchedule::stepsOfEpochs(double epochs) const {
  if (kind == Kind::byLength) {
    const auto isRead = [&](std::uint64_t steps) {
      for (std::size_t i = 0; i < list.size(); ++i)
        if (rowsOf(i, steps) < epochs * static_cast<double>(*list[i].feeder.totalRows()))
          return false;
      return true;
    };
    std::uint64_t most = 1;
    while (!isRead(most) && most < (std::uint64_t(1) << 53))
      most *= 2;
    return *std::ranges::partition_point(std::views::iota(most / 2, most), std::not_fn(isRead));
  }
  for (std::size_t i = 0;; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const std::uint64_t steps, list[i].feeder.stepsOfEpochs(epochs));
    // The last one has no end.
    if (kind == Kind::inTurn || steps <= endOf(i))
      return steps;
  }
}

std::optional<PackedContent> EntrySchedule::packed(std::uint64_t step) const {
  const Part part = at(step);
  return list[part.first].feeder.packed(part.step);
}

Status EntrySchedule::checkTargets(std::uint64_t first, std::uint64_t last) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::uint64_t from = first, to = last;
    if (kind == Kind::bySteps) {
      from = std::max(from, list[i].begin);
      to = std::min(to, endOf(i));
    } else if (kind == Kind::byLength) {
      from = mixture.count(i, first);
      to = mixture.count(i, last);
    }
    if (from < to)
      SLUICE_RETURN_IF_ERROR(list[i].feeder.checkTargets(from, to));
  }
  return {};
}

Result<std::optional<DataReport>> EntrySchedule::describe() {
  SLUICE_ASSIGN_OR_RETURN(std::optional<DataReport> report, list.front().feeder.describe());
  if (!report || kind == Kind::inTurn)
    return report;
  report->isByLength = kind == Kind::byLength;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Feeder &feeder = list[i].feeder;
    const std::uint64_t rows = *feeder.totalRows();
    report->shapes.push_back(
        {list[i].entry->name, feeder.rowTokens(), feeder.tokensPerStep(), report->isByLength ? rows : list[i].begin});
    if (report->isByLength && i > 0) {
      report->sources.front().rows += rows;
      const PackedContent content = feeder.content();
      report->packed.documents += content.documents;
      report->packed.tokens += content.tokens;
      report->packedPositions += rows * feeder.rowTokens();
    }
  }
  report->stepRows = 0;
  return report;
}

} // namespace sluice
