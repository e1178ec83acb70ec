//===- Options.h - the command line of sluice-compile -------------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_OPTIONS_H
#define SLUICE_TOOLS_COMPILE_OPTIONS_H

#include "passes/driver/CompileOptions.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

struct CompileCommand : CompileOptions {
  /// The plan, or IR, to write.
  std::string output;
  /// A plan to compare with the one that is compiled, which is not written; empty: none.
  std::string verify;
  /// Numbers of ranks, each of which gets a plan in the folder `output`; empty: one plan.
  std::vector<std::int64_t> worlds;
  /// Print the variants as JSON.
  bool json = false;
  bool printRecipe = false;
  /// Print the table of recipe keys and nothing else.
  bool recipeKeys = false;
};

/// As parseCommandLine: nullopt if `command` is complete and consistent, else the exit code.
std::optional<int> readCompileOptions(int argc, char **argv, CompileCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_OPTIONS_H
