//===- RacyKernels.cpp - kernels with and without a race ------------------------------------===//
//
// Compiled with the hooks of AccessHooks.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/RacyKernels.h"

namespace sluice::test {
namespace {

using cuda::Lane;

const RacyArgs &of(const void *args) { return *static_cast<const RacyArgs *>(args); }

void afterBarrier(const void *args, Lane lane) {
  int *shared = lane.shared<int>();
  shared[lane.thread()] = lane.thread();
  lane.sync();
  of(args).y[lane.block() * lane.threads() + lane.thread()] = shared[lane.threads() - 1 - lane.thread()];
}
void withoutBarrier(const void *args, Lane lane) {
  int *shared = lane.shared<int>();
  shared[lane.thread()] = lane.thread();
  lane.syncWarp();
  of(args).y[lane.block() * lane.threads() + lane.thread()] = shared[lane.threads() - 1 - lane.thread()];
}
/// Neighbours within a warp.
void inWarp(const void *args, Lane lane) {
  int *shared = lane.shared<int>();
  shared[lane.thread()] = lane.thread();
  lane.syncWarp();
  of(args).y[lane.block() * lane.threads() + lane.thread()] = shared[lane.thread() ^ 1];
}
/// All threads read, then one writes what the others have read.
void overwrites(const void *args, Lane lane) {
  int *shared = lane.shared<int>();
  if (lane.thread() == 0)
    shared[0] = 1;
  lane.sync();
  of(args).y[lane.block() * lane.threads() + lane.thread()] = shared[0];
  if (lane.thread() == 0)
    shared[0] = 2;
}
void sameElement(const void *args, Lane lane) {
  if (lane.thread() == 0)
    of(args).y[0] = static_cast<int>(lane.block());
}

bool barriers[5] = {};
const HostKernel kernels[] = {{"afterBarrier", afterBarrier, sizeof(RacyArgs), &barriers[0]},
                              {"withoutBarrier", withoutBarrier, sizeof(RacyArgs), &barriers[1]},
                              {"inWarp", inWarp, sizeof(RacyArgs), &barriers[2]},
                              {"overwrites", overwrites, sizeof(RacyArgs), &barriers[3]},
                              {"sameElement", sameElement, sizeof(RacyArgs), &barriers[4]}};

} // namespace

std::span<const HostKernel> racyKernels() { return kernels; }

} // namespace sluice::test
