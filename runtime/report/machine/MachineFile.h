//===- MachineFile.h - descriptions of devices, and the memory of a rank's process on one ---===//
//
// tools/machines has one TOML file per device: figures from its data sheet and measured figures. Each figure states
// which of the two it is; an unmeasured one is "unknown", and so is a result that needs it. The tables of
// MachineTimes.h are for predictions of time. A file with `base` has the keys of that file and replaces some of them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFILE_H
#define SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFILE_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/report/machine/MachineTimes.h"

#include <array>
#include <string>
#include <vector>

namespace sluice {

struct MachineFigure {
  std::string_view name;
  /// A description for the reader.
  std::string_view what;
  /// No data sheet has it.
  bool measuredOnly = false;
};

/// In the order in which files have them.
inline constexpr std::array<MachineFigure, 7> machineFigures = {{
    {"memory_bytes", "memory of the device"},
    {"memory_bytes_per_second", "bandwidth of its memory"},
    {"link_bytes_per_second", "bandwidth to other devices, both ways together"},
    {"bf16_flops_per_second", "dense products in bf16"},
    {"context_bytes", "the driver's context of a process", true},
    {"library_bytes", "code and state of cuBLASLt and our kernels", true},
    {"communicator_bytes", "one communicator of NCCL", true},
}};

struct Machine {
  std::string name;
  /// As target.device and target.arch of a recipe.
  std::string device, arch;
  struct Value {
    std::uint64_t value = 0;
    /// "datasheet" or "measured".
    std::string from;
  };
  /// Indexed as machineFigures; nullopt if it is unknown.
  std::array<std::optional<Value>, machineFigures.size()> figures;
  MachineTimes times;

  const std::optional<Value> &figure(std::string_view figureName) const;
  /// FLOP/s of dense products with inputs of this type, of a GPU or of all cores of a CPU; nullopt if it is unknown.
  std::optional<double> peakFlops(DType dtype) const;
};

/// Reads a description. An input error names the file and, if known, the line.
Result<Machine> readMachine(const std::string &path);
/// The same from a file's text; `path` is for messages.
Result<Machine> parseMachine(const std::string &text, const std::string &path);

/// 90 of "sm_90"; nullopt if the text is not the architecture of a GPU.
std::optional<int> architectureNumber(std::string_view text);

/// An error if the plan is not for the machine's device.
Status checkMachine(const plan::PlanT &plan, const Machine &machine);

/// Machine::peakFlops of one rank: all ranks share a CPU.
std::optional<double> rankPeakFlops(const plan::PlanT &plan, const Machine &machine, DType dtype);

/// The device memory of the process of one rank on a GPU.
struct DeviceShare {
  struct Term {
    std::string_view name;
    std::uint64_t count = 1;
    /// For all `count`; nullopt if the machine's file does not have it.
    std::optional<std::uint64_t> bytes;
  };
  std::vector<Term> terms;
  /// The sum of the known terms; complete if all are known.
  std::uint64_t known = 0;
  std::optional<std::uint64_t> total;
};
/// An error if the plan is not for the machine's device, or if that is the CPU.
Result<DeviceShare> deviceShare(const plan::PlanT &plan, const Machine &machine);

std::string machineText(const Machine &machine, const DeviceShare &share);
Json machineJson(const Machine &machine, const DeviceShare &share);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFILE_H
