//===- Diagnostics.h - the compiler's diagnostics on stderr --------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H
#define SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <memory>

namespace sluice {

/// Prints diagnostics as they are emitted. A location in a file is shown with its line, one of the importer as its
/// module path.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context);
  ~Diagnostics();

private:
  /// To stderr, printable(): a file of IR may be that of somebody else.
  class Output;
  std::unique_ptr<Output> output;
  mlir::SourceMgrDiagnosticHandler printer;
  mlir::ScopedDiagnosticHandler withoutFile;
};

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_DIAGNOSTICS_H
