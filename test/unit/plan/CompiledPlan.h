//===- CompiledPlan.h - plans of the compiler for tests of the checker ---------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_COMPILEDPLAN_H
#define SLUICE_TEST_UNIT_PLAN_COMPILEDPLAN_H

#include "runtime/plan/Reader.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>

namespace sluice::test {

struct Recipe {
  const char *name;
  /// Arguments of sluice-import, or a file of the repository; and arguments of sluice-compile.
  std::string model;
  const char *settings;
};
inline void PrintTo(const Recipe &recipe, std::ostream *out) { *out << recipe.name; }

/// Imports and compiles with the tools of the build. The environment variable SLUICE_KEPT_PLANS names a folder in which
/// plans are kept for the next run. Throws if there is no plan.
inline plan::PlanT compile(const Recipe &recipe) {
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-compiled-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    throw std::runtime_error("cannot make a folder for plans");
  const std::string bin = SLUICE_TOOLS "/", model = folder + "/m.mlir", made = folder + "/m.plan";
  const char *keep = std::getenv("SLUICE_KEPT_PLANS");
  const std::size_t number = std::hash<std::string>()(recipe.model + "\n" + recipe.settings);
  const std::string path = keep ? std::string(keep) + "/" + std::to_string(number) + ".plan" : made;
  const std::string take = recipe.model.ends_with(".mlir") ? "cp " SLUICE_SOURCE_DIR "/" + recipe.model + " " + model
                                                           : bin + "sluice-import " + recipe.model + " -o " + model;
  if (!std::filesystem::exists(path) &&
      std::system((take + " && " + bin + "sluice-compile " + model + " " + recipe.settings + " -o " + made).c_str()) ==
          0)
    (void)std::rename(made.c_str(), path.c_str());
  Result<PlanFile> file = readPlan(path);
  std::filesystem::remove_all(folder);
  if (!file.isOk())
    throw std::runtime_error(std::string("no plan of ") + recipe.name);
  return std::move(file->plan);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_COMPILEDPLAN_H
