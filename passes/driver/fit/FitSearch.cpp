//===- FitSearch.cpp - finds the settings of a job that fit -------------------------------------===//
#include "passes/driver/fit/FitSearch.h"

#include "passes/driver/ModelFile.h"
#include "passes/driver/fit/Evaluate.h"
#include "passes/recipe/RecipeAttr.h"
#include "runtime/base/Text.h"
#include "runtime/report/machine/MachineFolder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace sluice {
namespace {

/// The most rows of a micro-batch that are tried; more are given by --batch.
constexpr std::int64_t mostRows = 256;

/// One combination of all dimensions but rows, with the rows that are known.
struct Line {
  FitSetting setting;
  std::map<std::int64_t, FitRow> rows;

  /// The largest number of rows that fits; nullopt: none does.
  std::optional<std::int64_t> largest() const {
    const auto fitting = std::find_if(rows.rbegin(), rows.rend(), [](const auto &row) { return row.second.fits; });
    return fitting == rows.rend() ? std::nullopt : std::optional(fitting->first);
  }

  /// The power of two of rows to try next, at most `most`; nullopt: the largest that fits is known, since its double
  /// does not fit or is above `most`; or none fits.
  std::optional<std::int64_t> nextRows(std::uint64_t limit, std::int64_t most) const {
    const std::optional<std::int64_t> found = largest();
    if (rows.size() < 2 || !found)
      return std::nullopt;
    const std::int64_t fits = *found;
    // The least number of rows that does not fit.
    if (const auto larger = rows.upper_bound(fits); larger != rows.end())
      most = larger->first / 2;
    if (fits >= most)
      return std::nullopt;
    const auto before = std::prev(rows.find(fits) == rows.begin() ? std::next(rows.begin()) : rows.find(fits));
    const auto after = rows.find(std::max(fits, std::next(before)->first));
    const double bytes = double(after->second.requested()), earlier = double(before->second.requested()),
                 perRow = std::max((bytes - earlier) / double(after->first - before->first), 1.0);
    const double bound = double(after->first) + (double(limit) - bytes) / perRow;
    const std::int64_t predicted =
        bound >= double(most) ? most : std::int64_t(std::bit_floor(std::uint64_t(std::max(bound, 1.0))));
    // The line is an estimate: its result is confirmed by the next power of two.
    return std::max(predicted, fits * 2);
  }

  /// Powers of two below the largest number of rows that fits, from `least` on, that are not known: all of them, or
  /// the half of the largest.
  std::vector<std::int64_t> smallerRows(std::int64_t least, bool isAll) const {
    std::vector<std::int64_t> missing;
    for (std::int64_t count = largest().value_or(0) / 2; count >= least; count = isAll ? count / 2 : 0)
      if (!rows.contains(count))
        missing.push_back(count);
    return missing;
  }
};

class FitSearch {
public:
  FitSearch(FitResult &result, const FitModel &model)
      : result(result), model(model), evaluator(result.request, result.gpus, result.limit) {}

  /// Settings with these rows, or, without any, with powers of two of `range`: the two smallest, the largest that fits,
  /// its double and its half. With assertions all that fit, since one between may be the only one that meets them.
  void explore(const std::vector<FitSetting> &settings, const std::vector<std::int64_t> &batches,
               const RowRange &range) {
    const std::int64_t least = std::int64_t(std::bit_ceil(std::uint64_t(range.least))),
                       cap = std::min(range.most.value_or(mostRows), std::max(mostRows, least)),
                       most = std::int64_t(std::bit_floor(std::uint64_t(std::max(cap, std::int64_t(1)))));
    std::vector<std::int64_t> starts = batches;
    if (batches.empty())
      starts = 2 * least <= most ? std::vector{least, 2 * least} : std::vector{least};
    std::vector<Line> lines;
    for (const FitSetting &setting : settings)
      lines.push_back({setting, {}});
    std::vector<std::pair<std::size_t, std::int64_t>> wanted;
    for (const std::int64_t rows : starts)
      for (std::size_t l = 0; l < lines.size(); ++l)
        wanted.emplace_back(l, rows);
    bool hasSmaller = !batches.empty();
    while (!wanted.empty()) {
      std::vector<FitSetting> wave;
      for (const auto &[line, rows] : wanted) {
        wave.push_back(lines[line].setting);
        wave.back().rows = rows;
      }
      std::vector<FitRow> found = evaluator.evaluate(model, wave);
      for (std::size_t w = 0; w < wanted.size(); ++w)
        lines[wanted[w].first].rows.emplace(wanted[w].second, std::move(found[w]));
      wanted.clear();
      for (std::size_t l = 0; l < lines.size() && batches.empty(); ++l)
        if (const std::optional<std::int64_t> next = lines[l].nextRows(result.limit, most))
          wanted.emplace_back(l, *next);
      if (!wanted.empty() || hasSmaller)
        continue;
      hasSmaller = true;
      for (std::size_t l = 0; l < lines.size(); ++l)
        for (const std::int64_t rows : lines[l].smallerRows(least, !result.assertions.empty()))
          wanted.emplace_back(l, rows);
    }
    for (Line &line : lines)
      for (auto &[rows, row] : line.rows)
        result.rows.push_back(std::move(row));
  }

  bool fitsAny() const {
    return std::ranges::any_of(result.rows, [](const FitRow &row) { return row.fits; });
  }
  bool isOverMemory() const {
    return std::ranges::any_of(result.rows, [](const FitRow &row) { return row.status.isOk() && !row.fits; });
  }

  /// More GPUs, and fewer tokens a row, with which the setting that needs the least memory fits, whatever
  /// the assertions.
  void findNearest() {
    const FitRow *least = nullptr;
    for (const FitRow &row : result.rows)
      if (row.status.isOk() && row.peak && (!least || row.requested() < least->requested()))
        least = &row;
    if (!least)
      return;
    FitSetting from = least->setting;
    // Without activations, of which more GPUs have as many, unless the user compares other policies.
    const std::vector<std::string> &policies = result.request.recompute;
    if (!from.recompute.empty() && (policies.empty() || std::ranges::count(policies, "block")))
      from.recompute = "block";
    constexpr std::array factors = {2, 4, 8, 16, 32};
    for (const std::int64_t factor : factors) {
      FitSetting larger = from;
      larger.mesh.shard *= factor;
      if (const FitRow row = evaluator.evaluate(model, std::span(&larger, 1))[0]; row.fits) {
        result.nearest.push_back(concat(result.gpus.world * factor, " GPUs, the least of ", join(factors, ", "),
                                        " times as many: ", row.setting.text(), ", ",
                                        formatBytesExact(row.requested())));
        break;
      }
    }
    for (std::int64_t sequence = result.request.sequence / 2; model.isConfig() && sequence >= 64; sequence /= 2) {
      const FitModel shorter(model.path, sequence, {});
      if (const FitRow row = evaluator.evaluate(shorter, std::span(&from, 1))[0]; row.fits) {
        result.nearest.push_back(concat("--sequence ", sequence, ", the longest of 1/2, 1/4 and so on: ",
                                        row.setting.text(), ", ", formatBytesExact(row.requested())));
        break;
      }
    }
  }

  void finish() {
    result.plans = evaluator.plans();
    result.unknown.assign(evaluator.unknown().begin(), evaluator.unknown().end());
  }

private:
  FitResult &result;
  const FitModel &model;
  Evaluator evaluator;
};

/// Assertions are on figures that rows have.
Status checkFigures(const FitResult &result) {
  const bool isTorch = result.request.framework == FitFramework::pytorch;
  for (const Assertion &assertion : result.assertions) {
    const bool isMemory = assertion.figure == FitFigure::peak || assertion.figure == FitFigure::reserved;
    if (assertion.figure == FitFigure::reserved && !isTorch)
      return Status(StatusCode::usage, "--assert '" + assertion.text + "': only '--for pytorch' has reserved bytes");
    if (!isMemory && (isTorch || !result.gpus.machine))
      return Status(StatusCode::usage, "--assert '" + assertion.text + "': no step is predicted " +
                                           (isTorch ? "for PyTorch" : "for GPUs of which only the bytes are given"));
  }
  return Status::ok();
}

/// Those of `settings` that are not in `others`.
std::vector<FitSetting> without(std::vector<FitSetting> settings, const std::vector<FitSetting> &others) {
  std::erase_if(settings, [&](const FitSetting &setting) { return std::ranges::count(others, setting) != 0; });
  return settings;
}

} // namespace

Result<FitResult> findFit(const FitRequest &request) {
  FitResult result;
  result.request = request;
  if (request.model == "-")
    return Status(StatusCode::usage, "the model cannot be '-', since it is read several times").withNote("give a file");
  FitModel model(request.model, request.sequence, request.sizes);
  if (model.isConfig() && request.sequence == 0)
    return Status(StatusCode::usage, "missing option '--sequence', the tokens of a row of a config.json");
  for (const std::string &text : request.assertions) {
    SLUICE_ASSIGN_OR_RETURN(const Assertion assertion, parseAssertion(text));
    result.assertions.push_back(assertion);
  }
  SLUICE_ASSIGN_OR_RETURN(result.gpus, readGpus(request.gpus, request.world,
                                                request.machines.empty() ? machineFolder() : request.machines));
  SLUICE_RETURN_IF_ERROR(checkFigures(result));
  result.limit = result.gpus.memory - std::min(result.gpus.memory, result.gpus.processBytes());
  SLUICE_ASSIGN_OR_RETURN(const Recipe given, givenRecipe(request));
  if (given.memory.budget)
    result.limit = std::min(result.limit, static_cast<std::uint64_t>(*given.memory.budget));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FitSetting> first, settingsOf(request, result.gpus, false));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FitSetting> last, settingsOf(request, result.gpus, true));

  std::vector<std::int64_t> batches = request.batches;
  RowRange range;
  {
    const std::unique_ptr<mlir::MLIRContext> context = createContext();
    SLUICE_ASSIGN_OR_RETURN(range, model.readRows(context.get()));
    if (range.isFixed && !batches.empty() && (batches.size() > 1 || batches[0] != range.least))
      return inputError(concat(request.model, ": --batch ", join(batches, ","), ", but the model has ",
                               range.least == 0 ? "rows that it does not state"
                                                : concat("micro-batches of ", range.least, " rows")))
          .withNote("give a config.json, or an archive that was exported with a dynamic first dim of its inputs");
    if (range.isFixed)
      batches = {range.least};
    SLUICE_ASSIGN_OR_RETURN(const mlir::OwningOpRef<mlir::ModuleOp> module,
                            model.build(context.get(), batches.empty() ? range.least : batches[0]));
    result.parameters = parametersOf(*module);
    SLUICE_ASSIGN_OR_RETURN(const Recipe carried, attachedRecipe(*module));
    SLUICE_RETURN_IF_ERROR(checkModelRecipe(request, carried));
  }
  FitSearch search(result, model);
  search.explore(first, batches, range);
  if (!search.fitsAny() && search.isOverMemory())
    search.explore(without(last, first), batches, range);
  if (!search.fitsAny() && search.isOverMemory())
    search.findNearest();
  search.finish();
  result.chooseBest();
  return result;
}

} // namespace sluice
