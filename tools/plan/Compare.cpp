//===- Compare.cpp - sluice-plan compare ----------------------------------------------------------===//
#include "tools/plan/Compare.h"

#include "passes/solver/simulate/StepReport.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Reader.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// Instructions that the text lists.
constexpr std::size_t listed = 15;

struct Row {
  std::string name;
  std::uint64_t instructions = 0;
  std::optional<double> predicted;
  double measured = 0;
  double difference() const { return predicted ? std::abs(*predicted - measured) : measured; }
};

struct Comparison {
  std::string entry;
  MeasuredStep measured;
  std::optional<double> predicted;
  std::vector<Row> classes, instructions;
};

Comparison compare(const plan::PlanT &plan, std::uint32_t e, MeasuredStep measured,
                   const std::optional<PredictedStep> &predicted) {
  const plan::EntryT &entry = *plan.entries[e];
  const std::vector<std::string> names = instructionNames(plan)[e];
  std::map<std::uint32_t, double> expected;
  if (predicted)
    for (const PredictedInstruction &each : predicted->instructions)
      expected[each.issued.index] += each.end - each.begin;
  std::map<std::string, Row> classes;
  Comparison result;
  result.entry = entry.name;
  if (predicted)
    result.predicted = predicted->seconds;
  for (const auto &[index, seconds] : measured.instructions) {
    Row row{concat(names[index], " (", index, ")"), 1, std::nullopt, seconds};
    if (predicted)
      row.predicted = expected[index];
    Row &of = classes[operationName(plan, *instructionAt(entry, index))];
    ++of.instructions;
    of.measured += seconds;
    if (predicted)
      of.predicted = of.predicted.value_or(0) + *row.predicted;
    result.instructions.push_back(std::move(row));
  }
  for (auto &[name, row] : classes) {
    row.name = name;
    result.classes.push_back(std::move(row));
  }
  for (std::vector<Row> *rows : {&result.classes, &result.instructions})
    std::ranges::stable_sort(*rows, std::greater(), &Row::difference);
  result.measured = std::move(measured);
  return result;
}

Json rowsJson(const std::vector<Row> &rows) {
  Json list = Json::array();
  for (const Row &row : rows)
    list.push_back({{"name", row.name},
                    {"instructions", row.instructions},
                    {"predicted_s", row.predicted ? Json(*row.predicted) : Json()},
                    {"measured_s", row.measured}});
  return list;
}

std::string percent(double predicted, double measured) {
  if (measured <= 0)
    return "";
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", (predicted / measured - 1) * 100);
  return text;
}

std::string rowsText(const std::vector<Row> &rows, std::size_t count, bool hasPrediction) {
  std::string out;
  for (std::size_t k = 0; k < std::min(count, rows.size()); ++k) {
    const Row &row = rows[k];
    out += "  " + padRight(row.name, 44) + padLeft(row.instructions > 1 ? concat(row.instructions) : "", 5);
    if (hasPrediction)
      out += padLeft(formatSeconds(*row.predicted), 14);
    out += padLeft(formatSeconds(row.measured), 14);
    if (hasPrediction)
      out += padLeft(percent(*row.predicted, row.measured), 12);
    out += "\n";
  }
  return out;
}

std::string comparisonText(const Comparison &comparison) {
  const bool hasPrediction = comparison.predicted.has_value();
  std::string out = concat("'", comparison.entry, "', ", comparison.measured.steps,
                           comparison.measured.steps == 1 ? " measured step" : " measured steps", "\n");
  const std::string header = std::string(hasPrediction ? "     predicted" : "") + "      measured" +
                             (hasPrediction ? "       error" : "") + "\n";
  out += "  " + padRight("", 49) + header;
  out += rowsText({{"step", 1, comparison.predicted, comparison.measured.seconds}}, 1, hasPrediction);
  out += std::string("by operation, largest ") + (hasPrediction ? "difference" : "time") + " first\n";
  out += rowsText(comparison.classes, comparison.classes.size(), hasPrediction);
  out += std::string("instructions, largest ") + (hasPrediction ? "difference" : "time") + " first\n";
  out += rowsText(comparison.instructions, listed, hasPrediction);
  return out;
}

Result<std::string> runOn(const CompareCommand &command) {
  SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readCheckedPlan(command.plan));
  const plan::PlanT &plan = file.plan;
  SLUICE_ASSIGN_OR_RETURN(const std::uint32_t entry, entryIndex(plan, command.entry));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Span> spans, readTrace(command.trace));
  SLUICE_ASSIGN_OR_RETURN(MeasuredStep measured, measuredStep(plan, entry, spans, command.trace));
  std::optional<PredictedStep> predicted;
  if (!command.machine.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const Machine machine, readMachine(command.machine));
    SLUICE_ASSIGN_OR_RETURN(predicted, predictStep(plan, machine, entry));
  }
  const Comparison comparison = compare(plan, entry, std::move(measured), predicted);
  if (!command.json)
    return comparisonText(comparison);
  return dumpJson(Json{{"entry", comparison.entry},
                       {"steps", comparison.measured.steps},
                       {"predicted_s", comparison.predicted ? Json(*comparison.predicted) : Json()},
                       {"measured_s", comparison.measured.seconds},
                       {"operations", rowsJson(comparison.classes)},
                       {"instructions", rowsJson(comparison.instructions)}},
                  2) +
         "\n";
}

} // namespace

Result<MeasuredStep> measuredStep(const plan::PlanT &plan, std::uint32_t e, const std::vector<Span> &spans,
                                  const std::string &path) {
  const plan::EntryT &entry = *plan.entries[e];
  const std::vector<std::string> names = instructionNames(plan)[e];
  // The n-th time that a rank runs an instruction in a repetition is in step n.
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, std::size_t> runs;
  struct Times {
    double sum = 0, least = 0;
    std::uint64_t ranks = 0;
  };
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, Times>> steps;
  std::vector<std::pair<double, double>> extents;
  for (const Span &span : spans) {
    if (span.entry != entry.name)
      continue;
    if (span.instruction >= names.size() || names[span.instruction] != span.name)
      return inputError(
                 concat("trace '", path, "' is not of plan '", plan.name, "': instruction ", span.instruction, " of '",
                        entry.name, "' is ",
                        span.instruction < names.size() ? "'" + names[span.instruction] + "'" : "not in the plan",
                        " but the trace has '", span.name, "'"))
          .withNote("compare a trace with the plan that wrote it");
    const std::size_t step = runs[{span.rank, span.instruction, span.repetition}]++;
    if (step >= steps.size()) {
      steps.resize(step + 1);
      extents.resize(step + 1, {span.begin, span.end});
    }
    extents[step] = {std::min(extents[step].first, span.begin), std::max(extents[step].second, span.end)};
    Times &times = steps[step][{span.instruction, span.repetition}];
    const double seconds = (span.end - span.begin) * 1e-6;
    times.least = times.ranks == 0 ? seconds : std::min(times.least, seconds);
    times.sum += seconds;
    ++times.ranks;
  }
  if (steps.empty())
    return inputError(concat("trace '", path, "' has no step of '", entry.name, "'"))
        .withNote("--entry names another entry point of the trace");
  const std::size_t first = steps.size() > 1 ? 1 : 0;
  MeasuredStep measured;
  measured.steps = steps.size() - first;
  for (std::size_t step = first; step < steps.size(); ++step) {
    measured.seconds += (extents[step].second - extents[step].first) * 1e-6 / double(measured.steps);
    for (const auto &[key, times] : steps[step]) {
      const bool isCollective = instructionAt(entry, key.first)->operation.type == plan::Operation::Collective;
      measured.instructions[key.first] +=
          (isCollective ? times.least : times.sum / double(times.ranks)) / double(measured.steps);
    }
  }
  return measured;
}

PlanCommandResult runCompare(const CompareCommand &command) {
  Result<std::string> text = runOn(command);
  return {text.isOk() ? *text : "", text.status(), 0};
}

} // namespace sluice
