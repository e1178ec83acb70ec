//===- FitResult.h - settings of a job with their memory and time -------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_FITRESULT_H
#define SLUICE_PASSES_DRIVER_FIT_FITRESULT_H

#include "passes/driver/fit/Assertion.h"
#include "passes/driver/fit/FitSetting.h"
#include "runtime/base/Json.h"

namespace sluice {

struct FitRow {
  FitSetting setting;
  /// An error if there is no plan, or no account of it.
  Status status;
  /// An error if no step of the plan can be predicted.
  Status timeStatus;
  /// Of one rank. For Sluice: the arena and workspace of the plan, by class at the peak. For PyTorch: the largest sum
  /// of live tensors by the account of FSDP2, by purpose; and what the caching allocator reserves.
  std::optional<std::uint64_t> peak, reserved;
  std::vector<std::pair<std::string, std::uint64_t>> classes;
  /// Of the predicted step; nullopt without times.
  std::optional<double> seconds, tokensPerSecond, mfu;
  /// There is a plan, within the memory of the GPU.
  bool fits = false;
  /// For PyTorch: the modules that are units of FSDP2, the root's name being empty.
  std::vector<std::string> units;

  /// The bytes that have to fit: those that the framework requests.
  std::uint64_t requested() const { return reserved.value_or(peak.value_or(0)); }
  /// nullopt if the row has no such figure.
  std::optional<double> figure(FitFigure figure) const;
};

/// A row that is one of the best.
struct BestRow {
  /// Position in FitResult::rows.
  std::size_t row = 0;
  /// "fastest", "headroom", "smallest": one or more, in this order.
  std::vector<std::string> roles;
};

struct FitResult {
  FitRequest request;
  Gpus gpus;
  std::uint64_t parameters = 0;
  /// Bytes for the framework on one GPU: its memory without that of the driver and libraries, as far as known; or the
  /// user's `memory.budget`, if that is less.
  std::uint64_t limit = 0;
  /// In the order of the settings, then by rows of a micro-batch.
  std::vector<FitRow> rows;
  /// Up to three rows, the best first.
  std::vector<BestRow> best;
  std::vector<Assertion> assertions;
  /// Rates that the machine file does not have.
  std::vector<std::string> unknown;
  /// Settings that fit with more GPUs or fewer tokens, if no row fits.
  std::vector<std::string> nearest;
  /// Plans that were compiled.
  std::size_t plans = 0;

  /// True for a row that fits and for which all assertions hold.
  bool isAccepted(const FitRow &row) const;
  /// The best rows, of those that are accepted: "fastest" has most tokens per second; "headroom" has most of those with
  /// a tenth of the memory free; "smallest" has the least memory. Without times the fastest is the first of the table,
  /// and of its settings the one with most rows.
  void chooseBest();
  /// Ok if a row is accepted; else StatusCode::budget with the row that is nearest to it, or the error of all rows.
  Status status() const;

  Json toJson() const;
  /// The table of the rows that fit; for PyTorch also the calls of the best rows.
  std::string toText() const;

private:
  /// Of a position in `rows`; empty if it is not one of the best.
  std::vector<std::string> rolesOf(std::size_t row) const;
  /// ": REASON" if rows have no times, as far as known.
  std::string whyNoTime() const;
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_FITRESULT_H
