//===- WhatIf.cpp - sluice-compile --what-if, --pareto, --fit ---------------------------------===//
#include "tools/compile/WhatIf.h"

#include "passes/import/WriteOutput.h"
#include "tools/CommandLine.h"
#include "tools/compile/Fit.h"
#include "tools/compile/VariantReport.h"

#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// The variants of --pareto without --what-if. They change no bit of losses and weights.
const std::vector<std::string> paretoVariants = {
    "recompute.policy=none,block", "sharding.strategy=full_shard,shard_grad_op", "schedule.forward_prefetch=0,1",
    R"(memory.offload=[],["optimizer"],["parameters","optimizer"],["activations"])"};

Result<std::vector<CompiledVariant>> compileAll(const CompileOptions &options, mlir::ModuleOp module) {
  std::optional<Machine> machine;
  if (!options.machine.empty()) {
    SLUICE_ASSIGN_OR_RETURN(machine, readMachine(options.machine));
  }
  const bool isDefault = options.pareto && options.whatIf.empty();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Variant> variants,
                          combineVariants(isDefault ? paretoVariants : options.whatIf));
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

int compareVariants(const CompileOptions &options, mlir::ModuleOp module) {
  const Result<std::vector<CompiledVariant>> rows = compileAll(options, module);
  if (!rows.isOk())
    return report(rows.status());
  VariantReport variants{*rows, bestVariant(*rows, options.fit), {}};
  if (options.pareto)
    variants.front = paretoFront(*rows);
  if (variants.best && !options.output.empty()) {
    const std::span<const std::uint8_t> bytes = (*rows)[*variants.best].plan.span();
    if (Status written = writeOutput(options.output, llvm::toStringRef(llvm::ArrayRef(bytes.data(), bytes.size())));
        !written.isOk())
      return report(written);
  }
  return finish(options.json ? dumpJson(variants.toJson(), 2) + "\n" : variants.toText(), Status::ok(),
                variants.exitCode());
}

} // namespace sluice
