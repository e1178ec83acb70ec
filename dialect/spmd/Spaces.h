//===- Spaces.h - the memory space of a value ---------------------------------------===//
//
// The memory space is not part of the type, but an attribute of arguments and of ops (Names.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SPACES_H
#define SLUICE_DIALECT_SPMD_SPACES_H

#include "mlir/IR/Value.h"

namespace sluice::spmd {

/// True for an argument in host memory, a value copied there, a result of an op on the stream `host`, and a section's
/// result that is any of these.
bool isInHost(mlir::Value value);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_SPACES_H
