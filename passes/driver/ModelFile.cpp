//===- ModelFile.cpp - files of models, and their context -------------------------------------===//
#include "passes/driver/ModelFile.h"

#include "passes/Pipeline.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"

namespace sluice {

static Status checkIsModel(const std::string &path, llvm::StringRef bytes) {
  const bool isPlan = bytes.substr(4, 4) == "SLCE";
  if (!isPlan && (mlir::isBytecode(llvm::MemoryBufferRef(bytes, path)) || !bytes.contains('\0')))
    return Status::ok();
  return inputError(path + ": model, expected textual IR or bytecode but got a " +
                    (isPlan ? "plan (sluice-plan describe shows it)" : "binary file"));
}

Result<std::unique_ptr<llvm::MemoryBuffer>> readModelFile(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return inputError(path + ": cannot read the model, expected a file but got a directory");
  // A pipe or a device might have no end.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return inputError(path + ": cannot read the model, expected a regular file");
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(path, &problem);
  if (!file)
    return inputError(path + ": cannot read the model: " + problem);
  SLUICE_RETURN_IF_ERROR(checkIsModel(path, file->getBuffer()));
  return file;
}

std::unique_ptr<mlir::MLIRContext> createContext() {
  mlir::DialectRegistry registry;
  registerSluiceDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
}

} // namespace sluice
