//===- BufferTable.cpp - addresses of the buffers that can be read and written between runs ---===//
#include "runtime/train/BufferTable.h"

#include <fmt/format.h>

namespace sluice {

Result<BufferTable> BufferTable::make(Executor &executor) {
  const plan::PlanT &plan = executor.plan();
  BufferTable table;
  table.plan = &plan;
  table.rank = executor.rank();
  table.bases.resize(plan.buffers.size());
  for (const auto &entry : plan.entries) {
    for (const auto &port : entry->inputs) {
      SLUICE_ASSIGN_OR_RETURN(PortMemory memory, executor.input(entry->name, port->name));
      table.bases[port->view->buffer] = memory.base - port->view->offset;
    }
    for (const auto &port : entry->outputs) {
      SLUICE_ASSIGN_OR_RETURN(PortMemory memory, executor.output(entry->name, port->name));
      table.bases[port->view->buffer] = memory.base - port->view->offset;
    }
  }
  for (const ParameterMemory &parameter : executor.parameters())
    table.bases[plan.parameters[parameter.index]->buffer] = static_cast<std::byte *>(parameter.tensor.value.data);
  for (std::size_t v = 0; v < plan.variables.size(); ++v)
    table.bases[plan.variables[v]->buffer] = static_cast<std::byte *>(executor.variables()[v].value.data);
  return table;
}

Result<std::byte *> BufferTable::locate(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const {
  std::byte *base = bases[buffer];
  const std::uint64_t size = plan->buffers[buffer]->bytes;
  if (!base || offset > size || bytes > size - offset)
    return internalError(fmt::format("buffer {} of rank {}, expected a range within {} bytes but got {} from {}",
                                     buffer, rank, size, bytes, offset));
  return base + offset;
}

std::vector<std::vector<std::string>> instructionNames(const plan::PlanT &plan) {
  std::vector<std::vector<std::string>> names(plan.entries.size());
  for (std::size_t e = 0; e < plan.entries.size(); ++e)
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      const std::string unit = instruction.unit >= 0 ? " " + plan.units[instruction.unit]->name : "";
      names[e].push_back(operationName(plan, instruction) + unit);
    });
  return names;
}

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
                     static_cast<double>(record.begin - start) / 1000, static_cast<double>(record.end - start) / 1000});
}

} // namespace sluice
