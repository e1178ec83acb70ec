//===- NvtxTool.cpp - a profiler that records the ranges that it receives ----------------===//
//
// A library of NVTX's protocol. With the toolkit's headers the compiler checks the constants and types of
// runtime/base/cuda/Nvtx.cpp against them; without the headers this file declares them.
//
//===----------------------------------------------------------------------===//
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#include <cstddef>
#include <cstdint>
using NvtxFunctionPointer = void (*)();
using NvtxFunctionTable = NvtxFunctionPointer **;
enum NvtxCallbackModule { NVTX_CB_MODULE_CORE = 1, NVTX_CB_MODULE_CUDA = 2 };
enum { NVTX_CBID_CORE_RangePushA = 9, NVTX_CBID_CORE_RangePop = 11, NVTX_CBID_CORE_SIZE = 16 };
enum { NVTX_CBID_CUDA_NameCuStreamA = 5, NVTX_CBID_CUDA_SIZE = 9 };
enum { NVTX_ETID_CALLBACKS = 1 };
using NvtxGetExportTableFunc_t = const void *(*)(uint32_t);
struct NvtxExportTableCallbacks {
  size_t struct_size;
  int (*GetModuleFunctionTable)(NvtxCallbackModule, NvtxFunctionTable *, unsigned *);
};
#endif

#include <string>

static std::string written;

static int push(const char *name) { return written += std::string("[") + name, 0; }
static int pop() { return written += "]", 0; }
static void nameStream(void *, const char *name) { written += std::string("stream ") + name + ";"; }

template <typename Function> static void put(NvtxFunctionTable table, int at, Function function) {
  *table[at] = reinterpret_cast<NvtxFunctionPointer>(function);
}

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t exportTable) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(exportTable(NVTX_ETID_CALLBACKS));
  if (!callbacks || callbacks->struct_size < sizeof *callbacks)
    return 0;
  NvtxFunctionTable table = nullptr;
  unsigned count = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count) || count != NVTX_CBID_CORE_SIZE)
    return 0;
  put(table, NVTX_CBID_CORE_RangePushA, push);
  put(table, NVTX_CBID_CORE_RangePop, pop);
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &table, &count) || count != NVTX_CBID_CUDA_SIZE)
    return 0;
  // A tool of a later version requests modules that do not exist here.
  for (int absent : {-1, 0, 7, 1 << 20})
    if (callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(absent), nullptr, nullptr))
      return 0;
  put(table, NVTX_CBID_CUDA_NameCuStreamA, nameStream);
  return 1;
}

/// The ranges since the last call.
extern "C" const char *takeWritten() {
  static std::string taken;
  taken = std::move(written);
  written.clear();
  return taken.c_str();
}
