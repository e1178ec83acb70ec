//===- ExecutorRanks.cpp - the trainer's ranks, run by the executor ----------------===//
#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/train/Ranks.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sluice {

/// Instructions of a stream whose times are kept between two calls of takeTrace().
static constexpr std::size_t traceCapacity = 1 << 16;

namespace {

class ExecutorRanks : public Ranks {
public:
  static Result<std::unique_ptr<Ranks>> make(PlanFile file, const RanksOptions &options) {
    auto ranks = std::unique_ptr<ExecutorRanks>(new ExecutorRanks(std::move(file.plan)));
    ExecutorOptions executor;
    executor.threads = options.threads;
    executor.seed = options.seed;
    executor.traceCapacity = options.trace ? traceCapacity : 0;
    SLUICE_ASSIGN_OR_RETURN(ranks->group, RankGroup::create(ranks->held, executor));
    for (int rank = 0; rank < ranks->size(); ++rank)
      SLUICE_RETURN_IF_ERROR(ranks->findBuffers(rank));
    return std::unique_ptr<Ranks>(std::move(ranks));
  }

  const plan::PlanT &plan() const override { return held; }
  int size() const override { return group->size(); }
  Status run(std::string_view entry) override { return group->runEntry(entry); }

  Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    SLUICE_ASSIGN_OR_RETURN(const std::byte *data, locate(rank, buffer, offset, out.size()));
    std::memcpy(out.data(), data, out.size());
    return Status::ok();
  }

  Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    SLUICE_ASSIGN_OR_RETURN(std::byte *to, locate(rank, buffer, offset, data.size()));
    std::memcpy(to, data.data(), data.size());
    return Status::ok();
  }

  std::uint64_t requestedBytes(plan::Space space) const override {
    std::uint64_t largest = 0;
    for (int rank = 0; rank < size(); ++rank)
      largest = std::max(largest, group->executor(rank).allocatedBytes(space == plan::Space::device
                                                                           ? MemorySpace::device
                                                                           : MemorySpace::host));
    return largest;
  }

  std::vector<Span> takeTrace() override;

private:
  explicit ExecutorRanks(plan::PlanT plan) : held(std::move(plan)) {}

  /// Notes where the buffers lie that the outside may touch: those of ports and parameters.
  Status findBuffers(int rank) {
    Executor &executor = group->executor(rank);
    std::vector<std::byte *> &found = bases.emplace_back(held.buffers.size());
    for (const auto &entry : held.entries) {
      for (const auto &port : entry->inputs) {
        SLUICE_ASSIGN_OR_RETURN(PortMemory memory, executor.input(entry->name, port->name));
        found[port->view->buffer] = memory.base - port->view->offset;
      }
      for (const auto &port : entry->outputs) {
        SLUICE_ASSIGN_OR_RETURN(PortMemory memory, executor.output(entry->name, port->name));
        found[port->view->buffer] = memory.base - port->view->offset;
      }
    }
    for (const ParameterMemory &parameter : executor.parameters())
      found[held.parameters[parameter.index]->buffer] = static_cast<std::byte *>(parameter.tensor.value.data);
    return Status::ok();
  }

  Result<std::byte *> locate(int rank, std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const {
    std::byte *base = bases[static_cast<std::size_t>(rank)][buffer];
    std::uint64_t size = held.buffers[buffer]->bytes;
    if (!base || offset > size || bytes > size - offset)
      return internalError(fmt::format("buffer {} of rank {}, expected a range within {} bytes but got {} from {}",
                                       buffer, rank, size, bytes, offset));
    return base + offset;
  }

  plan::PlanT held;
  std::unique_ptr<RankGroup> group;
  /// By rank and buffer; null: not for the outside.
  std::vector<std::vector<std::byte *>> bases;
  /// When the first traced instruction began.
  std::int64_t traceStart = -1;
};

} // namespace

std::vector<Span> ExecutorRanks::takeTrace() {
  std::vector<std::vector<std::string>> names(held.entries.size());
  for (std::size_t e = 0; e < held.entries.size(); ++e)
    forEachInstruction(*held.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      std::string unit = instruction.unit >= 0 ? " " + held.units[instruction.unit]->name : "";
      names[e].push_back(operationName(held, instruction) + unit);
    });
  if (traceStart < 0)
    for (int rank = 0; rank < size(); ++rank)
      for (std::uint32_t stream = 0; stream < held.streams.size(); ++stream)
        for (const TraceRecord &record : group->executor(rank).trace(stream).first(
                 std::min<std::size_t>(1, group->executor(rank).trace(stream).size())))
          traceStart = traceStart < 0 ? record.begin : std::min(traceStart, record.begin);
  std::vector<Span> spans;
  for (int rank = 0; rank < size(); ++rank) {
    Executor &executor = group->executor(rank);
    for (std::uint32_t stream = 0; stream < held.streams.size(); ++stream)
      for (const TraceRecord &record : executor.trace(stream))
        spans.push_back({rank, held.streams[stream]->name, names[record.entry][record.instruction],
                         static_cast<double>(record.begin - traceStart) / 1000,
                         static_cast<double>(record.end - traceStart) / 1000});
    executor.clearTrace();
  }
  return spans;
}

Result<std::unique_ptr<Ranks>> openRanks(const std::string &path, const RanksOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readCheckedPlan(path));
  std::uint32_t most = file.plan.target ? std::max(file.plan.target->threads, 1u) : 1;
  if (options.threads < 0 || static_cast<std::uint32_t>(options.threads) > most)
    return Status(StatusCode::usage, fmt::format("threads, expected 1 to {} (the plan's target.threads) but got {}",
                                                 most, options.threads));
  return ExecutorRanks::make(std::move(file), options);
}

} // namespace sluice
