//===- Poison.h - overwrites bytes whose lifespan has ended --------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_POISON_H
#define SLUICE_RUNTIME_EXECUTOR_POISON_H

#include "runtime/executor/InstructionObserver.h"

namespace sluice {

/// An observer that fills the bytes of each buffer after the last instruction of its lifespan, the workspace of each
/// launch after it, and all bytes that no entry point keeps before a run that follows a different entry point. Bytes of
/// persistent buffers and of ports are not filled. The pattern is NaN of every float type in the odd runs of entry
/// points, and random bits in the even ones, because a maximum or a comparison can drop a NaN. A plan whose lifespans
/// are right gives the same bits as without.
ObserverFactory poisonObserver();

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_POISON_H
