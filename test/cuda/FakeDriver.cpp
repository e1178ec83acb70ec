//===- FakeDriver.cpp - the driver of the emulated GPU ----------------------------------===//
#include "test/cuda/FakeDnn.h"
#include "test/cuda/FakeNcclComm.h"
#include "test/cuda/FakeState.h"

#include <cstring>

namespace sluice::test {

using namespace cuda;

FakeState *state = nullptr;
thread_local int fakeCaller = -1, currentDevice = -1;
thread_local bool inHostFunction = false;

/// Contexts are addresses into this.
static char contexts[64];

int fakeDevice() { return currentDevice; }

void complainLocked(const std::string &text) {
  if (state->complaint.empty())
    state->complaint = text;
}

void fakeComplain(const std::string &text) {
  std::lock_guard lock(state->mutex);
  complainLocked(text);
}

Code checkContext(const char *call) {
  if (currentDevice >= 0)
    return 0;
  fakeComplain(std::string(call) + " without a current context");
  return 201;
}

static void fillFakeDevice(Driver &d) {
  d.init = [](unsigned) -> Code { return 0; };
  d.driverVersion = [](int *version) -> Code { return *version = state->options.driverVersion, 0; };
  d.errorName = [](Code code, const char **name) -> Code {
    *name = code == outOfMemory     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == launchFailed  ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == capturedEvent ? "CUDA_ERROR_CAPTURED_EVENT"
                                    : "CUDA_ERROR";
    return 0;
  };
  d.errorText = [](Code code, const char **text) -> Code {
    *text = code == outOfMemory ? "out of memory" : code == launchFailed ? "unspecified launch failure" : "error";
    return 0;
  };
  d.deviceCount = [](int *count) -> Code { return *count = state->options.devices, 0; };
  d.deviceGet = [](int *device, int ordinal) -> Code {
    return *device = ordinal, ordinal < state->options.devices ? 0 : 101;
  };
  d.deviceName = [](char *name, int length, int) -> Code { return std::strncpy(name, "fake", length), 0; };
  d.deviceAttribute = [](int *value, int attribute, int) -> Code {
    *value = attribute == attributeMajor             ? 9
             : attribute == attributeMinor           ? 0
             : attribute == attributeMultiprocessors ? 4
                                                     : 227 << 10;
    return 0;
  };
  d.contextRetain = [](Context *context, int device) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->contexts;
    return *context = contexts + device, 0;
  };
  d.contextRelease = [](int) -> Code {
    std::lock_guard lock(state->mutex);
    --state->contexts;
    return 0;
  };
  d.contextSet = [](Context context) -> Code {
    return currentDevice = context ? static_cast<int>(static_cast<char *>(context) - contexts) : -1, 0;
  };
  d.contextDevice = [](int *device) -> Code { return *device = currentDevice, checkContext("cuCtxGetDevice"); };
  d.deviceUuid = [](Uuid *uuid, int device) -> Code {
    *uuid = {};
    return uuid->bytes[15] = static_cast<unsigned char>(device), 0;
  };
  d.contextGet = [](Context *context) -> Code {
    return *context = currentDevice < 0 ? nullptr : contexts + currentDevice, 0;
  };
}

FakeCuda::FakeCuda(const FakeOptions &options) {
  state = new FakeState;
  state->options = options;
  fillFakeDevice(state->table.driver);
  fillFakeStreams(state->table.driver);
  fillFakeMemory(state->table.driver);
  fillFakeGraphs(state->table.driver);
  fillFakeBlas(state->table.blas);
  fillFakeNccl(state->table.nccl);
  fillFakeDnn(state->table.dnn);
  if (!options.nccl)
    state->table.ncclAbsence = refusedError("nccl, expected the library libnccl.so.2 but got: nothing");
  static const Image image{"fake", ""};
  state->table.images = {&image, 1};
  setTable(&state->table);
}

FakeCuda::~FakeCuda() {
  setTable(nullptr);
  endFakeNccl();
  state->streams.clear();
  freeFakeNccl();
  freeFakeMemory();
  delete state;
  state = nullptr;
}

std::vector<FakeCall> FakeCuda::takeCalls() {
  std::lock_guard lock(state->mutex);
  return std::exchange(state->calls, {});
}

std::vector<FakeCall> FakeCuda::takeCalls(int caller) {
  std::lock_guard lock(state->mutex);
  std::vector<FakeCall> taken, kept;
  for (FakeCall &call : state->calls)
    (call.caller == caller ? taken : kept).push_back(std::move(call));
  state->calls = std::move(kept);
  return taken;
}

void FakeCuda::setCaller(int caller) { fakeCaller = caller; }

std::map<Stream, FakeCuda::StreamInfo> FakeCuda::streams() {
  std::lock_guard lock(state->mutex);
  std::map<Stream, StreamInfo> found;
  for (const auto &[stream, owned] : state->streams)
    found[stream] = stream->info;
  return found;
}

std::vector<Stream> FakeCuda::streamsOf(int caller) {
  std::lock_guard lock(state->mutex);
  std::vector<Stream> found;
  for (FakeStream *stream : state->streamOrder)
    if (stream->info.caller == caller)
      found.push_back(stream);
  return found;
}

std::vector<Event> FakeCuda::eventsOf(int caller) {
  std::lock_guard lock(state->mutex);
  std::vector<Event> found;
  for (FakeEvent *event : state->events)
    if (event->caller == caller)
      found.push_back(event);
  return found;
}

int FakeCuda::liveObjects() {
  std::lock_guard lock(state->mutex);
  return static_cast<int>(state->streams.size() + state->events.size() + state->memory.size()) + state->modules +
         state->graphs + state->contexts + liveNcclObjects();
}

std::string FakeCuda::complaint() {
  std::lock_guard lock(state->mutex);
  return state->complaint;
}

const Table &FakeCuda::table() { return state->table; }

} // namespace sluice::test
