//===- PlanFolder.cpp - plans of one job for different numbers of ranks ---------------===//
#include "runtime/plan/PlanFolder.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

namespace sluice {

namespace fs = std::filesystem;

static constexpr std::string_view prefix = "world-", suffix = ".plan";

std::string planOfWorld(const std::string &folder, std::int64_t world) {
  return (fs::path(folder) / concat(prefix, world, suffix)).string();
}

/// Of the plans of a folder, descending.
static std::vector<std::int64_t> worldsOf(const std::string &folder) {
  std::vector<std::int64_t> worlds;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
      continue;
    std::int64_t world = 0;
    const char *last = name.data() + name.size() - suffix.size();
    if (const auto [rest, failure] = std::from_chars(name.data() + prefix.size(), last, world);
        failure == std::errc() && rest == last)
      worlds.push_back(world);
  }
  std::ranges::sort(worlds, std::greater());
  return worlds;
}

Result<std::string> choosePlan(const std::string &path, std::int64_t world) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path;
  const std::vector<std::int64_t> worlds = worldsOf(path);
  if (std::ranges::find(worlds, world) != worlds.end())
    return planOfWorld(path, world);
  const auto number = [](std::int64_t each) { return std::to_string(each); };
  const std::string has = worlds.empty() ? "it has no plan, which sluice-compile --worlds writes"
                                         : "it has plans for " + join(worlds, ", ", number) + " ranks";
  if (world == 0)
    return inputError(concat("'", path, "' is a folder of plans, but no launcher states the number of ranks"))
        .withNote(has + "; name one of its files, or start the ranks with mpirun, torchrun or srun");
  return inputError(concat("'", path, "' has no plan for ", world, world == 1 ? " rank" : " ranks"))
      .withNote(has)
      .withNote("start as many ranks, or compile another plan with sluice-compile --worlds");
}

} // namespace sluice
