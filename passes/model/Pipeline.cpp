//===- Pipeline.cpp - the phases of the model stage -----------------------------------===//

#include "passes/model/Passes.h"

void sluice::buildInput(mlir::OpPassManager &manager) {
  manager.addPass(createVerifyInput());
  manager.addPass(createMakeEvaluation());
}

void sluice::buildPrepare(mlir::OpPassManager &manager) {
  manager.addPass(createFreezeParameters());
  manager.addPass(createFlattenBlocks());
  manager.addPass(createCountLoss());
  manager.addPass(createApplyPrecision());
  // Before differentiation: a recomputed value must have the bits of the first one.
  manager.addPass(createFuse());
}

void sluice::buildDifferentiate(mlir::OpPassManager &manager) {
  manager.addPass(createDifferentiate());
  manager.addPass(createFuseBackward());
}

void sluice::buildOptimize(mlir::OpPassManager &manager) { manager.addPass(createApplyOptimizer()); }

void sluice::buildRecompute(mlir::OpPassManager &manager) {
  manager.addPass(createRecompute());
  manager.addPass(createRecordProgram());
  manager.addPass(createVerifyOutput());
}
