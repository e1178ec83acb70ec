//===- Fake.h - an emulated GPU --------------------------------------------------------===//
//
// A table of CUDA's functions whose device is the host: memory is host memory, streams are threads, kernels are
// emulated, cuBLASLt and NCCL do what their documentation says in plain loops. Everything called is recorded, so that a
// test can check the stream, the addresses and the order of launches. There is one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FAKE_H
#define SLUICE_TEST_CUDA_FAKE_H

#include "runtime/base/cuda/Table.h"
#include "test/cuda/Codes.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

/// One call that put work on a stream, in the order of the calls.
struct FakeCall {
  enum class Kind : std::uint8_t { launch, copy, fill, host, record, wait, matmul, collective, graph, mark };
  Kind kind = Kind::launch;
  cuda::Stream stream = nullptr;
  /// Of a kernel or collective.
  std::string name;
  cuda::Event event = nullptr;
  std::uint64_t blocks = 0;
  int threads = 0;
  /// The argument struct of a launch; addresses of a copy, fill or product.
  std::vector<unsigned char> arguments;
  std::vector<const void *> addresses;
  std::uint64_t bytes = 0;
  /// Of a collective: segments in the group, their elements together, type, op and communicator.
  std::vector<std::uint64_t> counts;
  int type = 0, op = 0;
  double scale = 1;
  /// Of a product: the number of SMs that it may use; 0: all.
  int smCount = 0;
  const void *communicator = nullptr;
  /// The calling thread's number (setCaller()).
  int caller = -1;
  /// True while the call was recorded into a graph.
  bool captured = false;
  /// Of a graph launch: the flags that the graph was instantiated with.
  unsigned long long flags = 0;
};

/// Where a capture fails.
enum class CaptureFault : std::uint8_t { none, begin, launch, end, instantiate };

struct FakeOptions {
  /// Of each device.
  std::uint64_t memory = std::uint64_t(8) << 30;
  int devices = 1;
  int driverVersion = 13000;
  bool nccl = true;
  /// Device memory that the first collective of an NCCL communicator allocates.
  std::uint64_t ncclBytes = 1 << 16;
  /// NCCL without the virtual memory API: its memory is cuMemAlloc's, and windows are registered only with the
  /// network.
  bool ncclWithoutHandles = false;
  /// The number of the launch that fails, from 0; -1: none does.
  int failingLaunch = -1;
  CaptureFault captureFault = CaptureFault::none;
  /// Calls are recorded and nothing is executed: streams have no threads, memory is only addresses, so that plans of
  /// any size run through an executor.
  bool recordsOnly = false;
};

/// Replaces the table while it lives.
class FakeCuda {
public:
  explicit FakeCuda(const FakeOptions &options = {});
  ~FakeCuda();

  /// The calls since the last take.
  static std::vector<FakeCall> takeCalls();
  /// Numbers the calling thread, to distinguish its calls and objects.
  static void setCaller(int caller);
  static std::vector<FakeCall> takeCalls(int caller);
  struct StreamInfo {
    int priority = 0;
    unsigned flags = 0;
    int caller = -1;
  };
  static std::map<cuda::Stream, StreamInfo> streams();
  /// A caller's unreleased allocations, oldest first.
  struct Memory {
    std::byte *address = nullptr;
    std::uint64_t bytes = 0;
    bool pinned = false;
    int caller = -1, device = 0;
    /// By ncclMemAlloc: it has a handle that other processes can map.
    bool isShareable = false;
  };
  static std::vector<Memory> memoryOf(int caller);
  static std::vector<cuda::Stream> streamsOf(int caller);
  static std::vector<cuda::Event> eventsOf(int caller);
  /// Bytes that were allocated and not released.
  static std::uint64_t allocatedBytes();
  static std::uint64_t pinnedBytes();
  /// NCCL reports this error for the communicators of a rank, as after a failure of the network; 0: none.
  static void setNcclError(cuda::Code error, int rank = 0);
  static int liveObjects();
  /// Ranges registered with communicators.
  static std::vector<std::pair<const void *, std::size_t>> registered();
  static std::vector<std::pair<const void *, std::size_t>> registeredWith(const void *communicator);
  /// True if the communicator was split from one whose buffers and connections it shares.
  static bool sharesResources(const void *communicator);
  /// Its largest number of CTAs and its CTA policy; nccl::Config::undefined: NCCL's choice.
  static std::pair<int, int> ctasOf(const void *communicator);
  /// The ranks of a communicator of NCCL.
  static std::vector<int> membersOf(const void *communicator);
  /// Misuse by the caller: a wait in a capture that was not joined, an invalid call, a kernel that hangs.
  static std::string complaint();
  static const cuda::Table &table();
};

/// Device memory that NCCL allocates.
cuda::Code allocateShareable(void **memory, std::size_t bytes);
cuda::Code releaseShareable(void *memory);
/// Is the range in memory that has a handle (cuMemRetainAllocationHandle)?
bool hasHandle(const void *memory, std::size_t bytes);

/// The parts of the table.
void fillFakeBlas(cuda::Blas &blas);
void fillFakeNccl(cuda::Nccl &nccl);
/// Enqueues work on a stream; during a capture the work is added to the graph.
cuda::Code fakeEnqueue(cuda::Stream stream, FakeCall call, std::function<void()> work);
void fakeComplain(const std::string &text);
/// The device whose context is current on the calling thread.
int fakeDevice();
/// Ends all waits in collectives; destroyed communicators are freed after the streams.
void endFakeNccl();
void freeFakeNccl();

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKE_H
