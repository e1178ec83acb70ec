//===- ChromeTrace.h - times of instructions, for chrome://tracing and Perfetto ---------------===//
//
// One form for measured times (`sluice-train --trace`) and predicted ones (`sluice-plan simulate --trace`): one process
// per rank, one thread per stream, one span per executed instruction, named as the plan prints it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHROMETRACE_H
#define SLUICE_RUNTIME_PLAN_CHROMETRACE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The execution of one instruction, in microseconds from a common start.
struct Span {
  int rank = 0;
  std::string stream;
  std::string name;
  double begin = 0;
  double end = 0;
  /// The entry point, the instruction in it (sections one after another, not expanded) and the repetition of its
  /// section.
  std::string entry = {};
  std::uint32_t instruction = 0, repetition = 0;
};

/// The plan's name of each instruction, by entry point.
std::vector<std::vector<std::string>> instructionNames(const plan::PlanT &plan);

/// Writes spans in Chrome's trace format. The file is renamed to its path when it is complete.
Status writeTrace(const std::string &path, std::span<const Span> spans);

/// Reads a file of writeTrace(). An input error names the file and the first event that is not of that form.
Result<std::vector<Span>> readTrace(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHROMETRACE_H
