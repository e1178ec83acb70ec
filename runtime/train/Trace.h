//===- Trace.h - times of the instructions of an executor ---------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRACE_H
#define SLUICE_RUNTIME_TRAIN_TRACE_H

#include "runtime/executor/Executor.h"
#include "runtime/plan/ChromeTrace.h"

namespace sluice {

/// When the first instruction of a rank's trace began; -1: the trace is empty.
std::int64_t traceBegin(const Executor &executor);

/// Appends a rank's trace, in microseconds from `start`. `names` are those of instructionNames().
void appendSpans(const plan::PlanT &plan, int rank, std::uint32_t stream, std::span<const TraceRecord> records,
                 const std::vector<std::vector<std::string>> &names, std::int64_t start, std::vector<Span> &spans);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRACE_H
