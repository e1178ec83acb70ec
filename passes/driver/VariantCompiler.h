//===- VariantCompiler.h - compiles variants of a model and recipe ----------------------------===//
#ifndef SLUICE_PASSES_DRIVER_VARIANTCOMPILER_H
#define SLUICE_PASSES_DRIVER_VARIANTCOMPILER_H

#include "passes/choose/CompiledPlan.h"
#include "passes/driver/CompileOptions.h"
#include "passes/driver/Variant.h"
#include "passes/import/HuggingFace.h"
#include "passes/solver/simulate/Prediction.h"

#include "mlir/IR/OwningOpRef.h"

namespace sluice {

struct CompiledVariant {
  Variant variant;
  /// Bytes of device memory that one rank requests: arena and workspace. nullopt if there is no plan.
  std::optional<std::uint64_t> peak;
  /// The class with most live bytes at the peak.
  std::string largestClass;
  std::uint64_t largestClassBytes = 0;
  /// Predicted step; nullopt without a machine, or if its file does not have every rate.
  std::optional<double> seconds;
  /// An error if there is no plan, or if it exceeds the budget or the memory of the machine, or is not for the machine.
  Status status;
  /// Empty if the status is an error.
  PlanBytes plan;

  bool isFeasible() const { return status.isOk(); }
};

class VariantCompiler {
public:
  /// The module of `options.input`, which is not changed, and null or the machine; all outlive the object.
  VariantCompiler(const CompileOptions &options, mlir::ModuleOp module, const Machine *machine)
      : options(options), module(module), machine(machine) {}

  /// Compiles as sluice-compile would with the settings of the variant. Prints nothing.
  CompiledVariant compile(const Variant &variant);

  /// Rows of a micro-batch or tokens of a row of the given model; 0: it states none.
  std::int64_t extent(std::string_view key) const;

  /// True if the recipe of the variant has a budget, or the machine's file the memory of the device.
  Result<bool> isLimited(const Variant &variant);

private:
  Result<CompiledPlan> emit(const Variant &variant);
  /// The model of the variant, which differs from the given one if the variant has a batch or sequence.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> moduleOf(const Variant &variant);
  /// Finds the options with which sluice-import created the given model.
  Status findImport(const std::string &key);
  /// The errors of CompiledVariant::status that a plan has.
  Status measure(const CompiledPlan &compiled, CompiledVariant &result) const;

  const CompileOptions &options;
  mlir::ModuleOp module;
  const Machine *machine;
  std::optional<ImportOptions> import;
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_VARIANTCOMPILER_H
