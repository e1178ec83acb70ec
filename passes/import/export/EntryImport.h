//===- EntryImport.h - entry points from one program of an archive -------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ENTRYIMPORT_H
#define SLUICE_PASSES_IMPORT_EXPORT_ENTRYIMPORT_H

#include "passes/import/export/Import.h"
#include "passes/import/export/Parameters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::exported {

/// Builds `train_step` or `eval_step` from a program, and the entry points of its other outputs.
class EntryImport {
public:
  /// All outlive the import. `shape`: of a further train entry point, whose name has it.
  EntryImport(mlir::ModuleOp module, Parameters &parameters, const Program &program, const ExportOptions &options,
              EntryKind kind, std::optional<RowShape> shape = std::nullopt)
      : module(module), parameters(parameters), program(program), options(options), kind(kind), shape(shape),
        builder(module.getLoc(), module.getContext()), graphImport(builder, options.dropout) {}

  /// `hasOutputs`: outputs other than the loss get entry points. `rows`: of the micro-batch, which all entry points
  /// have; set by the first.
  Status run(bool hasOutputs, std::optional<std::int64_t> &rows, ExportReport &report);
  /// What may be a mistake of the user.
  void warn(ExportReport &report) const;

private:
  mlir::ModuleOp module;
  Parameters &parameters;
  const Program &program;
  const ExportOptions &options;
  EntryKind kind;
  std::optional<RowShape> shape;
  mlir::ImplicitLocOpBuilder builder;
  GraphImport graphImport;
  GraphImport::Scope scope;
  mlir::func::FuncOp function;
  /// The value of the loss in the graph, and the outputs that are not the loss.
  std::string loss;
  std::vector<OutputSpec> outputs;

  /// Makes the function with its inputs.
  Status begin();
  /// Returns the loss and writes the states; other outputs get entry points of their own.
  Status finish(ExportReport &report);
  /// Removes inputs that nothing reads; the others have equally many rows.
  Status finishInputs(mlir::func::FuncOp entry, std::optional<std::int64_t> &rows);
  Status problems(const std::set<std::size_t> &blocking) const;
};

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ENTRYIMPORT_H
