//===- MachineTimes.h - rates and latencies of a machine, for predictions of time -------------===//
//
// The part of a machine file (MachineFile.h) from which passes/solver/simulate predicts the time of a step. Each group
// of rates has a source: measured by `sluice-plan calibrate`, or published at an address. A rate that is missing makes
// the results that need it unknown.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MACHINE_MACHINETIMES_H
#define SLUICE_RUNTIME_REPORT_MACHINE_MACHINETIMES_H

#include "runtime/base/DType.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Rates of one kernel at several sizes.
struct KernelRates {
  /// A name of the kernel catalogue, or "*": kernels without a group of rates.
  std::string kernel;
  DType dtype = DType::f32;
  /// Whose kernel has these rates; `any`: not stated.
  enum class Library : std::uint8_t { any, own, cudnn } library = Library::any;
  /// The measurement: threads of a rank, and ranks that ran at the same time, each on separate cores.
  std::uint32_t threads = 1, ranks = 1;
  struct Point {
    /// Products: m, n, k. Attention: length of the sequence, size of a head, 1. Streaming: bytes read and written,
    /// 1, 1.
    std::array<double, 3> size = {1, 1, 1};
    /// FLOP/s; of streaming kernels, bytes/s.
    double perSecond = 0;
  };
  std::vector<Point> points;
};

/// A way to run collectives; the fastest one that is known for a group counts.
struct CollectiveRates {
  /// `host`: measured within one host. `ring`, `tree` and `direct`: over several hosts, by the formulas of CostModel.h.
  enum class Algorithm : std::uint8_t { host, ring, tree, direct } algorithm = Algorithm::host;
  bool allGather = false, reduceScatter = false, allReduce = false, allToAll = false;
  /// `host`: latency and bytes of the full tensors per second, by the number of ranks.
  struct Point {
    double ranks = 0, latency = 0, bytesPerSecond = 0;
  };
  std::vector<Point> points;
  /// `ring`, `tree` and `direct`, in seconds: once, for each step within a host, for each step between hosts.
  double base = 0, link = 0, network = 0;
  /// Bus bandwidth of each rank that a host has in the group, and of all of them together.
  double bytesPerSecond = 0, limit = 0;
  /// Share of the bandwidth by bytes of one rank's chunk, for groups of all devices of their hosts; empty: all of it.
  struct Share {
    double bytes = 0, share = 1;
  };
  std::vector<Share> shares;
};

struct MachineConstant {
  std::string_view name;
  /// A description for the reader.
  std::string_view what;
};
inline constexpr std::array<MachineConstant, 10> machineConstants = {{
    {"f32_flops_per_second", "dense products in f32"},
    {"bf16_flops_per_second", "dense products in bf16"},
    {"f16_flops_per_second", "dense products in f16"},
    {"f64_flops_per_second", "dense products in f64"},
    {"launch_seconds", "time between two instructions of a stream"},
    {"wait_seconds", "time from an event to the instruction that waits for it"},
    {"host_copy_bytes_per_second", "copies between host and device"},
    {"host_memory_bytes_per_second", "kernels on the host of a GPU, one rank's share of the host's memory"},
    {"host_thread_bytes_per_second", "kernels on the host of a GPU, of one thread"},
    {"cores", "processor cores that the ranks of the machine share"},
}};

struct MachineTimes {
  /// Indexed as machineConstants; nullopt if it is unknown.
  std::array<std::optional<double>, machineConstants.size()> constants;
  std::vector<KernelRates> products, attention, streaming;
  std::vector<CollectiveRates> collectives;
  /// Devices of a host, and hosts; nullopt: all ranks are on one host, as many hosts as the ranks need.
  std::optional<std::uint32_t> hostDevices, hosts;

  const std::optional<double> &constant(std::string_view name) const {
    std::size_t c = 0;
    while (c + 1 < machineConstants.size() && machineConstants[c].name != name)
      ++c;
    return constants[c];
  }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MACHINE_MACHINETIMES_H
