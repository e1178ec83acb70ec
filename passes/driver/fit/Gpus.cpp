//===- Gpus.cpp - the GPUs of a job, as a command line names them -------------------------------===//
#include "passes/driver/fit/Gpus.h"

#include "passes/recipe/Recipe.h"
#include "runtime/base/Text.h"
#include "runtime/report/machine/MachineFolder.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice {
namespace {

constexpr std::int64_t mostGpus = std::int64_t(1) << 20;
/// Figures of a machine file: memory of a process that is not for tensors.
constexpr std::array processFigures = {"context_bytes", "library_bytes"};

Status formError(const std::string &text) {
  return {StatusCode::usage, "--gpus, expected COUNTxTYPE, as 8xh100-sxm-80gb or 8x24GiB, but got '" + text + "'"};
}

/// The machine of a name of the folder, with the collectives of its hosts; of a path, the file as it is.
Result<Machine> machineOf(const std::string &type, const std::string &folder) {
  const bool isPath = type.find('/') != std::string::npos || type.ends_with(".toml");
  if (isPath)
    return readMachine(type);
  const std::vector<std::string> names = machineNames(folder);
  if (!std::ranges::count(names, type))
    return Status(StatusCode::usage, "--gpus: unknown GPU '" + type + "', expected bytes as 24GiB, or one of " +
                                         join(names, ", ") + ", or the path of a machine file")
        .withNote("the machine files are those of '" + folder + "'");
  SLUICE_ASSIGN_OR_RETURN(Machine machine, readMachine(machinePath(folder, type)));
  if (!machine.times.hostDevices) {
    const std::string name = machine.name;
    SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> hosts, machineOfHosts(folder, type));
    if (hosts) {
      SLUICE_ASSIGN_OR_RETURN(machine, readMachine(*hosts));
      machine.name = name;
    }
  }
  // As many hosts as the ranks need.
  machine.times.hosts.reset();
  return machine;
}

} // namespace

std::uint64_t Gpus::processBytes() const {
  std::uint64_t bytes = 0;
  if (machine)
    for (const char *figure : processFigures)
      if (const std::optional<Machine::Value> &value = machine->figure(figure))
        bytes += value->value;
  return bytes;
}

std::vector<std::string> Gpus::unknownProcessBytes() const {
  std::vector<std::string> unknown;
  for (const char *figure : processFigures)
    if (!machine || !machine->figure(figure))
      unknown.emplace_back(figure);
  return unknown;
}

Result<Gpus> readGpus(const std::string &text, std::int64_t world, const std::string &folder) {
  Gpus gpus;
  const std::size_t cross = text.find('x');
  std::int64_t count = 0;
  const char *end = text.data() + std::min(cross, text.size());
  if (const auto [rest, error] = std::from_chars(text.data(), end, count);
      cross == std::string::npos || error != std::errc() || rest != end || count < 1 || count > mostGpus)
    return formError(text);
  gpus.type = text.substr(cross + 1);
  if (gpus.type.empty())
    return formError(text);
  gpus.world = world == 0 ? count : world;
  if (gpus.world % count != 0 || gpus.world > mostGpus)
    return Status(StatusCode::usage,
                  concat("--world, expected a multiple of the ", count, " GPUs of a host but got ", gpus.world))
        .withNote("--gpus gives the GPUs of one host, --world those of all");
  gpus.hostDevices = count;
  if (std::int64_t bytes = 0; parseByteCount(gpus.type, bytes) && bytes > 0) {
    gpus.memory = static_cast<std::uint64_t>(bytes);
    gpus.name = "GPU of " + formatBytes(gpus.memory);
    return gpus;
  }
  SLUICE_ASSIGN_OR_RETURN(gpus.machine, machineOf(gpus.type, folder));
  if (gpus.machine->device != "cuda")
    return Status(StatusCode::usage,
                  "--gpus: machine '" + gpus.machine->name + "' is for '" + gpus.machine->device + "', expected a GPU");
  gpus.name = gpus.machine->name;
  const std::optional<Machine::Value> &memory = gpus.machine->figure("memory_bytes");
  if (!memory)
    return Status(StatusCode::usage, "--gpus: machine '" + gpus.machine->name + "' has no 'memory_bytes'")
        .withNote("give the bytes of a GPU, as 8x24GiB");
  gpus.memory = memory->value;
  // Without --world all GPUs may be more than a host of the machine file has.
  std::optional<std::uint32_t> &devices = gpus.machine->times.hostDevices;
  if (world != 0 && world > count)
    devices = static_cast<std::uint32_t>(count);
  gpus.hostDevices = std::min<std::int64_t>(count, devices.value_or(static_cast<std::uint32_t>(count)));
  return gpus;
}

} // namespace sluice
