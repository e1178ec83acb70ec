//===- Diagnostics.h - diagnostics of a context that are not printed --------------------------===//
#ifndef SLUICE_PASSES_DRIVER_DIAGNOSTICS_H
#define SLUICE_PASSES_DRIVER_DIAGNOSTICS_H

#include "runtime/base/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace sluice {

/// True for a location in a file of IR.
bool hasFile(mlir::Location location);
/// " (at PATH)" with a module path of the source, as the importer names locations, the first one of an op that computes
/// several; empty if there is no path.
std::string pathOf(mlir::Location location);

/// Keeps the first error of a context, with its module path, and prints no diagnostic.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context);

  /// Empty: there was no error.
  std::string text;

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// Keeps all diagnostics of a context, each with its place: "m.mlir:3:5: TEXT" or "TEXT (at h.0.attn)".
class DiagnosticList {
public:
  explicit DiagnosticList(mlir::MLIRContext *context);

  struct Entry {
    std::string text;
    std::vector<std::string> notes;
  };
  std::vector<Entry> errors, warnings, remarks;

  /// The failure with the first error as its message; notes are those of the errors, the other errors, and the
  /// message and notes of the failure, whose message is left out if it `isEmitted` as the error. Without an error the
  /// failure itself.
  Status explain(Status failure, bool isEmitted = false) const;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_DIAGNOSTICS_H
