//===- Emulator.h - device kernels on the host ---------------------------------------===//
//
// Runs the body of a device kernel for every thread of every block. The threads of a block are fibers of one thread of
// the host: each runs until it reaches a barrier, then the next. They run in ascending or in random order: a kernel
// that lacks a barrier may give other results in another order, and is a race (Races.h). A barrier that some threads
// never reach is an error.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_EMULATOR_H
#define SLUICE_TEST_CUDA_EMULATOR_H

#include "runtime/base/cuda/Lane.h"
#include "test/cuda/Races.h"
#include "test/cuda/Traffic.h"

#include <cstddef>
#include <string>

namespace sluice::test {

/// A device kernel compiled for the host.
struct HostKernel {
  const char *name;
  void (*body)(const void *args, cuda::Lane lane);
  std::size_t argumentBytes;
  /// Set once a thread has reached a barrier: only then are fibers needed.
  bool *usesBarriers;
};

const HostKernel *findHostKernel(const std::string &name);

/// Runs a launch to its end; false with a reason in `error` if threads wait for each other without end.
bool emulate(const HostKernel &kernel, const void *args, std::uint64_t blocks, int threads, int shared,
             std::string &error);

/// Makes later launches run the blocks, and between two barriers the threads of a block, in a random order of this
/// seed; 0: in ascending order. Asynchronous copies are then carried out at random when they start or when they are
/// waited for, else when they start.
void setOrder(unsigned seed);

/// Counts the accesses of later launches, which must be on one stream; null: does not count.
void setTraffic(Traffic *traffic);

/// Checks the accesses of later launches, which must be on one stream; a launch with a race fails. Null: no check.
void setRaces(Races *races);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_EMULATOR_H
