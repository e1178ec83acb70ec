//===- ModelFile.h - files of models, and their context ---------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_MODELFILE_H
#define SLUICE_PASSES_DRIVER_MODELFILE_H

#include "runtime/base/Status.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace sluice {

/// The bytes of a regular file, or of standard input for "-". An input error for a plan or another binary file, which
/// the parser would report line by line.
Result<std::unique_ptr<llvm::MemoryBuffer>> readModelFile(const std::string &path);

/// A context without threads that has the dialects of all phases. Errors do not print the op, which would hide the line
/// of the source.
std::unique_ptr<mlir::MLIRContext> createContext();

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_MODELFILE_H
