//===- sluice-opt.cpp - runs passes on textual IR --------------------------------------===//
//
// An ordinary MlirOptMain: `sluice-opt in.mlir -model-flatten-blocks`, `-pass-pipeline=...`, `--mlir-timing`. The
// phases of the pipeline are registered as `-sluice-<phase>`.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline.h"
#include "runtime/base/Message.h"
#include "tools/Process.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  sluice::prepareProcess();
  mlir::DialectRegistry registry;
  sluice::registerSluiceDialects(registry);
  sluice::registerSluicePasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &out) { out << sluice::versionText("sluice-opt") << "\n"; });
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Sluice pass driver\n", registry));
}
