//===- Report.cpp - JSON lines, console lines and the progress bar of a run --------===//
#include "runtime/train/Report.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sluice {

static std::string exact(double value, DType dtype) {
  if (!std::isfinite(value))
    return "null";
  return dtype == DType::f64 ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
}

/// The part of the tokens of rows that are tokens of documents.
static double fill(const PackedContent &packed, std::uint64_t tokens) {
  return static_cast<double>(packed.tokens) / static_cast<double>(tokens);
}

std::string jsonLine(const StepReport &report) {
  std::string more;
  if (report.epoch)
    more += fmt::format(R"(, "epoch": {:.9g})", *report.epoch);
  if (!report.sourceEpochs.empty())
    more += fmt::format(R"(, "source_epochs": [{:.9g}])", fmt::join(report.sourceEpochs, ", "));
  if (report.packed)
    more += fmt::format(R"(, "documents": {}, "fill": {:.9g})", report.packed->documents,
                        fill(*report.packed, report.tokens));
  if (!report.entry.empty())
    more += fmt::format(R"(, "entry": {})", dumpJson(Json(report.entry)));
  if (report.evaluationLoss)
    more += fmt::format(R"(, "eval_loss": {})", exact(*report.evaluationLoss, report.dtype));
  if (!report.rankLosses.empty()) {
    std::string each;
    for (double loss : report.rankLosses)
      each += (each.empty() ? "" : ", ") + exact(loss, report.dtype);
    more += fmt::format(R"(, "rank_losses": [{}])", each);
  }
  if (report.lossScale)
    more += fmt::format(R"(, "loss_scale": {})", exact(*report.lossScale, report.dtype));
  if (!report.losses.empty()) {
    std::string each;
    for (const auto &[name, loss] : report.losses)
      each += fmt::format("{}{}: {}", each.empty() ? "" : ", ", dumpJson(Json(name)), exact(loss, report.dtype));
    more += fmt::format(R"(, "losses": {{{}}})", each);
  }
  return fmt::format(R"({{"step": {}, "loss": {}, "grad_norm": {}, "lr": {}, "tokens": {}, "step_ms": {:.9g}, )"
                     R"("tokens_per_s": {:.9g}{}}})",
                     report.step, exact(report.loss, report.dtype), exact(report.gradientNorm, report.dtype),
                     exact(report.learningRate, report.dtype), report.tokens, report.milliseconds,
                     report.tokensPerSecond(), more);
}

std::vector<std::pair<std::string_view, double>> scalars(const StepReport &report) {
  std::vector<std::pair<std::string_view, double>> list = {{"loss", report.loss},
                                                           {"grad_norm", report.gradientNorm},
                                                           {"lr", report.learningRate},
                                                           {"step_ms", report.milliseconds},
                                                           {"tokens_per_s", report.tokensPerSecond()}};
  if (report.evaluationLoss)
    list.emplace_back("eval_loss", *report.evaluationLoss);
  if (report.lossScale)
    list.emplace_back("loss_scale", *report.lossScale);
  return list;
}

std::string jsonLine(const EvaluationReport &report) {
  return fmt::format(R"({{"step": 0, "eval_loss": {}{}}})", exact(report.loss, report.dtype),
                     report.perplexity ? R"(, "perplexity": )" + exact(*report.perplexity, report.dtype) : "");
}

static std::string jsonObject(const std::map<std::string, std::uint64_t> &bySpace) {
  std::string text;
  for (const auto &[space, bytes] : bySpace)
    text += fmt::format(R"({}"{}": {})", text.empty() ? "" : ", ", space, bytes);
  return "{" + text + "}";
}

std::string jsonLine(const RunSummary &summary) {
  std::string pages;
  if (!summary.pages.empty()) {
    std::map<std::string, std::uint64_t> resident, live;
    for (const auto &[space, bytes] : summary.pages)
      std::tie(resident[space], live[space]) = bytes;
    pages = fmt::format(R"(, "resident_pages": {}, "live_pages": {})", jsonObject(resident), jsonObject(live));
  }
  const std::string now = summary.now.empty() ? "" : fmt::format(R"(, "now": "{}")", summary.now);
  return fmt::format(R"({{"summary": {{"predicted_peak": {}, "measured_peak": {}, "predicted_process": {}, )"
                     R"("measured_process": {}{}{}}}}})",
                     jsonObject(summary.predictedPeak), jsonObject(summary.measuredPeak),
                     summary.predictedProcess ? fmt::to_string(*summary.predictedProcess) : "null",
                     summary.measuredProcess, pages, now);
}

std::string dataLine(const DataReport &report) {
  std::string text = "data: ";
  for (std::size_t i = 0; i < report.sources.size(); ++i)
    text += fmt::format("{}{} rows ({})", i ? " + " : "", report.sources[i].rows, report.sources[i].formats);
  if (report.rowTokens)
    text +=
        fmt::format(" of {} tokens, first batch: {} distinct ids in {} tokens ({:.1f}%), largest id {}",
                    report.rowTokens, report.distinct, report.tokens,
                    100 * static_cast<double>(report.distinct) / static_cast<double>(report.tokens), report.largest);
  std::uint64_t rows = 0;
  for (const DataReport::Source &source : report.sources)
    rows += source.rows;
  if (report.packedPositions)
    text += fmt::format("\npacked: {} documents in {} rows, {:.1f}% of their tokens are filled",
                        report.packed.documents, rows, 100 * fill(report.packed, report.packedPositions));
  for (const DataReport::Shape &shape : report.shapes)
    text += report.isByLength ? fmt::format("\nbucket: {} rows of {} tokens in {}, {} tokens in a step", shape.number,
                                            shape.rowTokens, shape.entry, shape.tokens)
                              : fmt::format("\nfrom step {}: rows of {} tokens in {}, {} tokens in a step",
                                            shape.number + 1, shape.rowTokens, shape.entry, shape.tokens);
  if (report.epochs > 0)
    text += fmt::format("\nepochs: {} with {} steps", formatNumber(report.epochs), report.steps) +
            (report.stepRows ? fmt::format(" of {} rows", report.stepRows) : "");
  return text;
}

std::string dataLine(const EvaluationRows &rows) {
  return fmt::format("eval data: {} of {} rows, the other {} do not fill a batch of {} rows", rows.covered, rows.total,
                     rows.total - rows.covered, rows.batch);
}

std::string consoleLine(const StepReport &report) {
  std::string line = fmt::format("step {}/{}  loss {:.5f}  grad_norm {:.4g}  lr {:.4g}  tok/s {:.0f}", report.step,
                                 report.steps, withoutNanSign(report.loss), withoutNanSign(report.gradientNorm),
                                 report.learningRate, report.tokensPerSecond());
  if (report.epoch)
    line += fmt::format("  epoch {:.2f}", *report.epoch);
  if (report.evaluationLoss)
    line += fmt::format("  eval_loss {:.5f}", withoutNanSign(*report.evaluationLoss));
  return line;
}

std::string consoleLine(const EvaluationReport &report) {
  return fmt::format("eval_loss {:.5f}", withoutNanSign(report.loss)) +
         (report.perplexity ? fmt::format("  perplexity {:.6g}", withoutNanSign(*report.perplexity)) : "");
}

/// "01:05", or "2:01:05" from an hour on.
static std::string clockText(double seconds) {
  auto total = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
  if (total >= 3600)
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{:02}:{:02}", total / 60, total % 60);
}

static double remainingSeconds(const StepReport &report, double elapsed) {
  return report.step ? elapsed / static_cast<double>(report.step) * static_cast<double>(report.steps - report.step) : 0;
}

std::string timeText(const StepReport &report, double elapsed) {
  return fmt::format("time {}  eta {}", clockText(elapsed), clockText(remainingSeconds(report, elapsed)));
}

std::string utilizationText(double flops, double seconds, double flopsPerSecond) {
  return fmt::format("mfu {:.1f}%", 100 * flops / (seconds * flopsPerSecond));
}

std::string progressBar(const StepReport &report, double elapsed, int columns) {
  double part = report.steps ? static_cast<double>(report.step) / static_cast<double>(report.steps) : 1;
  double remaining = remainingSeconds(report, elapsed);
  std::string head = fmt::format("{:3.0f}%|", std::floor(part * 100));
  std::string tail = fmt::format("| {}/{} [{}<{}, loss {:.4f}, grad_norm {:.3g}, lr {:.2e}, {:.0f} tok/s]", report.step,
                                 report.steps, clockText(elapsed), clockText(remaining), withoutNanSign(report.loss),
                                 withoutNanSign(report.gradientNorm), report.learningRate, report.tokensPerSecond());
  int width = std::min(columns - 1 - static_cast<int>(head.size() + tail.size()), 40);
  if (width < 4) {
    std::string line = head + tail;
    return line.substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
  }
  static constexpr const char *eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto filled = static_cast<int>(part * width * 8);
  std::string bar;
  for (int i = 0; i < width; ++i)
    bar += filled >= 8 * (i + 1) ? "█" : filled > 8 * i ? eighths[filled - 8 * i] : " ";
  return head + bar + tail;
}

/// "\nprocess:  4096 (4.00 KiB) resident, 8192 (8.00 KiB) predicted" or without a prediction, and the pages of arenas
/// if they were measured.
static std::string residentLines(const RunSummary &summary) {
  std::string text = fmt::format("\nprocess:  {} resident", formatBytesExact(summary.measuredProcess));
  if (summary.predictedProcess)
    text += fmt::format(", {} predicted", formatBytesExact(*summary.predictedProcess));
  bool isFirst = true;
  for (const auto &[space, bytes] : summary.pages) {
    text += fmt::format("{}  {} at most {} of {} with live bytes", isFirst ? "\nresident pages:" : "", space,
                        formatBytesExact(bytes.first), formatBytesExact(bytes.second));
    isFirst = false;
  }
  return text;
}

std::string summaryLine(const RunSummary &summary) {
  if (summary.predictedPeak == summary.measuredPeak) {
    std::string text = "predicted peak = measured peak:";
    for (const auto &[space, bytes] : summary.predictedPeak)
      text += fmt::format("  {} {}", space, formatBytesExact(bytes));
    return text + " requested" + residentLines(summary);
  }
  std::string text = "predicted peak and measured peak differ:";
  for (const auto &[space, bytes] : summary.predictedPeak) {
    auto measured = summary.measuredPeak.find(space);
    text += fmt::format("  {} predicted {} requested {}", space, formatBytesExact(bytes),
                        formatBytesExact(measured == summary.measuredPeak.end() ? 0 : measured->second));
  }
  return text + residentLines(summary);
}

} // namespace sluice
