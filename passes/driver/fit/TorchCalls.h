//===- TorchCalls.h - the calls of FSDP2 that correspond to a setting ---------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_TORCHCALLS_H
#define SLUICE_PASSES_DRIVER_FIT_TORCHCALLS_H

#include "passes/driver/fit/FitResult.h"

namespace sluice {

/// Lines of Python that wrap `model` as the account of the row assumes: the mesh, MixedPrecisionPolicy, OffloadPolicy,
/// checkpoint wrappers, and fully_shard of each unit and of the root. The row's setting names a value of each
/// dimension.
std::string torchCalls(const FitRow &row);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_TORCHCALLS_H
