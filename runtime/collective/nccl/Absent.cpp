//===- Absent.cpp - a build without CUDA's collectives ------------------------------===//
#ifdef SLUICE_WITHOUT_CUDA
#include "runtime/base/cuda/Table.h"
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/collective/nccl/NcclWorld.h"

namespace sluice {

Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World>, int, const NcclOptions &) {
  Result<const cuda::Table *> table = cuda::table();
  return table.isOk() ? internalError("NCCL in a build without it") : table.takeStatus();
}

// The ranks use host memory, as those of a CPU, until the first of them finds no GPU.
std::shared_ptr<World> createVirtualRanks(int size) { return createLocalWorld(size); }

} // namespace sluice

#endif // SLUICE_WITHOUT_CUDA
