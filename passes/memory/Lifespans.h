//===- Lifespans.h - in which instructions a buffer lives ----------------------------===//
#ifndef SLUICE_PASSES_MEMORY_LIFESPANS_H
#define SLUICE_PASSES_MEMORY_LIFESPANS_H

#include "dialect/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Gives every buffer of an entry point that is used its lifespan, and where it is taken ahead, from the instructions as
/// they stand.
void setLifespans(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_LIFESPANS_H
