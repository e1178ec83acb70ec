//===- Ports.h - the ports of an entry point, and numbers into and out of them -----===//
#ifndef SLUICE_RUNTIME_TRAIN_PORTS_H
#define SLUICE_RUNTIME_TRAIN_PORTS_H

#include "runtime/plan/Roles.h"
#include "runtime/train/Ranks.h"

#include <optional>

namespace sluice {

/// Writes a scalar into the input of a role on every rank, in the port's dtype. Does nothing without such a port.
Status writeScalar(Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, double value);
Status writeScalar(Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, std::int64_t value);

/// Reads a scalar output of a rank; nullopt if the entry point has no such port.
Result<std::optional<double>> readScalar(const Ranks &ranks, const plan::EntryT &entry, plan::PortRole role,
                                         int rank = 0);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PORTS_H
