//===- Pipeline.cpp - the phases of the schedule stage ---------------------------------===//

#include "passes/schedule/Passes.h"

void sluice::buildPrefetch(mlir::OpPassManager &manager) {
  // Starts first: a gather's position does not depend on the waits for reductions.
  manager.addPass(createHoistGathers());
  manager.addPass(createSinkWaits());
  manager.addPass(createOrderUpdates());
  // Ordered updates of a unit are consecutive.
  manager.addPass(createMergeUpdates());
  // Updates of the last section are merged, and move as one op.
  manager.addPass(createHoistUpdates());
}

void sluice::buildLower(mlir::OpPassManager &manager) {
  manager.addPass(createLowerToPlan());
  // Before plan-place-destinations: a setting that moves a destination must not change fusions.
  manager.addPass(createFuseColumnSums());
  manager.addPass(createPlaceDestinations());
  // Before accumulation, which makes two launches of a gradient.
  manager.addPass(createFuseLoss());
  manager.addPass(createAccumulateInLaunches());
}

void sluice::buildStreams(mlir::OpPassManager &manager) {
  manager.addPass(createChooseKernels());
  manager.addPass(createAssignStreams());
  manager.addPass(createInsertEvents());
  manager.addPass(createElideEvents());
  manager.addPass(createVerifyStreams());
}
