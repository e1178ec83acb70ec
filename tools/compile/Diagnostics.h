//===- Diagnostics.h - the compiler's diagnostics on stderr --------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H
#define SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <memory>

namespace sluice {

/// Prints diagnostics as they are emitted, and remembers whether the memory budget was exceeded. A location in a file
/// is shown with its line, one of the importer as its module path.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context);
  ~Diagnostics();

  bool isOverBudget = false;

private:
  /// To stderr, printable(): a file of IR may be that of somebody else.
  class Output;
  std::unique_ptr<Output> output;
  mlir::SourceMgrDiagnosticHandler printer;
  mlir::ScopedDiagnosticHandler watcher;

  llvm::LogicalResult print(mlir::Diagnostic &diagnostic);
};

/// Keeps the first error of a context, with its module path, and prints no diagnostic.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context);

  /// Empty: there was no error.
  std::string text;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H
