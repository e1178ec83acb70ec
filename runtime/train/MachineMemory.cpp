//===- MachineMemory.cpp - memory of this machine and process -------------------===//
#include "runtime/train/MachineMemory.h"

#include "runtime/base/Text.h"
#include "runtime/plan/ProcessMemory.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace sluice {

/// The sum of the lines with these names of a file of the proc file system, in bytes; 0 if it cannot be read.
static std::uint64_t readKibibytes(const char *path, std::initializer_list<std::string_view> names) {
  std::uint64_t sum = 0, kibibytes = 0;
  std::ifstream file(path);
  for (std::string line, name; std::getline(file, line);)
    if (std::istringstream words(line); words >> name >> kibibytes && std::ranges::find(names, name) != names.end())
      sum += kibibytes * 1024;
  return sum;
}

std::uint64_t processHighWater() { return readKibibytes("/proc/self/status", {"VmHWM:"}); }

std::uint64_t restartProcessHighWater() {
  std::ofstream("/proc/self/clear_refs") << "5";
  return processHighWater();
}

std::uint64_t machineMemory() {
  const std::uint64_t total = readKibibytes("/proc/meminfo", {"MemTotal:", "SwapTotal:"});
  // The limit of the container's control group; no limit is "max".
  std::uint64_t group = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> group;
  return total && group ? std::min(total, group) : std::max(total, group);
}

Status checkFitsMachine(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t limit, bool writesCheckpoints) {
  const std::optional<std::uint64_t> needed = predictedProcess(plan, ranks, writesCheckpoints);
  if (limit == 0 || !needed || *needed <= limit)
    return Status::ok();
  return refusedError(concat("memory of the ", ranks, (ranks == 1 ? " rank" : " ranks"),
                             " in this process, expected at most this machine's ", formatBytesExact(limit), " but got ",
                             formatBytesExact(*needed)))
      .withNote("sluice-plan memory lists the largest buffers; with memory.budget in the recipe the compiler reports "
                "this error");
}

} // namespace sluice
