//===- Handshake.h - the same plan on every rank ----------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_HANDSHAKE_H
#define SLUICE_RUNTIME_EXECUTOR_HANDSHAKE_H

#include "runtime/collective/Communicator.h"
#include "runtime/plan/Plan.h"

namespace sluice {

/// Compares the plan's digest with that of all other ranks; called by each rank before its first collective. Every rank
/// gets the refusal, which names the ranks whose plan differs from rank 0's.
Status compareDigests(const plan::PlanT &plan, World &world, int rank);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_HANDSHAKE_H
