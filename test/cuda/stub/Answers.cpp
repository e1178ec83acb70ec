//===- Answers.cpp - a machine with a GPU that computes nothing ------------------------------------------===//
//
// libcuda, libcublasLt, libnccl and libcudnn that are opened by the names of the real ones, for tests with
// an old driver, a small device, a launch that fails. Device memory is numbers; nothing is read from it. The
// environment sets the faults, as SLUICE_STUB=name=number,...:
//
//   driver    the driver's version (13000)          devices   how many there are (1); init: what cuInit returns
//   major     of the capability (9)                 memory    bytes that are free (8 GiB)
//   launch    what a launch returns                 stream    what waiting for a stream returns
//   nccl      NCCL's version (22809)                async     its asynchronous error
//   blas      what cublasLt's start returns         algorithms  how many it finds (1)
//   dnn       cuDNN's version (91900)               dnnstart    what its start returns
//   uuid      of every device (its ordinal; -1: the process's number)  copies      1: copies to the host write ones, so
//   that a loss is finite stuck     1: streams stop at the first collective of the plan. 2: and a query of a stream
//   does not return connect   1: NCCL's initialisation does not return
//
// ncclCommDestroy waits until no graph exists, as that of NCCL does for graphs that hold its collectives.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/Codes.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

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
/// Set by the first launch, after which streams fail.
static std::atomic<bool> launched = false;
/// A stream is in a collective of a plan.
static std::atomic<bool> inCollective = false;
static bool isStuck() { return inCollective && setting("stuck", 0) != 0; }
static std::atomic<DevicePointer> nextAddress = 1ULL << 40;
/// Graphs that exist, for the NCCL of this folder.
extern "C" {
__attribute__((visibility("default"))) std::atomic<int> sluiceStubGraphs = 0;
}

SLUICE_ANSWER cuInit(unsigned) { return static_cast<Code>(setting("init", 0)); }
SLUICE_ANSWER cuDriverGetVersion(int *version) { return *version = static_cast<int>(setting("driver", 13000)), 0; }
/// 998 is an error for which the driver has no name.
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
  *value = attribute == attributeMajor ? static_cast<int>(setting("major", 9)) : attribute == attributeMinor ? 0 : 132;
  return 0;
}
static std::atomic<int> currentDevice = 0;
SLUICE_ANSWER cuDevicePrimaryCtxRetain(Context *context, int device) {
  currentDevice = device;
  return *context = handle(), 0;
}
SLUICE_ANSWER cuCtxGetCurrent(Context *context) { return *context = handle(), 0; }
SLUICE_ANSWER cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  *free = *total = static_cast<std::size_t>(setting("memory", 8LL << 30));
  return 0;
}
SLUICE_ANSWER cuMemAlloc_v2(DevicePointer *pointer, std::size_t bytes) {
  return *pointer = nextAddress.fetch_add((bytes + 4095) / 4096 * 4096), 0;
}
SLUICE_ANSWER cuMemcpyAsync(DevicePointer to, DevicePointer, std::size_t bytes, Stream) {
  if (setting("copies", 0) && (to < 1ULL << 40 || to >= nextAddress) && to >> 40 != 1ULL << 4)
    for (std::size_t at = 0; at < bytes; ++at)
      reinterpret_cast<char *>(to)[at] = at % 4 == 0;
  return 0;
}
SLUICE_ANSWER cuDeviceGetUuid_v2(Uuid *uuid, int device) {
  *uuid = {};
  const long long number = setting("uuid", device) < 0 ? getpid() : setting("uuid", device);
  return std::memcpy(uuid->bytes, &number, sizeof number), 0;
}
SLUICE_ANSWER cuCtxGetDevice(int *device) { return *device = currentDevice, 0; }
SLUICE_ANSWER cuMemHostAlloc(void **pointer, std::size_t bytes, unsigned) {
  return *pointer = std::calloc(bytes + 1, 1), 0;
}
SLUICE_ANSWER cuMemFreeHost(void *pointer) { return std::free(pointer), 0; }
SLUICE_ANSWER cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, 0; }
SLUICE_ANSWER cuStreamCreateWithPriority(Stream *stream, unsigned, int) { return *stream = handle(), 0; }
static void sleepForEver() {
  while (true)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}
SLUICE_ANSWER cuStreamSynchronize(Stream) {
  if (isStuck())
    sleepForEver();
  return launched ? static_cast<Code>(setting("stream", 0)) : 0;
}
SLUICE_ANSWER cuStreamQuery(Stream) {
  if (isStuck() && setting("stuck", 0) == 2)
    sleepForEver();
  return isStuck() ? notReady : launched ? static_cast<Code>(setting("stream", 0)) : 0;
}
/// A stream that is stuck does not reach the end of its collective.
SLUICE_ANSWER cuStreamWriteValue32_v2(Stream, DevicePointer to, std::uint32_t value, unsigned) {
  if (!isStuck())
    *reinterpret_cast<std::uint32_t *>(to) = value;
  inCollective = inCollective || value != 0;
  return 0;
}
/// The host functions of a graph.
using HostCalls = std::vector<std::pair<HostFunction, void *>>;
static HostCalls *capturing = nullptr;
SLUICE_ANSWER cuStreamBeginCapture_v2(Stream, int) { return capturing = new HostCalls, 0; }
SLUICE_ANSWER cuStreamEndCapture(Stream, Graph *graph) { return *graph = std::exchange(capturing, nullptr), 0; }
SLUICE_ANSWER cuGraphDestroy(Graph graph) { return delete static_cast<HostCalls *>(graph), 0; }
SLUICE_ANSWER cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  ++sluiceStubGraphs;
  return *exec = new HostCalls(*static_cast<HostCalls *>(graph)), 0;
}
SLUICE_ANSWER cuGraphLaunch(GraphExec exec, Stream) {
  for (const auto &[function, data] : *static_cast<HostCalls *>(exec))
    function(data);
  return 0;
}
SLUICE_ANSWER cuGraphExecDestroy(GraphExec exec) {
  --sluiceStubGraphs;
  return delete static_cast<HostCalls *>(exec), 0;
}
SLUICE_ANSWER cuStreamIsCapturing(Stream, int *status) { return *status = 0, 0; }
SLUICE_ANSWER cuLaunchHostFunc(Stream, HostFunction function, void *data) {
  if (capturing)
    capturing->push_back({function, data});
  else if (!isStuck())
    function(data);
  return 0;
}
SLUICE_ANSWER cuEventCreate(Event *event, unsigned) { return *event = handle(), 0; }
SLUICE_ANSWER cuEventElapsedTime(float *milliseconds, Event, Event) { return *milliseconds = 0, 0; }
SLUICE_ANSWER cuModuleLoadData(Module *module, const void *) { return *module = handle(), 0; }
SLUICE_ANSWER cuModuleGetFunction(Function *function, Module, const char *) { return *function = handle(), 0; }
SLUICE_ANSWER cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                             void **, void **) {
  launched = true;
  return static_cast<Code>(setting("launch", 0));
}
#endif

#ifdef SLUICE_STUB_BLAS
SLUICE_ANSWER cublasLtCreate(blas::Handle *made) { return *made = handle(), static_cast<Code>(setting("blas", 0)); }
SLUICE_ANSWER cublasLtMatmulAlgoGetHeuristic(blas::Handle, blas::MatmulDesc, blas::Layout, blas::Layout, blas::Layout,
                                             blas::Layout, blas::Preference, int, blas::Heuristic *found, int *count) {
  return *found = {}, *count = static_cast<int>(setting("algorithms", 1)), 0;
}
#endif

#ifdef SLUICE_STUB_DNN
extern "C" __attribute__((visibility("default"))) std::size_t cudnnGetVersion() {
  return static_cast<std::size_t>(setting("dnn", 91900));
}
SLUICE_ANSWER cudnnCreate(void **made) { return *made = handle(), static_cast<Code>(setting("dnnstart", 0)); }
/// No heuristic has an engine.
SLUICE_ANSWER cudnnBackendGetAttribute(void *, int, int, std::int64_t, std::int64_t *count, void *) {
  return *count = 0, 0;
}
SLUICE_ANSWER cudnnBackendCreateDescriptor(int, void **made) { return *made = handle(), 0; }
#endif

#ifdef SLUICE_STUB_NCCL
SLUICE_ANSWER ncclGetVersion(int *version) { return *version = static_cast<int>(setting("nccl", 22809)), 0; }
SLUICE_ANSWER ncclCommInitRankConfig(nccl::Comm *comm, int, nccl::UniqueId, int, nccl::Config *) {
  while (setting("connect", 0))
    std::this_thread::sleep_for(std::chrono::seconds(1));
  return *comm = handle(), 0;
}
SLUICE_ANSWER ncclCommDestroy(nccl::Comm) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto *graphs = static_cast<std::atomic<int> *>(dlsym(driver, "sluiceStubGraphs"));
  while (*graphs > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return 0;
}
SLUICE_ANSWER ncclMemAlloc(void **memory, std::size_t bytes) {
  static std::atomic<std::uintptr_t> next = 1ULL << 44;
  return *memory = reinterpret_cast<void *>(next.fetch_add((bytes + 4095) / 4096 * 4096)), 0;
}
SLUICE_ANSWER ncclCommSplit(nccl::Comm, int, int, nccl::Comm *made, nccl::Config *) { return *made = handle(), 0; }
SLUICE_ANSWER ncclCommGetAsyncError(nccl::Comm, Code *error) {
  return *error = static_cast<Code>(setting("async", 0)), 0;
}
#endif
