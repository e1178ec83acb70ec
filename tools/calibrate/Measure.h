//===- Measure.h - measurements of this machine -------------------------------------------------===//
//
// Kernels of one thread are measured in processor time, so that other work on the machine changes little; kernels of
// several threads, and latencies between threads, by the clock. Each number is a median.
//
// Between two uses of a tensor, a step uses others: what an op has just written is still in the caches, what the
// forward pass has saved is not. Each run therefore begins after a core's share of the caches was written, which leaves
// the operands at the border of the last level.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_CALIBRATE_MEASURE_H
#define SLUICE_TOOLS_CALIBRATE_MEASURE_H

#include "runtime/collective/Communicator.h"
#include "tools/calibrate/KernelCase.h"

namespace sluice {

struct MeasureOptions {
  /// Of each measurement.
  double seconds = 0.004;
  /// Written by each thread before each run of a kernel or collective.
  std::size_t displacedBytes = 0;
};

/// Bytes of the largest cache for each core that shares it, by the system's description of a core's caches in `folder`;
/// 8 MiB where it states none. At most 16 MiB: a virtual machine of few cores reports the cache of its host, and cores
/// have less (AMD EPYC with stacked caches 12 MiB).
std::size_t cacheShare(const std::string &folder = "/sys/devices/system/cpu/cpu0/cache");

/// Seconds of a run of the case with `threads` threads, while as many copies of it run as there are ranks. `bytes`:
/// those that the compiler counts.
struct KernelTime {
  double seconds = 0, bytes = 0;
};
Result<KernelTime> measureKernel(const KernelCase &kernel, int threads, int ranks, const MeasureOptions &options);

/// Seconds between two instructions of a stream, and from an event to the instruction of another stream that waits.
struct StreamTimes {
  double launch = 0, wait = 0;
};
Result<StreamTimes> measureStreams(const MeasureOptions &options);

/// Of a collective over ranks that are threads: seconds of a call that moves nothing, and seconds of each rank's
/// processor for each byte of the full tensor.
struct CollectiveTimes {
  double latency = 0, secondsPerByte = 0;
};
Result<CollectiveTimes> measureCollective(CallKind kind, int ranks, const MeasureOptions &options);

} // namespace sluice

#endif // SLUICE_TOOLS_CALIBRATE_MEASURE_H
