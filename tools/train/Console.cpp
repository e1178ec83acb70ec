//===- Console.cpp - the progress of a run on standard output -------------------------===//
#include "tools/train/Console.h"

#include "runtime/base/Text.h"
#include "tools/train/Allocator.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sluice {

static int columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 100;
}

Console::Console(Ranks &ranks, bool quiet, bool trace) : ranks(ranks), quiet(quiet), trace(trace) {
  const char *term = std::getenv("TERM");
  bar = isatty(STDOUT_FILENO) && term && std::string_view(term) != "dumb";
}

void Console::onData(const DataReport &report) {
  if (quiet)
    return;
  std::printf("%s\n", dataLine(report).c_str());
  std::fflush(stdout);
}

void Console::onBegin() { holdFreedBlocks(); }

void Console::onStep(const StepReport &report) {
  if (trace)
    for (Span &span : ranks.takeTrace())
      spans.push_back(std::move(span));
  if (quiet)
    return;
  if (!bar) {
    std::printf("%s\n", consoleLine(report).c_str());
    std::fflush(stdout);
    return;
  }
  elapsed += report.milliseconds / 1000;
  if (report.evaluationLoss)
    std::printf("\r\033[Kstep %llu/%llu  eval_loss %.5f\n", static_cast<unsigned long long>(report.step),
                static_cast<unsigned long long>(report.steps), withoutNanSign(*report.evaluationLoss));
  std::printf("\r\033[K%s", progressBar(report, elapsed, columns()).c_str());
  if (report.step == report.steps || !report.guard)
    std::printf("\n");
  std::fflush(stdout);
}

void Console::onStopped(std::uint64_t step) {
  if (!quiet)
    std::printf("%sstopped by a signal after step %llu\n", bar ? "\n" : "", static_cast<unsigned long long>(step));
}

void Console::onSummary(const RunSummary &summary) { closing = summaryLine(summary); }

void Console::close() {
  if (!quiet && !closing.empty())
    std::printf("%s\n", closing.c_str());
}

} // namespace sluice
