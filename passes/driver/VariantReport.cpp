//===- VariantReport.cpp - compares compiled variants -----------------------------------------===//
#include "passes/driver/VariantReport.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sluice {
namespace {

std::string valueOf(const Variant &variant, std::string_view key) {
  const auto found = std::ranges::find(variant, key, &VariantSetting::key);
  return found == variant.end() ? "" : found->value;
}

/// Numbers, booleans and lists as JSON; other texts as strings.
Json valueJson(const std::string &value) {
  Json json = parseJson<Json>(value);
  return json.is_discarded() ? Json(value) : json;
}

/// The message with its notes, in one line.
std::string errorText(const Status &status) {
  return status.message() + join(status.notes(), "", [](const std::string &note) { return "; " + note; });
}

std::string padded(const std::vector<std::string> &cells, const std::vector<std::size_t> &widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c)
    line += padRight(cells[c], widths[c]) + (c + 1 < cells.size() ? "  " : "");
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// The keys of all rows, in the order of their first appearance.
std::vector<std::string> keysOf(std::span<const CompiledVariant> rows) {
  std::vector<std::string> keys;
  for (const CompiledVariant &row : rows)
    for (const VariantSetting &setting : row.variant)
      if (!std::ranges::count(keys, setting.key))
        keys.push_back(setting.key);
  return keys;
}

} // namespace

std::optional<std::size_t> bestVariant(std::span<const CompiledVariant> rows, const std::string &fitted) {
  // Less is better.
  const auto rank = [&](const CompiledVariant &row) {
    const std::string extent = fitted.empty() ? "" : valueOf(row.variant, fitted);
    return std::tuple(extent.empty() ? 0 : -std::stoll(extent),
                      row.seconds.value_or(std::numeric_limits<double>::infinity()), *row.peak);
  };
  std::optional<std::size_t> best;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows[r].isFeasible() && (!best || rank(rows[r]) < rank(rows[*best])))
      best = r;
  return best;
}

std::vector<bool> paretoFront(std::span<const CompiledVariant> rows) {
  const auto isCompared = [](const CompiledVariant &row) { return row.isFeasible() && row.seconds; };
  std::vector<bool> front;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    bool isDominated = !isCompared(rows[r]);
    for (std::size_t other = 0; other < rows.size() && !isDominated; ++other) {
      if (other == r || !isCompared(rows[other]) || *rows[other].peak > *rows[r].peak ||
          *rows[other].seconds > *rows[r].seconds)
        continue;
      const bool isEqual = rows[other].peak == rows[r].peak && rows[other].seconds == rows[r].seconds;
      isDominated = !isEqual || other < r;
    }
    front.push_back(!isDominated);
  }
  return front;
}

Json VariantReport::toJson() const {
  Json list = Json::array();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const CompiledVariant &row = rows[r];
    Json settings = Json::object();
    for (const VariantSetting &setting : row.variant)
      settings[setting.key] = valueJson(setting.value);
    list.push_back({{"settings", std::move(settings)},
                    {"peak", row.peak ? Json(*row.peak) : Json()},
                    {"largest_class", row.peak ? Json(row.largestClass) : Json()},
                    {"largest_class_bytes", row.peak ? Json(row.largestClassBytes) : Json()},
                    {"step_s", row.seconds ? Json(*row.seconds) : Json()},
                    {"feasible", row.isFeasible()},
                    {"error", row.isFeasible() ? Json() : Json(errorText(row.status))}});
    if (!front.empty())
      list.back()["pareto"] = bool(front[r]);
  }
  return {{"rows", std::move(list)}, {"best", best ? Json(*best) : Json()}};
}

std::string VariantReport::toText() const {
  const std::vector<std::string> keys = keysOf(rows);
  const bool hasTimes = std::ranges::any_of(rows, [](const CompiledVariant &row) { return row.seconds.has_value(); });
  std::vector<std::vector<std::string>> lines(1, {""});
  lines[0].insert(lines[0].end(), keys.begin(), keys.end());
  for (const char *name : {"peak", "largest class"})
    lines[0].push_back(name);
  if (hasTimes)
    lines[0].push_back("step");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const CompiledVariant &row = rows[r];
    std::vector<std::string> line = {best == r ? "best" : !front.empty() && front[r] ? "front" : ""};
    for (const std::string &key : keys)
      line.push_back(valueOf(row.variant, key));
    line.push_back(row.peak ? formatBytesExact(*row.peak) : "-");
    line.push_back(row.peak ? row.largestClass + " " + formatBytes(row.largestClassBytes) : "-");
    if (hasTimes)
      line.push_back(row.seconds ? formatSeconds(*row.seconds) : "-");
    if (!row.isFeasible())
      line.push_back("not feasible: " + errorText(row.status));
    lines.push_back(std::move(line));
  }
  std::vector<std::size_t> widths;
  for (const std::vector<std::string> &line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths.resize(std::max(widths.size(), c + 1));
      widths[c] = std::max(widths[c], line[c].size());
    }
  std::string out;
  for (const std::vector<std::string> &line : lines)
    out += padded(line, widths);
  return out;
}

int VariantReport::exitCode() const {
  const auto has = [&](StatusCode code) {
    return std::ranges::any_of(rows, [&](const CompiledVariant &row) { return row.status.code() == code; });
  };
  const StatusCode code = has(StatusCode::internal) ? StatusCode::internal
                          : has(StatusCode::ok)     ? StatusCode::ok
                          : has(StatusCode::budget) ? StatusCode::budget
                                                    : StatusCode::input;
  return static_cast<int>(code);
}

} // namespace sluice
