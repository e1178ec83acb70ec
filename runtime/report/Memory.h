//===- Memory.h - reports of memory ----------------------------------------------------===//
//
// Bytes by class and the largest tensors at the peak, and the live bytes over a step.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MEMORY_H
#define SLUICE_RUNTIME_REPORT_MEMORY_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// With `writesCheckpoints` the memory of a run with --checkpoint.
Json memoryJson(const plan::PlanT &plan, bool writesCheckpoints = false);

/// With `unicode` the chart is drawn with block characters, otherwise with ASCII.
std::string memoryText(const plan::PlanT &plan, bool unicode, bool writesCheckpoints = false);

/// The live device bytes by class and by unit at an instruction, for each entry point that has so many. An error if
/// none has.
Result<Json> memoryAtJson(const plan::PlanT &plan, std::uint32_t instruction);
Result<std::string> memoryAtText(const plan::PlanT &plan, std::uint32_t instruction);

/// Bars over time, `height` lines of `width` columns at most; each column is the largest of its values.
/// Every line begins with `indent`.
std::string drawBars(std::span<const std::uint64_t> values, std::size_t width, std::size_t height, bool unicode,
                     const std::string &indent);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MEMORY_H
