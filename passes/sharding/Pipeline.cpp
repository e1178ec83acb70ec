//===- Pipeline.cpp - the phase of the sharding stage ----------------------------------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/tensor/AxisSharding.h"

/// The options of a pass along one axis.
template <typename Options> static Options along(llvm::StringRef axis) {
  Options options;
  options.axis = axis.str();
  return options;
}

void sluice::buildPartition(mlir::OpPassManager &manager) {
  // The axes within a model first: all other passes see the model of one rank. Rows and experts, then parts of an op.
  for (llvm::StringRef axis : {llvm::StringRef(tensor::expertAxis), llvm::StringRef(tensor::tensorAxis)}) {
    manager.addPass(createShardParameters(along<sluice::ShardParametersOptions>(axis)));
    manager.addPass(createPropagateShardings(along<sluice::PropagateShardingsOptions>(axis)));
    manager.addPass(createInsertReshards(along<sluice::InsertReshardsOptions>(axis)));
    manager.addPass(createLocalize(along<sluice::LocalizeOptions>(axis)));
    manager.addPass(createLowerReshards());
  }
  // Placement next: all that follows reads units and dims off the IR.
  manager.addPass(createAssignUnits());
  // Arguments and sections, of global types. Parameters are still read and gradients still named.
  manager.addPass(createPartition());
  // Reshards of the data axes: one for each read and gradient, then one for each unit and scope.
  manager.addPass(createInsertDataReshards());
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
