//===- FitSearch.cpp - finds the settings of a job that fit -------------------------------------===//
#include "passes/driver/fit/FitSearch.h"

#include "passes/driver/Diagnostics.h"
#include "passes/driver/ModelFile.h"
#include "passes/driver/fit/Evaluate.h"
#include "runtime/base/Text.h"
#include "runtime/report/machine/MachineFolder.h"

#include <algorithm>
#include <bit>
#include <map>

namespace sluice {
namespace {

/// Rows of a micro-batch that are tried; larger ones are given by --batch.
constexpr std::int64_t mostRows = 256;

/// One combination of all dimensions but rows, with the rows that are known.
struct Line {
  FitSetting setting;
  std::map<std::int64_t, FitRow> rows;

  /// The power of two of rows to try next; nullopt: the largest that fits is known, or none does.
  std::optional<std::int64_t> nextRows(std::uint64_t limit) const {
    const auto fitting = std::find_if(rows.rbegin(), rows.rend(), [](const auto &row) { return row.second.fits; });
    if (rows.size() < 2 || fitting == rows.rend())
      return std::nullopt;
    const std::int64_t fits = fitting->first;
    // The least number of rows that does not fit.
    std::int64_t most = mostRows;
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
    return predicted > fits ? std::optional(predicted) : std::nullopt;
  }
};

class FitSearch {
public:
  FitSearch(FitResult &result, const FitModel &model)
      : result(result), model(model), evaluator(result.request, result.gpus, result.limit) {}

  /// Settings with these rows, or, without any, with the powers of two that fit.
  void explore(const std::vector<FitSetting> &settings, const std::vector<std::int64_t> &batches) {
    std::vector<Line> lines;
    for (const FitSetting &setting : settings)
      lines.push_back({setting, {}});
    std::vector<std::pair<std::size_t, std::int64_t>> wanted;
    for (const std::int64_t rows : batches.empty() ? std::vector<std::int64_t>{1, 2} : batches)
      for (std::size_t l = 0; l < lines.size(); ++l)
        wanted.emplace_back(l, rows);
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
        if (const std::optional<std::int64_t> next = lines[l].nextRows(result.limit))
          wanted.emplace_back(l, *next);
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

  /// The least number of GPUs, and the largest number of tokens a row, with which the setting that needs the least
  /// memory fits.
  void findNearest() {
    const FitRow *least = nullptr;
    for (const FitRow &row : result.rows)
      if (row.status.isOk() && row.peak && (!least || row.requested() < least->requested()))
        least = &row;
    if (!least)
      return;
    FitSetting from = least->setting;
    // Without activations, of which more GPUs have as many.
    if (!from.recompute.empty())
      from.recompute = "block";
    std::vector<FitSetting> larger;
    for (const std::int64_t factor : {2, 4, 8, 16, 32}) {
      larger.push_back(from);
      larger.back().mesh.shard *= factor;
    }
    for (std::size_t s = 0; s < larger.size(); ++s)
      if (const FitRow row = evaluator.evaluate(model, std::span(larger).subspan(s, 1))[0]; row.fits) {
        result.nearest.push_back(concat(result.gpus.world * (larger[s].mesh.shard / from.mesh.shard),
                                        " GPUs: ", row.setting.text(), ", ", formatBytesExact(row.requested())));
        break;
      }
    for (std::int64_t sequence = result.request.sequence / 2; model.isConfig() && sequence >= 64; sequence /= 2) {
      const FitModel shorter(model.path, sequence, {});
      if (const FitRow row = evaluator.evaluate(shorter, std::span(&from, 1))[0]; row.fits) {
        result.nearest.push_back(
            concat("--sequence ", sequence, ": ", row.setting.text(), ", ", formatBytesExact(row.requested())));
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
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FitSetting> first, settingsOf(request, result.gpus, false));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FitSetting> last, settingsOf(request, result.gpus, true));

  std::vector<std::int64_t> batches = request.batches;
  {
    const std::unique_ptr<mlir::MLIRContext> context = createContext();
    const DiagnosticList diagnostics(context.get());
    const Result<std::optional<std::int64_t>> fixed = model.fixedRows(context.get());
    if (!fixed.isOk())
      return diagnostics.explain(fixed.status());
    if (*fixed && !batches.empty() && (batches.size() > 1 || batches[0] != **fixed))
      return inputError(concat(request.model, ": --batch ", join(batches, ","), ", but the model has micro-batches of ",
                               **fixed, " rows"))
          .withNote("give a config.json, or an archive that was exported with a dynamic first dim of its inputs");
    if (*fixed)
      batches = {**fixed};
    Result<mlir::OwningOpRef<mlir::ModuleOp>> module = model.build(context.get(), batches.empty() ? 1 : batches[0]);
    if (!module.isOk())
      return diagnostics.explain(module.status());
    result.parameters = parametersOf(**module);
  }
  FitSearch search(result, model);
  search.explore(first, batches);
  if (!search.fitsAny() && search.isOverMemory())
    search.explore(without(last, first), batches);
  if (!search.fitsAny() && search.isOverMemory())
    search.findNearest();
  search.finish();
  result.chooseBest();
  return result;
}

} // namespace sluice
