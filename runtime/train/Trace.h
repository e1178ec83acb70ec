//===- Trace.h - spans of instructions, for chrome://tracing and Perfetto -----------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRACE_H
#define SLUICE_RUNTIME_TRAIN_TRACE_H

#include "runtime/executor/Executor.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// The plan's name of each instruction, by entry point.
std::vector<std::vector<std::string>> instructionNames(const plan::PlanT &plan);

/// When the first instruction of a rank's trace began; -1: the trace is empty.
std::int64_t traceBegin(const Executor &executor);

/// Appends a rank's trace, in microseconds from `start`.
void appendSpans(const plan::PlanT &plan, int rank, std::uint32_t stream, std::span<const TraceRecord> records,
                 const std::vector<std::vector<std::string>> &names, std::int64_t start, std::vector<Span> &spans);

/// Writes spans in Chrome's trace format: one process per rank, one thread per stream. The file is renamed to its path
/// when it is complete.
Status writeTrace(const std::string &path, std::span<const Span> spans);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRACE_H
