//===- Options.h - the command line of sluice-compile -------------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_OPTIONS_H
#define SLUICE_TOOLS_COMPILE_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct PipelinePhase;

struct CompileOptions {
  std::string input, recipe, output, dumpPhases;
  /// A plan to compare with the one that is compiled, which is not written; empty: none.
  std::string verify;
  std::vector<std::string> settings;
  /// The phase after which to write IR; null: all.
  const PipelinePhase *last = nullptr;
  /// Write a plan, not IR.
  bool emits = true;
  bool printRecipe = false;
  /// Print the table of recipe keys and nothing else.
  bool recipeKeys = false;
};

/// As parseCommandLine: nullopt if `options` are complete and consistent, else the exit code.
std::optional<int> readCompileOptions(int argc, char **argv, CompileOptions &options);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_OPTIONS_H
