//===- CompileOptions.h - the settings of a compilation --------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_COMPILEOPTIONS_H
#define SLUICE_PASSES_DRIVER_COMPILEOPTIONS_H

#include <string>
#include <vector>

namespace sluice {

struct PipelinePhase;

struct CompileOptions {
  /// The name of the model in messages: its file.
  std::string input;
  /// A TOML file; empty: none.
  std::string recipe;
  /// The text of a recipe, as TOML or as a JSON object with the same keys, after the file; empty: none.
  std::string recipeText = {};
  /// key=value, after the recipe.
  std::vector<std::string> settings;
  /// Settings of one variant of --what-if, after `settings`.
  std::vector<std::string> variant = {};
  /// Variants: KEY=V1,V2,... for each --what-if; `batch` or `sequence` for --fit.
  std::vector<std::string> whatIf;
  std::string fit;
  bool pareto = false;
  /// The machine of predicted times; empty: none.
  std::string machine;
  /// A folder for the IR after each phase, and a file for the choices of the planner; empty: none.
  std::string dumpPhases, decisions;
  /// The phase after which to stop; null: all.
  const PipelinePhase *last = nullptr;
  /// Write a plan, not IR.
  bool emits = true;

  /// Compile variants and compare them.
  bool comparesVariants() const { return !whatIf.empty() || pareto || !fit.empty(); }
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_COMPILEOPTIONS_H
