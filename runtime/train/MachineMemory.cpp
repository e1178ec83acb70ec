//===- MachineMemory.cpp - does a plan fit this machine? ------------------------===//
#include "runtime/train/MachineMemory.h"

#include "runtime/base/Text.h"
#include "runtime/plan/ProcessMemory.h"

#include <algorithm>
#include <cstdio>

namespace sluice {

/// Memory and swap of the machine.
static std::uint64_t totalMemory() {
  std::FILE *file = std::fopen("/proc/meminfo", "r");
  if (!file)
    return 0;
  char line[256];
  unsigned long long sum = 0, kibibytes = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "MemTotal: %llu", &kibibytes) == 1 || std::sscanf(line, "SwapTotal: %llu", &kibibytes) == 1)
      sum += kibibytes * 1024;
  std::fclose(file);
  return sum;
}

/// The memory limit of the container's control group; 0 for no limit ("max", or unreadable).
static std::uint64_t groupMemory() {
  std::FILE *file = std::fopen("/sys/fs/cgroup/memory.max", "r");
  if (!file)
    return 0;
  unsigned long long bytes = 0;
  const bool isLimit = std::fscanf(file, "%llu", &bytes) == 1;
  std::fclose(file);
  return isLimit ? bytes : 0;
}

std::uint64_t machineMemory() {
  const std::uint64_t total = totalMemory(), group = groupMemory();
  return total && group ? std::min(total, group) : std::max(total, group);
}

Status checkFitsMachine(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t limit) {
  if (limit == 0 || (plan.target && plan.target->device != "cpu"))
    return Status::ok();
  const std::uint64_t needed = predictedProcess(plan, ranks);
  if (needed <= limit)
    return Status::ok();
  return refusedError("memory of the " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                      " in this process, expected at most this machine's " + formatBytesExact(limit) + " but got " +
                      formatBytesExact(needed))
      .withNote("sluice-plan memory lists the largest buffers; with memory.budget in the recipe the compiler reports "
                "this error");
}

} // namespace sluice
