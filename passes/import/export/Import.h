//===- Import.h - from a torch.export archive to a model -----------------------------------===//
//
// The training program of any PyTorch module, as torch.export.save writes it. Python, torch and pickle are not needed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_IMPORT_H
#define SLUICE_PASSES_IMPORT_EXPORT_IMPORT_H

#include "passes/import/Shapes.h"
#include "passes/import/export/Report.h"
#include "passes/import/export/Symbols.h"
#include "runtime/base/Pt2Archive.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::exported {

struct ExportOptions {
  /// Values of dynamic sizes.
  SymbolValues symbols;
  /// The dynamic first dim of inputs.
  std::optional<std::int64_t> batch;
  /// Rows and tokens of train entry points over the same parameters, in place of `batch`; empty: one entry point.
  std::vector<RowShape> shapes;
  /// The output that is the loss; empty: the one named `loss`, else the only scalar.
  std::string loss;
  /// Inputs that are tokens, with the size of their vocabulary: they are read as 32-bit integers below it.
  std::map<std::string, std::int64_t> tokens;
  /// Values that become outputs besides those of the module (Outputs.h).
  std::vector<std::string> outputs;
  /// Leaves out the entry points of outputs other than the loss.
  bool trainOnly = false;
  /// Globs of the modules that are blocks; none: the rule of Modules.h.
  std::vector<std::string> blocks;
  /// Replaces the rate of every dropout.
  std::optional<double> dropout;
  bool allowDecomposed = false;
  /// Gives parameters the initial values of their modules' types (Initialize.h).
  bool initialize = false;
};

/// A parameter or state of the model, to write into a file of weights.
struct ExportedWeight {
  std::string name;
  const Pt2Tensor *tensor;
};

struct ImportedArchive {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ExportReport report;
  std::shared_ptr<const Pt2Archive> archive;
  /// In the order of the module.
  std::vector<ExportedWeight> weights;
};

/// A page with the ops of ATen that are imported, as Markdown.
std::string supportedOps();

Result<ImportedArchive> importArchive(mlir::MLIRContext *context, const std::string &path,
                                      const ExportOptions &options);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_IMPORT_H
