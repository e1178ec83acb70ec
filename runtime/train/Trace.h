//===- Trace.h - spans for chrome://tracing and Perfetto ---------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRACE_H
#define SLUICE_RUNTIME_TRAIN_TRACE_H

#include "runtime/train/Ranks.h"

namespace sluice {

/// Writes spans in Chrome's trace format: one process per rank, one thread per stream. The file is renamed to its path
/// when it is complete.
Status writeTrace(const std::string &path, std::span<const Span> spans);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRACE_H
