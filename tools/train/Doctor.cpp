//===- Doctor.cpp - what this build and machine can run -----------------------------------===//
#include "tools/train/Doctor.h"

#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "runtime/base/Thread.h"
#include "runtime/base/cuda/Table.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/collective/mpi/MpiLink.h"
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/MachineMemory.h"

#include <cstdlib>
#include <dnnl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace sluice {
namespace {

std::string row(std::string_view name, std::string_view text) { return concat(padRight(name, 18), text, "\n"); }

/// The processor's name; "unknown" where the system has no such text.
std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string text; std::getline(file, text);)
    if (text.starts_with("model name") && text.find(": ") != std::string::npos)
      return text.substr(text.find(": ") + 2);
  return "unknown";
}

std::string limitText(int resource, bool isBytes) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0)
    return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY)
    return "unlimited";
  return isBytes ? formatBytes(limit.rlim_cur) : std::to_string(limit.rlim_cur);
}

/// "13.0" of 13000.
std::string driverVersion(int version) { return concat(version / 1000, ".", version % 1000 / 10); }
/// "2.28.3" of 22803.
std::string ncclVersion(int version) { return concat(version / 10000, ".", version / 100 % 100, ".", version % 100); }

std::string cudaLines(const Result<const cuda::Table *> &table) {
  const Result<std::span<const cuda::Image>> images = cuda::deviceImages();
  std::string text =
      row("CUDA code", images.isOk() ? concat(images->size(), " files of device code") : images.status().message());
  if (!table.isOk())
    return text + row("CUDA driver", table.status().message());
  const cuda::Table &found = **table;
  int version = 0, devices = 0;
  found.driver.driverVersion(&version);
  found.driver.deviceCount(&devices);
  text += row("CUDA driver", driverVersion(version));
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    int device = 0;
    char name[256] = "";
    if (found.driver.deviceGet(&device, ordinal) == 0 && found.driver.deviceName(name, sizeof name, device) == 0)
      text += row(concat("GPU ", ordinal), name);
  }
  int nccl = 0;
  if (found.ncclAbsence.isOk())
    found.nccl.version(&nccl);
  text += row("NCCL", found.ncclAbsence.isOk() ? ncclVersion(nccl) : found.ncclAbsence.message());
  return text +
         row("cuDNN", found.dnnAbsence.isOk() ? cuda::dnnVersionText(found.dnn.version()) : found.dnnAbsence.message());
}

std::string launcherText() {
  const Result<std::optional<Launch>> launch = readLaunch([](const char *name) { return std::getenv(name); }, {});
  if (!launch.isOk())
    return launch.status().message();
  return *launch ? concat((*launch)->launcher, ", rank ", (*launch)->rank, " of ", (*launch)->size)
                 : "not started by mpirun, torchrun or srun";
}

} // namespace

std::string doctorReport() {
  utsname system{};
  uname(&system);
  const dnnl_version_t &dnn = *dnnl_version();
  const Result<std::string> mpi = mpi::libraryVersion();
  const Result<const cuda::Table *> table = cuda::table();
  const std::string isa(machineIsa());

  std::string text = row("version", concat(versionText("sluice-train"), ", plan format ", planMajor, ".", planMinor,
                                           ", kernel catalogue ", catalogueVersion()));
  text += row("compiler", __VERSION__);
  text += row("system", concat(system.sysname, " ", system.release, " ", system.machine));
  text += row("processor", processorName());
  text += row("instruction set", isa);
  text += row("threads", concat(usableProcessors(), " of ", std::thread::hardware_concurrency(), " processors usable"));
  const std::uint64_t memory = machineMemory();
  text += row("memory", memory ? formatBytes(memory) + " with swap, or the control group's limit" : "unknown");
  text += row("limits", concat("locked memory ", limitText(RLIMIT_MEMLOCK, true), ", address space ",
                               limitText(RLIMIT_AS, true), ", stack ", limitText(RLIMIT_STACK, true), ", open files ",
                               limitText(RLIMIT_NOFILE, false), ", threads ", limitText(RLIMIT_NPROC, false)));
  text += row("oneDNN", concat(dnn.major, ".", dnn.minor, ".", dnn.patch));
  text += row("MPI", mpi.isOk() ? *mpi : mpi.status().message());
  text += cudaLines(table);
  text += row("launcher", launcherText());
  text += "\nruns here\n";
  text += row("  plans for cpu", isa == "avx512" ? "yes: target.isa avx2 or avx512"
                                 : isa == "avx2" ? "yes: target.isa avx2"
                                                 : "no: the machine has neither AVX2 nor AVX-512");
  text += row("  plans for cuda", table.isOk() ? "yes" : "no: " + table.status().message());
  text += row("  ranks", concat("threads; processes of torchrun or srun; processes of mpirun: ",
                                mpi.isOk() ? "yes" : "no: " + mpi.status().message()));
  return text;
}

} // namespace sluice
