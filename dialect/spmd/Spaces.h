//===- Spaces.h - in which memory a value lies --------------------------------------===//
//
// Types do not say it: arguments do, and the ops that make values (Names.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SPACES_H
#define SLUICE_DIALECT_SPMD_SPACES_H

#include "mlir/IR/Value.h"

namespace sluice::spmd {

/// True for an argument in host memory, what a copy brought there, what an op of the stream "host" makes, and a
/// section's result that is any of these.
bool isInHost(mlir::Value value);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_SPACES_H
