//===- Console.cpp - the progress of a run on standard output -------------------------===//
#include "tools/train/Console.h"

#include "runtime/base/Text.h"
#include "runtime/train/MachineMemory.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"
#include "tools/train/Allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace sluice {

/// True while the cursor is at the end of the progress bar.
static std::atomic<bool> isBarDrawn = false;

static int columns(const Descriptor &terminal) {
  winsize size{};
  return ioctl(terminal.get(), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 100;
}

/// The terminal that shows this process's output; not open if the output goes elsewhere. Open MPI's mpirun gives each
/// process a terminal even if its own output is a file: its own output decides.
static Descriptor openTerminal(bool isCopiedByMpirun) {
  if (!isatty(STDOUT_FILENO))
    return {};
  if (!isCopiedByMpirun)
    return Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  const std::string output = "/proc/" + std::to_string(getppid()) + "/fd/1";
  // A pipe is not waited for.
  Descriptor copied(open(output.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return copied.isOpen() && isatty(copied.get()) ? std::move(copied) : Descriptor();
}

static bool canMoveCursor() {
  const char *term = std::getenv("TERM");
  return term && std::string_view(term) != "dumb";
}

Console::Console(Ranks &ranks, const ConsoleOptions &options)
    : ranks(ranks), options(options), lines(options.logEvery), terminal(openTerminal(options.isCopiedByMpirun)),
      hasBar(terminal.isOpen() && canMoveCursor()) {}

void Console::printData(const std::string &line) const {
  if (options.quiet || !options.isRoot)
    return;
  std::printf("%s\n", line.c_str());
  flushOutput();
}

void Console::onData(const DataReport &report) { printData(dataLine(report)); }

void Console::onRowsLeftOut(const EvaluationRows &rows) { printData(dataLine(rows)); }

void Console::onBegin() { holdFreedBlocks(); }

void Console::endLine() {
  if (isBarDrawn.exchange(false))
    std::printf("\n");
}

void Console::printLine(const StepReport &report) {
  const std::optional<StepLines::Line> line = lines.add(report);
  if (!line)
    return;
  std::string text = consoleLine(line->report);
  if (options.logEvery != 0)
    text += "  " + timeText(report, elapsed) + "  memory " + formatBytes(processHighWater());
  const auto flops = static_cast<double>(options.flops * line->steps);
  if (options.logEvery != 0 && options.flopsPerSecond != 0)
    text +=
        "  " + utilizationText(flops, line->report.milliseconds / 1000, static_cast<double>(options.flopsPerSecond));
  std::printf("%s\n", text.c_str());
}

void Console::onStep(const StepReport &report) {
  if (options.trace)
    for (Span &span : ranks.takeTrace())
      spans.push_back(std::move(span));
  if (options.quiet || !options.isRoot)
    return;
  elapsed += report.milliseconds / 1000;
  if (!hasBar) {
    printLine(report);
    flushOutput();
    return;
  }
  if (report.evaluationLoss)
    std::printf("\r\033[Kstep %llu/%llu  eval_loss %.5f\n", static_cast<unsigned long long>(report.step),
                static_cast<unsigned long long>(report.steps), withoutNanSign(*report.evaluationLoss));
  curve.add(report.step, report.steps, report.loss);
  std::printf("\r\033[K%s", progressBar(report, elapsed, columns(terminal)).c_str());
  isBarDrawn = true;
  if (report.step == report.steps)
    endLine();
  flushOutput();
}

void Console::onEvaluation(const EvaluationReport &report) {
  if (!options.quiet && options.isRoot)
    std::printf("%s\n", consoleLine(report).c_str());
}

void Console::onStopped(std::uint64_t step) {
  endLine();
  if (!options.quiet && options.isRoot)
    std::printf("stopped by a signal after step %llu\n", static_cast<unsigned long long>(step));
}

void Console::onWarning(const Status &warning) {
  endLine();
  if (options.isRoot)
    warn(warning);
}

void Console::onSummary(const RunSummary &summary) {
  endLine();
  std::printf("%s", curve.text().c_str());
  closing = summaryLine(summary);
}

/// The bytes before a UTF-8 sequence that the end of the text cuts off; otherwise the size of the text.
static std::size_t completeBytes(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(text.size(), 3); ++bytes) {
    const std::string_view end = text.substr(text.size() - bytes);
    // A sequence that is cut off is no error, and one with a wrong byte is.
    if (findNotUtf8(end) == bytes && findNotUtf8(concat(end, "\xff")) == 0)
      return text.size() - bytes;
  }
  return text.size();
}

void Console::printText(std::string_view text) {
  if (!options.isRoot)
    return;
  if (terminal.isOpen()) {
    held += text;
    const std::size_t complete = completeBytes(held);
    std::fputs(printable(std::string_view(held).substr(0, complete), /*isLine=*/false).c_str(), stdout);
    held.erase(0, complete);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  flushOutput();
}

void Console::close() {
  if (!options.quiet && options.isRoot && options.showsSummary && !closing.empty())
    std::printf("%s\n", closing.c_str());
}

} // namespace sluice
