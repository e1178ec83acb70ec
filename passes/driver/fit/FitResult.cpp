//===- FitResult.cpp - settings of a job with their memory and time -----------------------------===//
#include "passes/driver/fit/FitResult.h"

#include "passes/driver/fit/TorchCalls.h"
#include "passes/recipe/RecipeKeys.h"
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

/// The recipe of a row: its own keys, and those of the user.
Json recipeJson(const FitRequest &request, const FitSetting &setting) {
  // The settings have been read before.
  Result<Recipe> recipe = givenRecipe(request);
  if (!recipe.isOk())
    return Json();
  for (const std::string &own : setting.recipe(*recipe))
    if (const Status status = recipe->addSetting(own); !status.isOk())
      return Json();
  Json json = Json::object();
  for (const RecipeKey &key : recipeKeys())
    if (recipe->isAdded(key.name)) {
      const std::string text = printRecipeValue(recipe->value(key.name));
      Json value = parseJson<Json>(text);
      json[key.name] = value.is_discarded() ? Json(text) : std::move(value);
    }
  return json;
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
  const auto add = [&](const char *role, const Order &isBetter, double share) {
    std::optional<std::size_t> found;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (isAccepted(rows[r]) && double(rows[r].requested()) <= share * double(limit) &&
          (!found || isBetter(rows[r], rows[*found])))
        found = r;
    if (!found)
      return;
    const auto known = std::ranges::find(best, *found, &BestRow::row);
    known == best.end() ? best.push_back({*found, {role}}) : known->roles.push_back(role);
  };
  best.clear();
  add("fastest", isFaster, 1);
  add("headroom", isFaster, headroom);
  add("smallest", isSmaller, 1);
}

std::string FitResult::whyNoTime() const {
  if (!unknown.empty())
    return ": the machine file has no " + join(unknown, ", ");
  for (const FitRow &row : rows)
    if (!row.timeStatus.isOk())
      return ": " + errorText(row.timeStatus);
  return "";
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
      failed.addNote(
          nearestRow ? concat("the ", wantsLess ? "least" : "largest", " ", sluice::nameOf(assertion.figure), " is ",
                              figureText(assertion.figure, *nearestRow->figure(assertion.figure)), ": ",
                              nearestRow->setting.text())
                     : concat("no row that fits has a value of '", sluice::nameOf(assertion.figure), "'", whyNoTime()));
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

std::vector<std::string> FitResult::rolesOf(std::size_t row) const {
  const auto found = std::ranges::find(best, row, &BestRow::row);
  return found == best.end() ? std::vector<std::string>() : found->roles;
}

Json FitResult::toJson() const {
  Json list = Json::array();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const FitRow &row = rows[r];
    Json classes = Json::object();
    for (const auto &[name, bytes] : row.classes)
      classes[name] = bytes;
    const FitMesh &mesh = row.setting.mesh;
    Json json = {{"mesh", {{"replicate", mesh.replicate}, {"shard", mesh.shard}, {"tensor", mesh.tensor}}},
                 {"rows", row.setting.rows == 0 ? Json() : Json(row.setting.rows)}};
    for (const auto &[name, value] : {std::pair("recompute", row.setting.recompute),
                                      {"offload", row.setting.offload},
                                      {"precision", row.setting.precision}})
      json[name] = value.empty() ? Json() : Json(value);
    json["recipe"] = recipeJson(request, row.setting);
    json["fits"] = row.fits;
    json["accepted"] = isAccepted(row);
    json["roles"] = rolesOf(r);
    json["peak"] = jsonOf(row.peak);
    json["by_class"] = std::move(classes);
    if (request.framework == FitFramework::pytorch)
      json["reserved"] = jsonOf(row.reserved);
    json["step_s"] = jsonOf(row.seconds);
    json["tokens_per_s"] = jsonOf(row.tokensPerSecond);
    json["mfu"] = jsonOf(row.mfu);
    json["error"] = row.status.isOk() ? Json() : Json(errorText(row.status));
    json["time_error"] = row.timeStatus.isOk() ? Json() : Json(errorText(row.timeStatus));
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
  Json positions = Json::array();
  for (const BestRow &each : best)
    positions.push_back(each.row);
  return {{"model", {{"file", request.model}, {"parameters", parameters}}},
          {"gpus",
           {{"type", gpus.type},
            {"name", gpus.name},
            {"world", gpus.world},
            {"host", gpus.hostDevices},
            {"memory", gpus.memory},
            {"limit", limit},
            {"unknown", gpus.unknownProcessBytes()}}},
          {"for", nameOf(request.framework)},
          {"rows", std::move(list)},
          {"best", std::move(positions)},
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
  if (const std::vector<std::string> figures = gpus.unknownProcessBytes(); gpus.machine && !figures.empty())
    text += concat("the limit is without ", join(figures, " and "), ": the machine file does not have ",
                   figures.size() == 1 ? "it" : "them", "\n");
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
      errors.push_back("not compiled: " + row.setting.text() + ": " + errorText(row.status));
    if (!row.timeStatus.isOk())
      errors.push_back("no time: " + row.setting.text() + ": " + errorText(row.timeStatus));
    if (!row.fits)
      continue;
    const auto orSet = [](const std::string &name) { return name.empty() ? "set" : name; };
    std::vector<std::string> line = {join(rolesOf(r), ", "),
                                     row.setting.mesh.text(),
                                     row.setting.rows == 0 ? "-" : std::to_string(row.setting.rows),
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
    text += concat(tooLarge, lines.size() > 1 ? " more" : "", tooLarge == 1 ? " setting does" : " settings do",
                   " not fit\n");
  for (const std::string &error : errors)
    text += error + "\n";
  if (!unknown.empty())
    text += "no times: the machine file has no " + join(unknown, ", ") + "\n";
  for (const BestRow &each : best)
    if (const FitRow &row = rows[each.row]; isTorch)
      text += concat("\n# ", join(each.roles, ", "), ": ", row.setting.text(), "\n", torchCalls(row));
  return text;
}

} // namespace sluice
