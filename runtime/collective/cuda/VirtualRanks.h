//===- VirtualRanks.h - ranks that are threads of this process and share one GPU ----===//
//
// NCCL refuses two ranks on one device; this world connects any number of them, so that every sharded plan can be
// tested and measured on a single GPU. Members meet at issue, as threads: they compare their calls and exchange the
// events and addresses of their streams; then each enqueues its part of the work on its stream, after all members'
// events. Reductions are `ordered`: ((x0 + x1) + x2) + ..., to the bit those of the `local` communicator on a CPU. A
// call without a stream is one of host memory, by the `local` communicator itself.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_CUDA_VIRTUALRANKS_H
#define SLUICE_RUNTIME_COLLECTIVE_CUDA_VIRTUALRANKS_H

#include "runtime/collective/Communicator.h"

namespace sluice {

std::shared_ptr<World> createVirtualRanks(int size);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_CUDA_VIRTUALRANKS_H
