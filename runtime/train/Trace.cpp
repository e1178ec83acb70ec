//===- Trace.cpp - times of the instructions of an executor -------------------------===//
#include "runtime/train/Trace.h"

#include <algorithm>

namespace sluice {

std::int64_t traceBegin(const Executor &executor) {
  std::int64_t begin = -1;
  for (std::uint32_t stream = 0; stream < executor.plan().streams.size(); ++stream)
    if (const std::span<const TraceRecord> records = executor.trace(stream); !records.empty())
      begin = begin < 0 ? records[0].begin : std::min(begin, records[0].begin);
  return begin;
}

void appendSpans(const plan::PlanT &plan, int rank, std::uint32_t stream, std::span<const TraceRecord> records,
                 const std::vector<std::vector<std::string>> &names, std::int64_t start, std::vector<Span> &spans) {
  for (const TraceRecord &record : records)
    spans.push_back({rank, plan.streams[stream]->name, names[record.entry][record.instruction],
                     static_cast<double>(record.begin - start) / 1000, static_cast<double>(record.end - start) / 1000,
                     plan.entries[record.entry]->name, record.instruction, record.repetition});
}

} // namespace sluice
