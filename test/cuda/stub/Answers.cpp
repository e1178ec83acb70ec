//===- Answers.cpp - a machine with a GPU that computes nothing ------------------------------------------===//
//
// libcuda, libcublasLt, libnccl and libcudnn that are found and opened as the real ones are, for tests of what happens where a driver
// is old, a device is small, a launch fails. Device memory is numbers; nothing is ever read from it. The environment says
// what is wrong, as SLUICE_STUB=name=number,...:
//
//   driver    the driver's version (13000)          devices   how many there are (1); init: what cuInit returns
//   major     of the capability (9)                 memory    bytes that are free (8 GiB)
//   launch    what a launch returns                 event     what a query of an event returns
//   stream    what waiting for a stream returns     nccl      NCCL's version (22809); async: its asynchronous error
//   blas      what cublasLt's start returns         algorithms  how many it finds (1)
//   dnn       cuDNN's version (91900)               dnnstart    what its start returns
//
//===----------------------------------------------------------------------===//
#include "runtime/base/cuda/Api.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace sluice::cuda;

#define SLUICE_ANSWER extern "C" __attribute__((visibility("default"))) Code

static long long setting(const char *name, long long fallback) {
  const char *text = std::getenv("SLUICE_STUB");
  const std::size_t length = std::strlen(name);
  while (text && *text) {
    if (std::strncmp(text, name, length) == 0 && text[length] == '=')
      return std::atoll(text + length + 1);
    text = std::strchr(text, ',');
    text = text ? text + 1 : nullptr;
  }
  return fallback;
}

[[maybe_unused]] static void *handle() {
  static std::atomic<std::uintptr_t> next = 16;
  return reinterpret_cast<void *>(next += 16);
}

#ifdef SLUICE_STUB_DRIVER
/// Set by the first launch, behind which streams go wrong, and by the first query of an event.
static std::atomic<bool> launched = false, asked = false;

SLUICE_ANSWER cuInit(unsigned) { return static_cast<Code>(setting("init", 0)); }
SLUICE_ANSWER cuDriverGetVersion(int *version) { return *version = static_cast<int>(setting("driver", 13000)), 0; }
/// 998 is an error that the driver has no name for.
SLUICE_ANSWER cuGetErrorName(Code code, const char **name) {
  *name = code == launchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR";
  return code == 998 ? (*name = nullptr, 1) : 0;
}
SLUICE_ANSWER cuGetErrorString(Code code, const char **text) {
  *text = code == launchFailed ? "unspecified launch failure" : "some error";
  return code == 998 ? (*text = nullptr, 1) : 0;
}
SLUICE_ANSWER cuDeviceGetCount(int *count) { return *count = static_cast<int>(setting("devices", 1)), 0; }
SLUICE_ANSWER cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
SLUICE_ANSWER cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == attributeMajor   ? static_cast<int>(setting("major", 9))
           : attribute == attributeMinor ? 0
                                         : 132;
  return 0;
}
SLUICE_ANSWER cuDevicePrimaryCtxRetain(Context *context, int) { return *context = handle(), 0; }
SLUICE_ANSWER cuCtxGetCurrent(Context *context) { return *context = handle(), 0; }
SLUICE_ANSWER cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  *free = *total = static_cast<std::size_t>(setting("memory", 8LL << 30));
  return 0;
}
SLUICE_ANSWER cuMemAlloc_v2(DevicePointer *pointer, std::size_t bytes) {
  static std::atomic<DevicePointer> next = 1ULL << 40;
  return *pointer = next.fetch_add((bytes + 4095) / 4096 * 4096), 0;
}
SLUICE_ANSWER cuMemHostAlloc(void **pointer, std::size_t bytes, unsigned) { return *pointer = std::calloc(bytes + 1, 1), 0; }
SLUICE_ANSWER cuMemFreeHost(void *pointer) { return std::free(pointer), 0; }
SLUICE_ANSWER cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, 0; }
SLUICE_ANSWER cuStreamCreateWithPriority(Stream *stream, unsigned, int) { return *stream = handle(), 0; }
/// A stream waits for what an event waits for: where a watch asks for the event, once, long enough for a watch of 1 s.
static void waitAsStreams() {
  static std::atomic<bool> waited = false;
  if (setting("event", 0) != notReady || waited)
    return;
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  if (asked && !waited.exchange(true))
    std::this_thread::sleep_for(std::chrono::seconds(2));
}
SLUICE_ANSWER cuStreamSynchronize(Stream) {
  if (launched)
    waitAsStreams();
  return launched ? static_cast<Code>(setting("stream", 0)) : 0;
}
SLUICE_ANSWER cuStreamIsCapturing(Stream, int *status) { return *status = 0, 0; }
SLUICE_ANSWER cuLaunchHostFunc(Stream, HostFunction function, void *data) {
  waitAsStreams();
  return function(data), 0;
}
SLUICE_ANSWER cuEventCreate(Event *event, unsigned) { return *event = handle(), 0; }
SLUICE_ANSWER cuEventQuery(Event) {
  asked = true;
  return static_cast<Code>(setting("event", 0));
}
SLUICE_ANSWER cuEventElapsedTime(float *milliseconds, Event, Event) { return *milliseconds = 0, 0; }
SLUICE_ANSWER cuModuleLoadData(Module *module, const void *) { return *module = handle(), 0; }
SLUICE_ANSWER cuModuleGetFunction(Function *function, Module, const char *) { return *function = handle(), 0; }
SLUICE_ANSWER cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void **,
                             void **) {
  launched = true;
  return static_cast<Code>(setting("launch", 0));
}
SLUICE_ANSWER cuStreamEndCapture(Stream, Graph *graph) { return *graph = handle(), 0; }
SLUICE_ANSWER cuGraphInstantiateWithFlags(GraphExec *exec, Graph, unsigned long long) { return *exec = handle(), 0; }
#endif

#ifdef SLUICE_STUB_BLAS
SLUICE_ANSWER cublasLtCreate(blas::Handle *made) { return *made = handle(), static_cast<Code>(setting("blas", 0)); }
SLUICE_ANSWER cublasLtMatmulAlgoGetHeuristic(blas::Handle, blas::MatmulDesc, blas::Layout, blas::Layout, blas::Layout, blas::Layout,
                                             blas::Preference, int, blas::Heuristic *found, int *count) {
  return *found = {}, *count = static_cast<int>(setting("algorithms", 1)), 0;
}
#endif

#ifdef SLUICE_STUB_DNN
extern "C" __attribute__((visibility("default"))) std::size_t cudnnGetVersion() { return static_cast<std::size_t>(setting("dnn", 91900)); }
SLUICE_ANSWER cudnnCreate(void **made) { return *made = handle(), static_cast<Code>(setting("dnnstart", 0)); }
/// No heuristic knows an engine.
SLUICE_ANSWER cudnnBackendGetAttribute(void *, int, int, std::int64_t, std::int64_t *count, void *) { return *count = 0, 0; }
SLUICE_ANSWER cudnnBackendCreateDescriptor(int, void **made) { return *made = handle(), 0; }
#endif

#ifdef SLUICE_STUB_NCCL
SLUICE_ANSWER ncclGetVersion(int *version) { return *version = static_cast<int>(setting("nccl", 22809)), 0; }
SLUICE_ANSWER ncclCommInitRankConfig(nccl::Comm *comm, int, nccl::UniqueId, int, nccl::Config *) { return *comm = handle(), 0; }
SLUICE_ANSWER ncclCommSplit(nccl::Comm, int, int, nccl::Comm *made, nccl::Config *) { return *made = handle(), 0; }
SLUICE_ANSWER ncclCommGetAsyncError(nccl::Comm, Code *error) { return *error = static_cast<Code>(setting("async", 0)), 0; }
#endif
