//===- WhatIf.cpp - sluice-compile --what-if, --pareto, --fit ---------------------------------===//
#include "passes/driver/WhatIf.h"

#include "passes/driver/Fit.h"

namespace sluice {
namespace {

/// The variants of --pareto without --what-if. They change no bit of losses and weights.
std::vector<std::string> paretoVariants() {
  return {"recompute.policy=none,block", "sharding.strategy=full_shard,shard_grad_op", "schedule.forward_prefetch=0,1",
          R"(memory.offload=[],["optimizer"],["parameters","optimizer"],["activations"])"};
}

Result<std::vector<CompiledVariant>> compileAll(const CompileOptions &options, mlir::ModuleOp module) {
  std::optional<Machine> machine;
  if (!options.machine.empty()) {
    SLUICE_ASSIGN_OR_RETURN(machine, readMachine(options.machine));
  }
  const bool isDefault = options.pareto && options.whatIf.empty();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Variant> variants,
                          combineVariants(isDefault ? paretoVariants() : options.whatIf));
  VariantCompiler compiler(options, module, machine ? &*machine : nullptr);
  std::vector<CompiledVariant> rows;
  for (const Variant &variant : variants) {
    if (options.fit.empty())
      rows.push_back(compiler.compile(variant));
    else
      for (CompiledVariant &row : fitExtent(compiler, variant, options.fit))
        rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

Result<VariantReport> compareVariants(const CompileOptions &options, mlir::ModuleOp module) {
  VariantReport report;
  SLUICE_ASSIGN_OR_RETURN(report.rows, compileAll(options, module));
  report.best = bestVariant(report.rows, options.fit);
  if (options.pareto)
    report.front = paretoFront(report.rows);
  return report;
}

} // namespace sluice
