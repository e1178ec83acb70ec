//===- Gpus.h - the GPUs of a job, as a command line names them ---------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_GPUS_H
#define SLUICE_PASSES_DRIVER_FIT_GPUS_H

#include "runtime/report/machine/MachineFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct Gpus {
  /// As given: "h100-sxm-80gb", "24GiB".
  std::string type;
  /// For reports: the name in the machine file, or the bytes.
  std::string name;
  /// Ranks of the job, one for each GPU, and GPUs of a host.
  std::int64_t world = 1, hostDevices = 1;
  /// Bytes of a GPU.
  std::uint64_t memory = 0;
  /// With the rates of collectives within and between hosts, as many hosts as the ranks need; nullopt for bytes.
  std::optional<Machine> machine;

  /// Bytes that the process of a rank takes on a GPU in addition to tensors, as far as the machine file has them.
  std::uint64_t processBytes() const;
  /// Names of the figures of these bytes that are not known: all of them without a machine.
  std::vector<std::string> unknownProcessBytes() const;
};

/// Reads "8xTYPE", where TYPE is a machine file of `folder` by its name, the path of one, or bytes ("24GiB"). The 8
/// GPUs are the job, or, if `world` (0: not given) is larger, one of its hosts. The rates of collectives of a type come
/// from the file of the folder that describes hosts of that type, for any number of hosts. Usage errors for another
/// form, an unknown type, a file that is not for GPUs or has no bytes of memory, and a world that is no multiple of the
/// GPUs.
Result<Gpus> readGpus(const std::string &text, std::int64_t world, const std::string &folder);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_GPUS_H
