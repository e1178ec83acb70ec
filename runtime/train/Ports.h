//===- Ports.h - the ports of an entry point, and numbers into and out of them -----===//
#ifndef SLUICE_RUNTIME_TRAIN_PORTS_H
#define SLUICE_RUNTIME_TRAIN_PORTS_H

#include "runtime/train/Ranks.h"

#include <optional>

namespace sluice {

/// A port by name; null for an unknown name.
const plan::PortT *findInput(const plan::EntryT &entry, std::string_view name);
const plan::PortT *findOutput(const plan::EntryT &entry, std::string_view name);

/// Writes a scalar into an input port of every rank, in the port's dtype. Does nothing without such a port.
Status writeScalar(Ranks &ranks, const plan::EntryT &entry, std::string_view port, double value);
Status writeScalar(Ranks &ranks, const plan::EntryT &entry, std::string_view port, std::int64_t value);

/// Reads a scalar output of a rank; nullopt if the entry point has no such port.
Result<std::optional<double>> readScalar(const Ranks &ranks, const plan::EntryT &entry, std::string_view port,
                                         int rank = 0);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PORTS_H
