//===- OffloadRule.h - which activations are worth a copy to host memory ---------------------===//
#ifndef SLUICE_PASSES_SOLVER_OFFLOADRULE_H
#define SLUICE_PASSES_SOLVER_OFFLOADRULE_H

#include <cstdint>

namespace sluice {

/// Values of fewer bytes stay on the device: starting a copy takes longer than copying them. The default of torchtune's
/// OffloadActivations.
inline constexpr std::int64_t leastOffloadedBytes = 1024;

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_OFFLOADRULE_H
