//===- CostModel.h - predicted time of one instruction on a machine ---------------------------===//
//
// The time of an instruction that runs alone, from the FLOPs and bytes in the plan and the rates of a machine file
// (runtime/report/machine/MachineTimes.h). FLOPs are counted as multiplications and additions.
//
//   product, attention   flops / rate(size)
//   other kernels        bytes / rate(bytes), bytes read and written
//   on a GPU's host      bytes / min(host_memory_bytes_per_second, threads host_thread_bytes_per_second)
//   copy, fill           bytes / rate(bytes); between host and device bytes / host_copy_bytes_per_second
//   collective           of n ranks, d in each of h hosts, B bytes of full tensors, p = 2 for all_reduce, else 1:
//     host               latency(n) + B / rate(n)
//     ring               base + p ((n - h) link + (h - 1) network) + p (n - 1) / n B / bus
//     tree               base + 2 ((d - 1) link + log2(h) network) + 2 B / bus
//     direct             base + (d - 1) link + network + (n - d) / n B / bytes_per_second
//     bus                min(limit, d bytes_per_second) share(B / n)
//
// Ring and tree are the formulas of NCCL's tuning (github.com/NVIDIA/nccl, src/graph/tuning.cc). Direct is for
// all_to_all, in which each rank sends a chunk to every other rank of other hosts over its own connection. A rate
// between measured sizes is interpolated: along one size linearly in the logarithms, else as the mean of the logarithms
// of the four nearest points, weighted by the inverse square of their distance in the logarithms.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_SIMULATE_COSTMODEL_H
#define SLUICE_PASSES_SOLVER_SIMULATE_COSTMODEL_H

#include "runtime/report/machine/MachineFile.h"

#include <map>
#include <string>
#include <vector>

namespace sluice {

/// Seconds of an instruction that runs alone, every rank with cores for itself.
struct InstructionCost {
  /// Passes also while all cores are busy.
  double latency = 0;
  /// Needs the cores or the device.
  double work = 0;
  /// Threads that work.
  std::uint32_t threads = 1;
};

/// The group of a collective as the machine sees it.
struct GroupPlacement {
  std::uint64_t ranks = 1;
  /// Hosts with ranks of the group, and the most ranks that one of them has.
  std::uint64_t hosts = 1, ranksOfHost = 1;
};

class CostModel {
public:
  /// Both outlive the object.
  CostModel(const plan::PlanT &plan, const Machine &machine);

  /// Of a launch, collective, copy or fill; zero for the others. A rate that the machine does not have is added to
  /// unknown(), and the part of the time that needs it is zero.
  InstructionCost cost(const plan::InstructionT &instruction);

  /// Seconds of a copy, without the start of the instruction.
  double copySeconds(std::uint64_t bytes, plan::Space from, plan::Space to);

  GroupPlacement placement(std::span<const std::uint32_t> axes);

  /// The missing rates, by name, and the number of instructions that need each.
  const std::map<std::string, std::uint64_t> &unknown() const { return missing; }
  /// Rates that are used for other kernels or types, with the number of instructions.
  const std::map<std::string, std::uint64_t> &assumptions() const { return assumed; }

private:
  using Library = KernelRates::Library;
  InstructionCost launchCost(const plan::LaunchT &launch);
  /// Seconds of a launch on a GPU's host.
  double hostSeconds(std::uint64_t bytes);
  double collectiveSeconds(const plan::CollectiveT &collective, double &latency);
  /// Seconds of `amount` at the rate of a kernel.
  double seconds(const std::vector<KernelRates> &rates, const std::string &kernel, DType dtype, Library library,
                 const std::array<double, 3> &size, std::size_t sizes, double amount);
  /// The group of a kernel measured most like this one: of the same library if there is one.
  const KernelRates *findRates(const std::vector<KernelRates> &rates, const std::string &kernel, DType dtype,
                               Library library) const;

  const plan::PlanT &plan;
  const Machine &machine;
  std::map<std::string, std::uint64_t> missing, assumed;
  /// By axes: the collectives of a plan have few groups, of many ranks.
  std::map<std::vector<std::uint32_t>, GroupPlacement> placements;
};

/// True if the plan states that cuDNN computes the launch.
bool isByDnn(const plan::LaunchT &launch);

/// The rate of a group at a size; see above. `sizes` of the numbers are used.
double rateAt(const KernelRates &rates, const std::array<double, 3> &size, std::size_t sizes);

/// Latency and seconds of transfer of a collective by one row; nullopt if the row is not for this kind or placement.
struct CollectiveTime {
  double latency = 0, transfer = 0;
};
std::optional<CollectiveTime> collectiveTime(const CollectiveRates &rates, plan::CollectiveKind kind,
                                             const GroupPlacement &group, double bytes, bool fillsHosts);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_SIMULATE_COSTMODEL_H
