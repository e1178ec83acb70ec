//===- Pipeline.cpp - the phase of the memory stage -----------------------------------===//

#include "passes/memory/Passes.h"

void sluice::buildMemory(mlir::OpPassManager &manager) {
  manager.addPass(createReuseInPlace());
  manager.addPass(createCarryEvents());
  manager.addPass(createMergeLaunches());
  manager.addPass(createComputeLifespans());
  manager.addPass(createPlaceBuffers());
  manager.addPass(createCheckBudget());
  manager.addPass(createVerifyMemory());
}
