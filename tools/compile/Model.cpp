//===- Model.cpp - the model of a command line ------------------------------------------------===//
#include "tools/compile/Model.h"

#include "passes/driver/ModelFile.h"
#include "runtime/base/File.h"
#include "tools/CommandLine.h"
#include "tools/compile/Diagnostics.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

namespace sluice {

static Status prepareOutputs(const CompileCommand &command) {
  for (const std::string &output : {command.output, command.decisions})
    SLUICE_RETURN_IF_ERROR(checkNoInput(output, {command.input, command.recipe, command.machine}));
  if (command.dumpPhases.empty())
    return Status::ok();
  if (std::error_code error = llvm::sys::fs::create_directories(command.dumpPhases))
    return inputError(command.dumpPhases + ": cannot write the output: " + error.message());
  return Status::ok();
}

int withModel(const CompileCommand &command, llvm::function_ref<int(mlir::ModuleOp)> run) {
  Result<std::unique_ptr<llvm::MemoryBuffer>> file = readModelFile(command.input);
  if (!file.isOk())
    return report(file.status());
  if (Status prepared = prepareOutputs(command); !prepared.isOk())
    return report(prepared);
  const std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  const Diagnostics diagnostics(*sources, context.get());
  const mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(*sources, context.get());
  return module ? run(module.get()) : static_cast<int>(StatusCode::input);
}

} // namespace sluice
