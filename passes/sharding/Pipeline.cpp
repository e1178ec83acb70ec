//===- Pipeline.cpp - the phase of the sharding stage ----------------------------------===//

#include "passes/sharding/Passes.h"

void sluice::buildPartition(mlir::OpPassManager &manager) {
  // One rank's part of each op first: all that follows sees a smaller model. Rows and experts, then what is within one.
  manager.addPass(createPartitionExpert());
  manager.addPass(createPartitionTensor());
  // Placement next: all that follows reads units and dims off the IR.
  manager.addPass(createAssignUnits());
  // Arguments and sections, of global types. Parameters are still read and gradients still named.
  manager.addPass(createPartition());
  // Reshards of the data axes: one for each read and gradient, then one for each unit and scope.
  manager.addPass(createInsertReshards());
  manager.addPass(createGroupReshards());
  // Required work is done; the policies of the units follow.
  manager.addPass(createElideReshards());
  manager.addPass(createAccumulateGradients());
  // Collectives have local operands.
  manager.addPass(createLocalizeUpdate());
  manager.addPass(createLowerReshards());
  manager.addPass(createJoinReductions());
  // Running statistics are no gradients: they are in no unit and in no reduction of one.
  manager.addPass(createSyncStatistics());
  // Until here an axis of one rank is an axis like others.
  manager.addPass(createFoldUnitAxes());
  // Copies between the memories: behind the fold, which takes collectives away.
  manager.addPass(createOffload());
  manager.addPass(createVerifySpmd());
}
