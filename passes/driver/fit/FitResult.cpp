//===- FitResult.cpp - settings of a job with their memory and time -----------------------------===//
#include "passes/driver/fit/FitResult.h"

#include "passes/driver/fit/TorchCalls.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// The share of the memory that the second choice leaves free.
constexpr double headroom = 0.9;

std::string errorText(const Status &status) {
  return status.message() + join(status.notes(), "", [](const std::string &note) { return "; " + note; });
}

template <typename T> Json jsonOf(const std::optional<T> &value) { return value ? Json(*value) : Json(); }

std::string percent(double part) { return std::to_string(std::llround(part * 100)) + " %"; }

/// The words of a line in columns of the widths of a table.
std::string lineOf(const std::vector<std::string> &cells, const std::vector<std::size_t> &widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c)
    line += padRight(cells[c], widths[c]) + (c + 1 < cells.size() ? "  " : "");
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string tableOf(const std::vector<std::vector<std::string>> &lines) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string> &line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths.resize(std::max(widths.size(), c + 1));
      widths[c] = std::max(widths[c], line[c].size());
    }
  std::string text;
  for (const std::vector<std::string> &line : lines)
    text += lineOf(line, widths);
  return text;
}

const char *nameOf(FitFramework framework) { return framework == FitFramework::sluice ? "sluice" : "pytorch"; }

} // namespace

std::optional<double> FitRow::figure(FitFigure figure) const {
  switch (figure) {
  case FitFigure::peak:
    return peak ? std::optional(static_cast<double>(*peak)) : std::nullopt;
  case FitFigure::reserved:
    return reserved ? std::optional(static_cast<double>(*reserved)) : std::nullopt;
  case FitFigure::step:
    return seconds;
  case FitFigure::tokens_per_s:
    return tokensPerSecond;
  case FitFigure::mfu:
    return mfu;
  }
  return std::nullopt;
}

bool FitResult::isAccepted(const FitRow &row) const {
  return row.fits && std::ranges::all_of(assertions, [&](const Assertion &assertion) {
           const std::optional<double> value = row.figure(assertion.figure);
           return value && assertion.holds(*value);
         });
}

void FitResult::chooseBest() {
  // True if `a` is better than `b`.
  using Order = std::function<bool(const FitRow &a, const FitRow &b)>;
  const bool hasTimes = std::ranges::any_of(rows, [](const FitRow &row) { return row.tokensPerSecond.has_value(); });
  const Order isFaster = [&](const FitRow &a, const FitRow &b) {
    if (hasTimes)
      return a.tokensPerSecond.value_or(0) > b.tokensPerSecond.value_or(0);
    // Rows follow settings, of which the earlier ones recompute and transfer less.
    FitSetting of = a.setting;
    of.rows = b.setting.rows;
    return of == b.setting && a.setting.rows > b.setting.rows;
  };
  const Order isSmaller = [](const FitRow &a, const FitRow &b) { return a.requested() < b.requested(); };
  const auto add = [&](const Order &isBetter, double share) {
    std::optional<std::size_t> found;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (isAccepted(rows[r]) && double(rows[r].requested()) <= share * double(limit) &&
          (!found || isBetter(rows[r], rows[*found])))
        found = r;
    if (found && !std::ranges::count(best, *found))
      best.push_back(*found);
  };
  best.clear();
  add(isFaster, 1);
  add(isFaster, headroom);
  add(isSmaller, 1);
}

Status FitResult::status() const {
  if (!best.empty())
    return Status::ok();
  for (const FitRow &row : rows)
    if (row.status.code() == StatusCode::internal)
      return row.status;
  const FitRow *least = nullptr;
  for (const FitRow &row : rows)
    if (row.status.isOk() &&
        (!least || (row.fits && !least->fits) || (row.fits == least->fits && row.requested() < least->requested())))
      least = &row;
  if (!least)
    return rows.front().status;
  if (least->fits) {
    Status failed(StatusCode::budget,
                  "no setting that fits meets " +
                      join(assertions, " and ", [](const Assertion &each) { return "'" + each.text + "'"; }));
    for (const Assertion &assertion : assertions) {
      // The row that is nearest to this assertion alone.
      const FitRow *nearestRow = nullptr;
      const bool wantsLess = assertion.comparison.starts_with("<");
      for (const FitRow &row : rows)
        if (const std::optional<double> value = row.figure(assertion.figure);
            row.fits && value &&
            (!nearestRow || (wantsLess ? *value < *nearestRow->figure(assertion.figure)
                                       : *value > *nearestRow->figure(assertion.figure))))
          nearestRow = &row;
      failed.addNote(nearestRow ? concat("the ", wantsLess ? "least" : "largest", " ", sluice::nameOf(assertion.figure),
                                         " is ", figureText(assertion.figure, *nearestRow->figure(assertion.figure)),
                                         ": ", nearestRow->setting.text())
                                : "the machine file has not all rates of a step, so that its time is not known: " +
                                      join(unknown, ", "));
    }
    return failed;
  }
  Status failed(StatusCode::budget,
                concat("no setting fits ", gpus.world, " x ", gpus.name, ", expected at most ", formatBytesExact(limit),
                       " but got ", formatBytesExact(least->requested()), " for the least: ", least->setting.text()));
  for (const std::string &other : nearest)
    failed.addNote("fits: " + other);
  return failed;
}

Json FitResult::toJson() const {
  Json list = Json::array();
  for (const FitRow &row : rows) {
    Json classes = Json::object(), recipe = Json::object();
    for (const auto &[name, bytes] : row.classes)
      classes[name] = bytes;
    for (const std::string &setting : row.setting.recipe()) {
      const std::size_t equals = setting.find('=');
      Json value = parseJson<Json>(setting.substr(equals + 1));
      recipe[setting.substr(0, equals)] = value.is_discarded() ? Json(setting.substr(equals + 1)) : std::move(value);
    }
    const FitMesh &mesh = row.setting.mesh;
    Json json = {{"mesh", {{"replicate", mesh.replicate}, {"shard", mesh.shard}, {"tensor", mesh.tensor}}},
                 {"rows", row.setting.rows}};
    for (const auto &[name, value] : {std::pair("recompute", row.setting.recompute),
                                      {"offload", row.setting.offload},
                                      {"precision", row.setting.precision}})
      json[name] = value.empty() ? Json() : Json(value);
    json["recipe"] = std::move(recipe);
    json["fits"] = row.fits;
    json["accepted"] = isAccepted(row);
    json["peak"] = jsonOf(row.peak);
    json["by_class"] = std::move(classes);
    if (request.framework == FitFramework::pytorch)
      json["reserved"] = jsonOf(row.reserved);
    json["step_s"] = jsonOf(row.seconds);
    json["tokens_per_s"] = jsonOf(row.tokensPerSecond);
    json["mfu"] = jsonOf(row.mfu);
    json["error"] = row.status.isOk() ? Json() : Json(errorText(row.status));
    if (request.framework == FitFramework::pytorch && !row.units.empty())
      json["calls"] = torchCalls(row);
    list.push_back(std::move(json));
  }
  Json checks = Json::array();
  for (const Assertion &assertion : assertions)
    checks.push_back({{"text", assertion.text}, {"holds", std::ranges::any_of(rows, [&](const FitRow &row) {
                                                   const std::optional<double> value = row.figure(assertion.figure);
                                                   return row.fits && value && assertion.holds(*value);
                                                 })}});
  return {{"model", {{"file", request.model}, {"parameters", parameters}}},
          {"gpus",
           {{"type", gpus.type},
            {"name", gpus.name},
            {"world", gpus.world},
            {"host", gpus.hostDevices},
            {"memory", gpus.memory},
            {"limit", limit}}},
          {"for", nameOf(request.framework)},
          {"rows", std::move(list)},
          {"best", best},
          {"assertions", std::move(checks)},
          {"nearest", nearest},
          {"unknown", unknown},
          {"plans", plans}};
}

std::string FitResult::toText() const {
  const bool isTorch = request.framework == FitFramework::pytorch,
             hasTimes = std::ranges::any_of(rows, [](const FitRow &row) { return row.tokensPerSecond.has_value(); });
  std::string text = concat(gpus.world, " x ", gpus.name, ", ", formatBytes(limit), " for ",
                            isTorch ? "PyTorch" : "Sluice", " on each, ", parameters, " parameters\n");
  std::vector<std::vector<std::string>> lines = {
      {"", "mesh", "rows", "recompute", "offload", "precision", isTorch ? "allocated" : "peak"}};
  if (isTorch)
    lines[0].push_back("reserved");
  lines[0].push_back("of limit");
  if (hasTimes)
    lines[0].insert(lines[0].end(), {"step", "tokens/s", "MFU"});
  std::size_t tooLarge = 0;
  std::vector<std::string> errors;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const FitRow &row = rows[r];
    tooLarge += row.status.isOk() && !row.fits;
    if (!row.status.isOk())
      errors.push_back(row.setting.text() + ": " + errorText(row.status));
    if (!row.fits)
      continue;
    const auto place = std::ranges::find(best, r);
    const auto orSet = [](const std::string &name) { return name.empty() ? "set" : name; };
    std::vector<std::string> line = {place == best.end() ? "" : concat("best ", place - best.begin() + 1),
                                     row.setting.mesh.text(),
                                     std::to_string(row.setting.rows),
                                     orSet(row.setting.recompute),
                                     orSet(row.setting.offload),
                                     orSet(row.setting.precision),
                                     formatBytes(*row.peak)};
    if (isTorch)
      line.push_back(formatBytes(row.requested()));
    line.push_back(percent(double(row.requested()) / double(limit)));
    if (hasTimes) {
      line.push_back(row.seconds ? formatSeconds(*row.seconds) : "-");
      line.push_back(row.tokensPerSecond ? figureText(FitFigure::tokens_per_s, *row.tokensPerSecond) : "-");
      line.push_back(row.mfu ? figureText(FitFigure::mfu, *row.mfu) : "-");
    }
    lines.push_back(std::move(line));
  }
  if (lines.size() > 1)
    text += tableOf(lines);
  if (tooLarge > 0)
    text += concat(tooLarge, lines.size() > 1 ? " more" : "", " settings do not fit\n");
  for (const std::string &error : errors)
    text += "not compiled: " + error + "\n";
  if (!unknown.empty())
    text += "no times: the machine file has no " + join(unknown, ", ") + "\n";
  for (std::size_t b = 0; b < best.size() && isTorch; ++b)
    text += concat("\n# best ", b + 1, ": ", rows[best[b]].setting.text(), "\n", torchCalls(rows[best[b]]));
  return text;
}

} // namespace sluice
