//===- Trace.h - what ran when, for chrome://tracing and Perfetto ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRACE_H
#define SLUICE_RUNTIME_TRAIN_TRACE_H

#include "runtime/train/Ranks.h"

namespace sluice {

/// Writes spans in Chrome's trace format: a process a rank, a thread a stream. The file appears whole or not at all.
Status writeTrace(const std::string &path, std::span<const Span> spans);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRACE_H
