//===- RunPlanFuzz.cpp - runs the plans that the checker accepts --------------------------===//
//
// No plan may crash the runtime. Small plans are executed with one thread for each rank: the entry points in order,
// twice. Larger ones are only opened (PlanFuzz.cpp), so that a run takes no more than seconds and some MiB.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"

#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

using namespace sluice;

namespace {

// With AVX-512 a matrix product has 2 MiB of workspace.
constexpr std::uint64_t mostBytes = 1 << 24, mostRanks = 4, mostInstructions = 20'000;

bool isSmall(const plan::PlanT &plan) {
  std::uint64_t ranks = 1, bytes = 0, instructions = 0;
  for (const auto &axis : plan.mesh)
    ranks *= std::max<std::uint64_t>(axis->size, 1);
  for (const auto &arena : plan.arenas)
    bytes += arena->bytes + arena->workspace;
  for (const auto &entry : plan.entries)
    for (const auto &section : entry->sections)
      instructions += section->repeat * section->instructions.size();
  return ranks <= mostRanks && bytes <= mostBytes && instructions <= mostInstructions;
}

/// Printed at the end of the program.
struct Counts {
  std::uint64_t files = 0, plans = 0, accepted = 0, executed = 0;
  /// Of the plans that were executed.
  std::set<std::string> digests;

  ~Counts() {
    for (const auto &[name, count] :
         {std::pair("files", files), std::pair("files_that_are_plans", plans),
          std::pair("accepted_small_plans", accepted), std::pair("executed_plans", executed),
          std::pair("different_executed_plans", std::uint64_t(digests.size()))})
      std::fprintf(stderr, "stat::%s: %llu\n", name, static_cast<unsigned long long>(count));
  }
};

/// Writes numbers that the port accepts; floats have any bits.
void fill(const PortMemory &port) {
  for (std::uint32_t repetition = 0; repetition < port.repetitions; ++repetition) {
    auto *bytes = port.as<std::uint8_t>(repetition);
    if (isFloat(port.dtype)) {
      for (std::uint64_t i = 0; i < port.bytes; ++i)
        bytes[i] = std::uint8_t(i * 37 + repetition);
      continue;
    }
    const std::uint64_t element = dtypeBytes(port.dtype);
    for (std::uint64_t i = 0; i < port.bytes / element; ++i) {
      // The largest number first.
      const std::uint64_t limit = port.limit != 0 ? port.limit : 128, number = limit - 1 - i % limit;
      std::memcpy(bytes + i * element, &number, element);
    }
  }
}

Status runEntries(const plan::PlanT &plan, RankGroup &ranks) {
  for (const auto &entry : plan.entries) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      for (const auto &port : entry->inputs) {
        SLUICE_ASSIGN_OR_RETURN(const PortMemory memory, ranks.executor(rank).input(entry->name, port->name));
        fill(memory);
      }
    SLUICE_RETURN_IF_ERROR(ranks.runEntry(entry->name));
    SLUICE_RETURN_IF_ERROR(ranks.runEntry(entry->name));
  }
  return Status::ok();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static Counts counts;
  ++counts.files;
  const Result<PlanFile> file = parsePlan({data, size}, "fuzz");
  if (!file.isOk())
    return 0;
  ++counts.plans;
  if (!isSmall(file->plan) || !checkPlan(file->plan).isOk())
    return 0;
  ++counts.accepted;
  const Result<std::unique_ptr<RankGroup>> ranks = RankGroup::create(file->plan);
  const Status status = ranks.isOk() ? runEntries(file->plan, **ranks) : ranks.status();
  fuzz::claim(status.code() != StatusCode::internal, status.message());
  if (status.isOk()) {
    ++counts.executed;
    counts.digests.insert(file->digest);
  }
  return 0;
}
