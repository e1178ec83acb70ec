//===- BufferTable.h - addresses of the buffers that can be read and written between runs ---===//
#ifndef SLUICE_RUNTIME_TRAIN_BUFFERTABLE_H
#define SLUICE_RUNTIME_TRAIN_BUFFERTABLE_H

#include "runtime/executor/Executor.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// The buffers of ports, parameters and variables of one rank.
class BufferTable {
public:
  static Result<BufferTable> make(Executor &executor);

  /// The address of a range; a buffer that is not in the table, or a range beyond its end, is an error.
  Result<std::byte *> locate(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const;

private:
  const plan::PlanT *plan = nullptr;
  int rank = 0;
  /// By buffer; null: not in the table.
  std::vector<std::byte *> bases;
};

/// The plan's name of each instruction, by entry point.
std::vector<std::vector<std::string>> instructionNames(const plan::PlanT &plan);

/// When the first instruction of a rank's trace began; -1: the trace is empty.
std::int64_t traceBegin(const Executor &executor);

/// Appends a rank's trace, in microseconds from `start`.
void appendSpans(const plan::PlanT &plan, int rank, std::uint32_t stream, std::span<const TraceRecord> records,
                 const std::vector<std::vector<std::string>> &names, std::int64_t start, std::vector<Span> &spans);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_BUFFERTABLE_H
