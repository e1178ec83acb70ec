//===- AxisPasses.h - the passes that divide ops along one axis ---------------------------===//
#ifndef SLUICE_PASSES_SHARDING_AXISPASSES_H
#define SLUICE_PASSES_SHARDING_AXISPASSES_H

#include "mlir/Pass/PassManager.h"

namespace sluice {

/// Shardings of parameters, of values and of operands along the axis, on global types.
void addAxisSharding(mlir::OpPassManager &manager, llvm::StringRef axis);
/// Then the types of one rank, and collectives.
void addAxisLocalization(mlir::OpPassManager &manager, llvm::StringRef axis);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_AXISPASSES_H
