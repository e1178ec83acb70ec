//===- Pipeline.cpp - the phase of the sharding stage ----------------------------------===//

#include "passes/sharding/Passes.h"

void sluice::buildPartition(mlir::OpPassManager &manager) {
  // One rank's part of each op first: all that follows sees a smaller model. Rows and experts, then what is within one.
  manager.addPass(createPartitionExpert());
  manager.addPass(createPartitionTensor());
  // Placement next: all that follows reads units and dims off the IR.
  manager.addPass(createAssignUnits());
  // Local types, arguments and sections. Whole values are still read and gradients still named.
  manager.addPass(createPartition());
  // Gathers before reductions: a unit's gradients are reduced behind its release.
  manager.addPass(createInsertGathers());
  manager.addPass(createInsertReductions());
  // Running statistics are no gradients: they are in no unit and in no reduction of one.
  manager.addPass(createSyncStatistics());
  // Until here an axis of one rank is an axis like others.
  manager.addPass(createFoldUnitAxes());
  // Copies between the memories: behind the fold, which takes collectives away.
  manager.addPass(createOffload());
  manager.addPass(createVerifySpmd());
}
