//===- ExecutorRanks.cpp - the trainer's ranks, run by the executor ----------------===//
#include "runtime/executor/NonFinite.h"
#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/train/EntrySubset.h"
#include "runtime/train/ExecutorSettings.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/Trace.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sluice {

namespace {

class ExecutorRanks : public Ranks {
public:
  static Result<std::unique_ptr<Ranks>> make(PlanFile file, const RanksOptions &options) {
    auto ranks = std::unique_ptr<ExecutorRanks>(new ExecutorRanks(std::move(file.plan)));
    SLUICE_ASSIGN_OR_RETURN(const ExecutorOptions executor,
                            executorOptions(ranks->held, options, nullptr, ranks->pages));
    ranks->traces = options.trace;
    SLUICE_ASSIGN_OR_RETURN(ranks->group, RankGroup::create(ranks->held, executor));
    SLUICE_RETURN_IF_ERROR(finishSettings(executor, options));
    return std::unique_ptr<Ranks>(std::move(ranks));
  }

  const plan::PlanT &plan() const override { return held; }
  int size() const override { return group->size(); }
  Status run(std::string_view entry) override { return group->runEntry(entry); }
  // Times are read from idle streams.
  Status start(std::string_view entry) override { return traces ? run(entry) : group->startEntry(entry); }
  Status finish() override { return group->finish(); }

  Result<std::string> findNonFinite(std::string_view entry) override {
    std::vector<std::optional<NonFinite>> found(static_cast<std::size_t>(size()));
    SLUICE_RETURN_IF_ERROR(group->forEachRank([&](Executor &executor) -> Status {
      SLUICE_ASSIGN_OR_RETURN(found[static_cast<std::size_t>(executor.rank())], executor.findNonFinite(entry));
      return {};
    }));
    const NonFinite *first = nullptr;
    for (const std::optional<NonFinite> &each : found)
      if (each && (!first || each->position < first->position))
        first = &*each;
    return first ? first->text : std::string();
  }

  Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    return group->executor(rank).read(buffer, offset, out);
  }

  Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    return group->executor(rank).write(buffer, offset, data);
  }

  Result<SharedMemory> memoryOf(int rank, std::uint32_t buffer) const override {
    return group->executor(rank).memory(buffer);
  }

  Status forEachRank(const std::function<void(int)> &function) const override {
    return group->forEachRank([&](Executor &executor) {
      function(executor.rank());
      return Status::ok();
    });
  }

  Status copyState() const override {
    return group->forEachRank([](Executor &executor) { return executor.copyState(); });
  }

  std::span<std::byte> checkpointMemory(int rank) const override { return group->executor(rank).checkpointMemory(); }

  std::uint64_t requestedBytes(plan::Space space) const override {
    std::uint64_t largest = 0;
    for (int rank = 0; rank < size(); ++rank)
      largest = std::max(largest, group->executor(rank).allocatedBytes(
                                      space == plan::Space::device ? MemorySpace::device : MemorySpace::host));
    return largest;
  }

  PageBytes pageBytes(plan::Space space) const override { return pages->of(space); }

  std::vector<Span> takeTrace() override;

private:
  explicit ExecutorRanks(plan::PlanT plan) : held(std::move(plan)) {}

  plan::PlanT held;
  std::unique_ptr<RankGroup> group;
  bool traces = false;
  const std::shared_ptr<PageReport> pages = std::make_shared<PageReport>();
  /// When the first traced instruction began.
  std::int64_t traceStart = -1;
};

} // namespace

std::vector<Span> ExecutorRanks::takeTrace() {
  const std::vector<std::vector<std::string>> names = instructionNames(held);
  if (traceStart < 0)
    for (int rank = 0; rank < size(); ++rank)
      if (const std::int64_t begin = traceBegin(group->executor(rank)); begin >= 0)
        traceStart = traceStart < 0 ? begin : std::min(traceStart, begin);
  std::vector<Span> spans;
  for (int rank = 0; rank < size(); ++rank) {
    Executor &executor = group->executor(rank);
    for (std::uint32_t stream = 0; stream < held.streams.size(); ++stream)
      appendSpans(held, rank, stream, executor.trace(stream), names, traceStart, spans);
    executor.clearTrace();
  }
  return spans;
}

Result<std::unique_ptr<Ranks>> openRanks(const std::string &path, const RanksOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlan(path));
  return openRanks(std::move(file), path, options);
}

Result<std::unique_ptr<Ranks>> openRanks(PlanFile file, const std::string &path, const RanksOptions &options) {
  CheckReport report;
  SLUICE_RETURN_IF_ERROR(checkPlan(file.plan, &report));
  if (const std::string unproved = report.unproved(); !unproved.empty()) {
    if (options.requiresProof)
      return refusedError(fmt::format("plan '{}', expected each property to be proved but got {}", path, unproved))
          .withNote("'sluice-plan check' lists the properties; without --require-proof the plan runs");
    if (options.note)
      options.note(fmt::format("plan '{}' is not proved in all properties: {}", path, unproved));
  }
  std::uint32_t most = file.plan.target ? std::max(file.plan.target->threads, 1u) : 1;
  if (options.threads < 0 || static_cast<std::uint32_t>(options.threads) > most)
    return Status(StatusCode::usage,
                  fmt::format("{} threads per rank, but the plan's 'target.threads' is {}", options.threads, most))
        .withNote("the workspace of the kernels is for so many threads; --set target.threads=N changes it");
  if (!options.entries.empty())
    keepEntries(file.plan, options.entries);
  SLUICE_RETURN_IF_ERROR(
      checkFitsMachine(file.plan, options.world ? 1 : meshSize(file.plan), machineMemory(), options.writesCheckpoints));
  return options.world ? openProcessRanks(std::move(file.plan), options)
                       : ExecutorRanks::make(std::move(file), options);
}

} // namespace sluice
