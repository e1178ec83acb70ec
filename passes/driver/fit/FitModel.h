//===- FitModel.h - the model whose settings are compared ---------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_FITMODEL_H
#define SLUICE_PASSES_DRIVER_FIT_FITMODEL_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice {

/// Rows that a micro-batch of a model can have.
struct RowRange {
  std::int64_t least = 1;
  /// nullopt: no bound.
  std::optional<std::int64_t> most;
  /// The model has `least` rows and no other; 0: it does not state them.
  bool isFixed = false;
};

/// A file: the config.json of a model family (`.json`), an archive of torch.export (`.pt2`), or a module of the model
/// dialect (any other).
class FitModel {
public:
  /// Reads nothing. `sequence`: tokens of a row, required for a config.json; of another file the model states them, and
  /// 0 or the same number is accepted. `sizes`: the dynamic sizes of an archive other than its rows.
  FitModel(std::string path, std::int64_t sequence, std::map<std::string, std::int64_t> sizes)
      : path(std::move(path)), sequence(sequence), sizes(std::move(sizes)) {}

  /// The model for micro-batches of `rows`; of a file whose rows are not dynamic with its own rows, if 0 or the same
  /// number is given. No diagnostic is printed: the status has the first error. Thread-safe for different contexts.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build(mlir::MLIRContext *context, std::int64_t rows) const;

  /// The rows with which the model can be built; of an archive those of the dynamic first dim of its inputs. To be
  /// called before build().
  Result<RowRange> readRows(mlir::MLIRContext *context);

  /// True for a config.json.
  bool isConfig() const { return llvm::StringRef(path).ends_with(".json"); }

  /// True for an archive of torch.export, whose module returns the loss.
  bool isArchive() const { return llvm::StringRef(path).ends_with(".pt2"); }

  const std::string path;

private:
  /// The model as its file is, a config.json or an archive with `rows` unless they are 0.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> read(mlir::MLIRContext *context, std::int64_t rows) const;

  /// Of an archive: the rows are not dynamic.
  bool isStatic = false;
  const std::int64_t sequence;
  const std::map<std::string, std::int64_t> sizes;
};

/// Rows of a micro-batch and tokens of a row of a module; 0: it states none.
std::int64_t rowsOf(mlir::ModuleOp module);
std::int64_t sequenceOf(mlir::ModuleOp module);
/// Elements of all parameters.
std::uint64_t parametersOf(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_FITMODEL_H
