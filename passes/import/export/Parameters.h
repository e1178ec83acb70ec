//===- Parameters.h - parameters, states and constants of an imported module --------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_PARAMETERS_H
#define SLUICE_PASSES_IMPORT_EXPORT_PARAMETERS_H

#include "passes/import/export/GraphImport.h"
#include "runtime/base/Pt2Archive.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::exported {

/// The parameters and states of a module, which all its entry points share.
class Parameters {
public:
  explicit Parameters(mlir::ModuleOp module) : module(module) {}

  /// Finds tied parameters: those with the same bytes, read in the same way; those without bytes by `stated`, names of
  /// one parameter. Others that overlap are an error.
  Status findTies(const Program &program, const Pt2Archive &archive,
                  const std::vector<std::vector<std::string>> &stated);
  /// The buffers that the program writes become states.
  Status findStates(const Program &program, const Pt2Archive &archive);
  /// Sets what the archive stores for the inputs of the program: which parameters are frozen, and the constants.
  Status readStored(Program &program, const Pt2Archive &archive) const;
  bool isState(llvm::StringRef name) const { return states.contains(name.str()); }

  /// Gives each parameter, buffer and constant of the program its value: a parameter or state that is read, at the
  /// builder's place, or a constant. Declares those that are new.
  Status bind(mlir::ImplicitLocOpBuilder &builder, const Program &program, GraphImport &graphImport,
              GraphImport::Scope &scope);

  /// Names of those that no entry point reads, which are removed.
  std::vector<std::string> removeUnused();

private:
  mlir::ModuleOp module;
  /// Other names of a parameter to its first.
  std::map<std::string, std::string> ties;
  std::set<std::string> states;
  /// The last declaration.
  mlir::Operation *last = nullptr;

  /// The value of a parameter or state.
  Result<mlir::Value> read(mlir::ImplicitLocOpBuilder &builder, const Program &program, const std::string &name,
                           const TensorMeta &meta, bool isFrozen);
};

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_PARAMETERS_H
