//===- Lifespans.h - lifespans of buffers --------------------------------------------===//
#ifndef SLUICE_PASSES_MEMORY_LIFESPANS_H
#define SLUICE_PASSES_MEMORY_LIFESPANS_H

#include "dialect/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Sets the lifespan of every used buffer of an entry point, and the position from which it is reserved in the run
/// before, from the current order of instructions.
void setLifespans(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_LIFESPANS_H
