//===- Nvtx.cpp - named ranges for NVIDIA's profilers ------------------------------------===//
//
// The library's entry point takes a function that returns tables by number; one table has a function that returns, for
// each module of the interface, slots for functions. The library fills the slots of the functions that it implements.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/cuda/Nvtx.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

namespace sluice::cuda {
namespace {

using FunctionPointer = void (*)();
enum : unsigned { moduleCore = 1, moduleCuda = 2, moduleCount = 7 };
enum : unsigned { coreRangePush = 9, coreRangePop = 11, cudaNameStream = 5 };
/// Places of each module, the unused first one among them.
constexpr unsigned placeCounts[moduleCount] = {0, 16, 9, 15, 7, 16, 7};
constexpr unsigned mostPlaces = 16;

FunctionPointer places[moduleCount][mostPlaces];
/// Pointers to the places, with null before and behind them.
FunctionPointer *tables[moduleCount][mostPlaces + 1];

int functionTable(int module, FunctionPointer ***table, unsigned *count) {
  if (module <= 0 || module >= static_cast<int>(moduleCount))
    return 0;
  for (unsigned p = 1; p < placeCounts[module]; ++p)
    tables[module][p] = &places[module][p];
  if (table)
    *table = tables[module];
  if (count)
    *count = placeCounts[module];
  return 1;
}

struct CallbackTable {
  std::size_t bytes = sizeof(CallbackTable);
  int (*functionTable)(int module, FunctionPointer ***table, unsigned *count) = sluice::cuda::functionTable;
};
struct VersionTable {
  std::size_t bytes = sizeof(VersionTable);
  std::uint32_t version = 3;
  std::uint32_t reserved = 0;
  void (*setVersion)(std::uint32_t) = [](std::uint32_t) {};
};

const void *exportTable(std::uint32_t number) {
  static const CallbackTable callbacks;
  static const VersionTable version;
  return number == 1 ? static_cast<const void *>(&callbacks) : number == 3 ? &version : nullptr;
}

std::atomic<const Nvtx *> nvtxReplacement = nullptr;

const Nvtx *openOfEnvironment() {
  static Nvtx made;
  const char *library = std::getenv("NVTX_INJECTION64_PATH");
  return library && openNvtx(library, made) ? &made : nullptr;
}

} // namespace

bool openNvtx(const char *library, Nvtx &made) {
  void *const handle = dlopen(library, RTLD_LAZY);
  if (!handle)
    return false;
  const auto initialize =
      reinterpret_cast<int (*)(const void *(*)(std::uint32_t))>(dlsym(handle, "InitializeInjectionNvtx2"));
  if (!initialize || initialize(exportTable) == 0) {
    dlclose(handle);
    return false;
  }
  made.push = reinterpret_cast<int (*)(const char *)>(places[moduleCore][coreRangePush]);
  made.pop = reinterpret_cast<int (*)()>(places[moduleCore][coreRangePop]);
  made.nameStream = reinterpret_cast<void (*)(Stream, const char *)>(places[moduleCuda][cudaNameStream]);
  return true;
}

const Nvtx *nvtx() {
  if (const Nvtx *other = nvtxReplacement)
    return other;
  static const Nvtx *const opened = openOfEnvironment();
  return opened;
}

void setNvtx(const Nvtx *other) { nvtxReplacement = other; }

} // namespace sluice::cuda
