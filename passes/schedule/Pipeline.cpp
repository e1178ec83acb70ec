//===- Pipeline.cpp - the phases of the schedule stage ---------------------------------===//

#include "passes/schedule/Passes.h"

void sluice::buildPrefetch(mlir::OpPassManager &manager) {
  // Starts first: a gather's place does not depend on where a reduction is waited for.
  manager.addPass(createHoistGathers());
  manager.addPass(createSinkWaits());
}
