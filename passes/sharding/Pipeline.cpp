//===- Pipeline.cpp - the phase of the sharding stage ----------------------------------===//

#include "passes/sharding/AxisPasses.h"
#include "passes/sharding/Passes.h"

#include "passes/sharding/tensor/AxisSharding.h"

/// The options of a pass along one axis.
template <typename Options> static Options along(llvm::StringRef axis) {
  Options options;
  options.axis = axis.str();
  return options;
}

void sluice::addAxisSharding(mlir::OpPassManager &manager, llvm::StringRef axis) {
  manager.addPass(createShardParameters(along<sluice::ShardParametersOptions>(axis)));
  manager.addPass(createPropagateShardings(along<sluice::PropagateShardingsOptions>(axis)));
  manager.addPass(createInsertReshards(along<sluice::InsertReshardsOptions>(axis)));
}

void sluice::addAxisLocalization(mlir::OpPassManager &manager, llvm::StringRef axis) {
  manager.addPass(createLocalize(along<sluice::LocalizeOptions>(axis)));
  manager.addPass(createLowerReshards());
}

void sluice::buildPartition(mlir::OpPassManager &manager) {
  // The model-parallel axes first: all other passes see the model of one rank.
  for (llvm::StringRef axis : {stringifyAxisRole(AxisRole::expert), stringifyAxisRole(AxisRole::tensor)}) {
    addAxisSharding(manager, axis);
    addAxisLocalization(manager, axis);
  }
  // The later passes read units and dims from the IR.
  manager.addPass(createAssignUnits());
  // Arguments and sections, of global types, with model.read and model.gradient.
  manager.addPass(createPartition());
  // Reshards of the data axes: one for each read and gradient, then one for each unit and scope.
  manager.addPass(createInsertDataReshards());
  manager.addPass(createGroupReshards());
  // The program is correct; the policies of the units save communication.
  manager.addPass(createElideReshards());
  manager.addPass(createAccumulateGradients());
  // The loss of a rank is averaged over its micro-batches.
  manager.addPass(createReturnRankLosses());
  // Collectives have local operands.
  manager.addPass(createLocalizeUpdate());
  manager.addPass(createLowerReshards());
  manager.addPass(createJoinReductions());
  // Running statistics are in no unit.
  manager.addPass(createSyncStatistics());
  // All passes before treat an axis of one rank as any other.
  manager.addPass(createFoldUnitAxes());
  // After the fold, which removes collectives between which no copies are necessary.
  manager.addPass(createOffload());
  manager.addPass(createOffloadActivations());
  manager.addPass(createVerifySpmd());
}
