//===- Model.cpp - the model of a command line ------------------------------------------------===//
#include "tools/compile/Model.h"

#include "passes/Pipeline.h"
#include "runtime/base/File.h"
#include "tools/CommandLine.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace sluice {
namespace {

/// Refuses a plan or another binary file, which the parser would report line by line.
Status checkIsModel(const std::string &path, llvm::StringRef bytes) {
  const bool isPlan = bytes.substr(4, 4) == "SLCE";
  if (!isPlan && (mlir::isBytecode(llvm::MemoryBufferRef(bytes, path)) || !bytes.contains('\0')))
    return Status::ok();
  return inputError(path + ": model, expected textual IR or bytecode but got a " +
                    (isPlan ? "plan (sluice-plan describe shows it)" : "binary file"));
}

Result<std::unique_ptr<llvm::MemoryBuffer>> readModel(const CompileOptions &options) {
  if (llvm::sys::fs::is_directory(options.input))
    return inputError(options.input + ": cannot read the model, expected a file but got a directory");
  // A pipe or a device might have no end; "-" is standard input.
  if (llvm::sys::fs::exists(options.input) && !llvm::sys::fs::is_regular_file(options.input))
    return inputError(options.input + ": cannot read the model, expected a regular file");
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(options.input, &problem);
  if (!file)
    return inputError(options.input + ": cannot read the model: " + problem);
  SLUICE_RETURN_IF_ERROR(checkIsModel(options.input, file->getBuffer()));
  return file;
}

Status prepareOutputs(const CompileOptions &options) {
  for (const std::string &output : {options.output, options.decisions})
    SLUICE_RETURN_IF_ERROR(checkNoInput(output, {options.input, options.recipe, options.machine}));
  if (options.dumpPhases.empty())
    return Status::ok();
  if (std::error_code error = llvm::sys::fs::create_directories(options.dumpPhases))
    return inputError(options.dumpPhases + ": cannot write the output: " + error.message());
  return Status::ok();
}

} // namespace

int withModel(const CompileOptions &options, llvm::function_ref<int(mlir::ModuleOp, const Diagnostics &)> run) {
  Result<std::unique_ptr<llvm::MemoryBuffer>> file = readModel(options);
  if (!file.isOk())
    return report(file.status());
  if (Status prepared = prepareOutputs(options); !prepared.isOk())
    return report(prepared);
  mlir::DialectRegistry registry;
  registerSluiceDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Errors show the line of the source; printing the op would hide it.
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  const Diagnostics diagnostics(*sources, &context);
  const mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(*sources, &context);
  return module ? run(module.get(), diagnostics) : static_cast<int>(StatusCode::input);
}

} // namespace sluice
