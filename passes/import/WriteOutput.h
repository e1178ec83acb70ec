//===- WriteOutput.h - atomic writing of files -------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_WRITEOUTPUT_H
#define SLUICE_PASSES_IMPORT_WRITEOUTPUT_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace sluice {

/// Writes to a temporary file in the folder of `path`, then renames it; `-` is standard output.
Status writeOutput(const std::string &path, llvm::StringRef bytes);

/// The module as text, with locations.
std::string printModule(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_WRITEOUTPUT_H
