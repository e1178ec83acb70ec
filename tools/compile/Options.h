//===- Options.h - the command line of sluice-compile -------------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_OPTIONS_H
#define SLUICE_TOOLS_COMPILE_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct PipelinePhase;

struct CompileOptions {
  std::string input, recipe, output, dumpPhases, decisions;
  /// A plan to compare with the one that is compiled, which is not written; empty: none.
  std::string verify;
  std::vector<std::string> settings;
  /// Settings of one variant of --what-if, after `settings`.
  std::vector<std::string> variant = {};
  /// Variants: KEY=V1,V2,... for each --what-if; `batch` or `sequence` for --fit; the machine of predicted times.
  std::vector<std::string> whatIf;
  std::string fit, machine;
  bool pareto = false, json = false;
  /// The phase after which to write IR; null: all.
  const PipelinePhase *last = nullptr;
  /// Write a plan, not IR.
  bool emits = true;
  bool printRecipe = false;
  /// Print the table of recipe keys and nothing else.
  bool recipeKeys = false;

  /// Compile variants and compare them.
  bool comparesVariants() const { return !whatIf.empty() || pareto || !fit.empty(); }
};

/// As parseCommandLine: nullopt if `options` are complete and consistent, else the exit code.
std::optional<int> readCompileOptions(int argc, char **argv, CompileOptions &options);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_OPTIONS_H
