//===- MachineMemory.cpp - memory of this machine and process -------------------===//
#include "runtime/train/MachineMemory.h"

#include "runtime/base/Text.h"
#include "runtime/plan/ProcessMemory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>

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

/// The smaller of two limits, of which 0 is none.
static std::uint64_t smallerLimit(std::uint64_t a, std::uint64_t b) { return a && b ? std::min(a, b) : std::max(a, b); }

std::uint64_t controlGroupMemory(std::string_view groups, const std::string &mount) {
  std::uint64_t least = 0;
  std::istringstream lines{std::string(groups)};
  // "5:memory,hugetlb:/path" of version 1, "0::/path" of version 2.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool isSecond = controllers == ",,";
    if (!isSecond && controllers.find(",memory,") == std::string::npos)
      continue;
    const std::string root = isSecond ? mount : mount + "/memory",
                      file = isSecond ? "/memory.max" : "/memory.limit_in_bytes";
    // The limit of an outer group holds for the inner ones.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      while (path.ends_with('/'))
        path.pop_back();
      // No limit is "max", in version 1 the largest number of pages.
      constexpr std::uint64_t unlimited = std::uint64_t(1) << 62;
      std::uint64_t limit = 0;
      if (std::ifstream(concat(root, path, file)) >> limit && limit < unlimited)
        least = smallerLimit(least, limit);
      if (path.find('/') == std::string::npos)
        break;
    }
  }
  return least;
}

std::uint64_t machineMemory() {
  const std::uint64_t total = readKibibytes("/proc/meminfo", {"MemTotal:", "SwapTotal:"});
  std::stringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  return smallerLimit(total, controlGroupMemory(groups.str(), "/sys/fs/cgroup"));
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

Status checkAddressSpace(const plan::PlanT &plan, std::uint64_t ranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return Status::ok();
  // The stack of the thread that writes checkpoints, and slack.
  std::uint64_t needed = std::uint64_t(32) << 20;
  for (const ProcessTerm &term : processTerms(plan, ranks))
    needed += term.name == "arenas" ? 0 : term.bytes;
  void *room = mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return failedError(concat("address space of this process, expected at least ", formatBytesExact(needed),
                              " in addition to the arenas, but its limit is ", formatBytesExact(limit.rlim_cur)))
        .withNote("raise the limit: ulimit -v");
  munmap(room, needed);
  return Status::ok();
}

} // namespace sluice
