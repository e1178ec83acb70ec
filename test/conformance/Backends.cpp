//===- Backends.cpp - the backends that the conformance suites test ----------------===//
#include "test/conformance/Backends.h"
#include "runtime/collective/mpi/MpiLink.h"
#include "runtime/collective/process/ProcessWorld.h"
#include "runtime/collective/socket/SocketLink.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/cuda/Fake.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

namespace sluice::test {
namespace {

class HostCommand final : public Command {
public:
  HostCommand(std::uint32_t index, std::function<Status(std::uint32_t)> body) : index(index), body(std::move(body)) {}
  Status execute(void *, std::uint32_t repetition) override { return body(repetition); }
  std::uint32_t instruction() const override { return index; }

private:
  std::uint32_t index;
  std::function<Status(std::uint32_t)> body;
};

Status passed(Gate &gate) { return gate.pass() ? Status() : failedError("the gate stayed shut"); }

class CpuBackend final : public DeviceBackend {
public:
  std::string name() const override { return "cpu"; }
  Result<std::unique_ptr<Device>> create(DelayInjector *delays) const override {
    return createCpuDevice({/*threads=*/1, delays});
  }
  std::unique_ptr<Command> command(std::uint32_t instruction,
                                   std::function<Status(std::uint32_t)> body) const override {
    return std::make_unique<HostCommand>(instruction, std::move(body));
  }
  std::unique_ptr<Command> wait(std::uint32_t instruction, Gate &gate) const override {
    return command(instruction, [&gate](std::uint32_t) { return passed(gate); });
  }
  bool sharesMemory() const override { return true; }
};

/// A function that a CUDA stream calls in order; a failure is reported to the device as a failure of a command.
class StreamCommand final : public Command {
public:
  StreamCommand(std::uint32_t index, std::function<Status(std::uint32_t)> body) : index(index), body(std::move(body)) {}
  Status execute(void *nativeStream, std::uint32_t repetition) override {
    auto *call = new Call{this, repetition};
    return cuda::driverStatus(device->functions(), device->functions().driver.hostCall(nativeStream, &run, call),
                              "cuLaunchHostFunc");
  }
  std::uint32_t instruction() const override { return index; }
  /// The device of the last create(): a suite has one at a time.
  static inline CudaDevice *device = nullptr;
  static inline std::atomic<bool> failed = false;

private:
  struct Call {
    StreamCommand *command;
    std::uint32_t repetition;
  };
  static void run(void *data) {
    const std::unique_ptr<Call> call(static_cast<Call *>(data));
    if (failed)
      return;
    if (Status status = call->command->body(call->repetition); !status.isOk()) {
      failed = true;
      device->report(status);
    }
  }
  std::uint32_t index;
  std::function<Status(std::uint32_t)> body;
};

/// The stream waits for a number in pinned memory. A function that waits would stop those of all streams, because a
/// driver calls one at a time.
class GateCommand final : public Command {
public:
  GateCommand(std::uint32_t index, Gate &gate, bool emulated) : index(index), gate(gate), emulated(emulated) {}
  Status execute(void *nativeStream, std::uint32_t) override {
    const cuda::Table &table = StreamCommand::device->functions();
    if (emulated)
      return cuda::driverStatus(table, fakeEnqueue(nativeStream, {}, [this] { EXPECT_TRUE(gate.pass()); }), "wait");
    // The runtime has no use for it.
    using WaitValue = cuda::Code (*)(void *, cuda::DevicePointer, std::uint32_t, unsigned);
    static const auto waitValue =
        reinterpret_cast<WaitValue>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamWaitValue32_v2"));
    if (!waitValue)
      return failedError("the driver has no cuStreamWaitValue32");
    SLUICE_ASSIGN_OR_RETURN(void *memory, StreamCommand::device->allocate(MemorySpace::host, sizeof(int), "a gate"));
    auto *const word = static_cast<std::uint32_t *>(memory);
    gate.set(*word);
    constexpr unsigned equal = 1;
    return cuda::driverStatus(table, waitValue(nativeStream, reinterpret_cast<cuda::DevicePointer>(word), 1, equal),
                              "cuStreamWaitValue32");
  }
  std::uint32_t instruction() const override { return index; }

private:
  std::uint32_t index;
  Gate &gate;
  bool emulated;
};

/// A GPU of this machine, or the one that is emulated (test/cuda).
class CudaBackend final : public DeviceBackend {
public:
  explicit CudaBackend(bool emulated) : emulated(emulated) {}
  std::string name() const override { return emulated ? "cuda_emulated" : "cuda"; }
  Result<std::unique_ptr<Device>> create(DelayInjector *delays) const override {
    // Never destroyed, because devices of tests may use its functions until the end. The pointer is used, so that the
    // leak checker finds the object.
    [[gnu::used]] static FakeCuda *const fake = emulated ? new FakeCuda : nullptr;
    cuda::setTable(emulated ? &fake->table() : nullptr);
    auto created = CudaDevice::create({0, delays});
    cuda::setTable(nullptr);
    if (!created.isOk())
      return created.takeStatus();
    StreamCommand::device = created->get();
    return std::unique_ptr<Device>(std::make_unique<Watched>(std::move(*created)));
  }
  std::unique_ptr<Command> command(std::uint32_t instruction,
                                   std::function<Status(std::uint32_t)> body) const override {
    return std::make_unique<StreamCommand>(instruction, std::move(body));
  }
  std::unique_ptr<Command> wait(std::uint32_t instruction, Gate &gate) const override {
    return std::make_unique<GateCommand>(instruction, gate, emulated);
  }
  bool sharesMemory() const override { return emulated; }

private:
  /// Clears a failure as the device does.
  class Watched final : public Device {
  public:
    explicit Watched(std::unique_ptr<CudaDevice> device) : device(std::move(device)) {}
    Result<void *> allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose) override {
      return device->allocate(space, bytes, purpose);
    }
    std::uint64_t allocatedBytes(MemorySpace space) const override { return device->allocatedBytes(space); }
    Result<StreamId> createStream(std::string_view name, int priority) override {
      return device->createStream(name, priority);
    }
    Status createEvents(std::uint32_t count) override { return device->createEvents(count); }
    Status enqueue(StreamId stream, Command &command, std::uint32_t repetition) override {
      return device->enqueue(stream, command, repetition);
    }
    Status record(StreamId stream, EventId event) override { return device->record(stream, event); }
    Status wait(StreamId stream, EventId event) override { return device->wait(stream, event); }
    Status recordForHost(StreamId stream, EventId event) override { return device->recordForHost(stream, event); }
    Status await(EventId event) override { return device->await(event); }
    Status synchronize() override {
      Status status = device->synchronize();
      StreamCommand::failed = false;
      return status;
    }

  private:
    std::unique_ptr<CudaDevice> device;
  };
  const bool emulated;
};

/// Memory of the host, and reductions in order.
class HostBackend : public CommunicatorBackend {
public:
  void *allocate(std::size_t bytes) const override { return std::malloc(bytes); }
  void release(void *memory) const override { std::free(memory); }
  void write(void *to, const void *from, std::size_t bytes) const override { copy(to, from, bytes); }
  void read(void *to, const void *from, std::size_t bytes) const override { copy(to, from, bytes); }
  bool isOrdered() const override { return true; }
  Status synchronize() const override { return {}; }

private:
  static void copy(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0)
      std::memcpy(to, from, bytes);
  }
};

class LocalBackend final : public HostBackend {
public:
  std::string name() const override { return "local"; }
  int maxRanks() const override { return 4096; }
  std::shared_ptr<World> create(int size) const override { return createLocalWorld(size); }
};

/// Worlds connected only by sockets, all in this process.
class SocketWorlds final : public World {
public:
  explicit SocketWorlds(int size) {
    const auto count = static_cast<std::size_t>(size);
    std::vector<std::vector<socket::Socket>> sockets(count);
    for (auto &of : sockets)
      of.resize(count);
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0) {
          sockets[a][b] = socket::Socket(pair[0]);
          sockets[b][a] = socket::Socket(pair[1]);
        }
      }
    for (std::size_t r = 0; r < count; ++r) {
      auto created =
          process::ProcessWorld::create(socket::createSocketLink(static_cast<int>(r), std::move(sockets[r])), {});
      EXPECT_TRUE(created.isOk()) << created.status().message();
      worlds.push_back(std::move(*created));
    }
  }
  ~SocketWorlds() override {
    // Each waits for the goodbye of the others.
    std::vector<std::thread> threads;
    for (auto &world : worlds)
      threads.emplace_back([&world] { world.reset(); });
    for (std::thread &thread : threads)
      thread.join();
  }
  int size() const override { return static_cast<int>(worlds.size()); }
  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                               std::string_view channel) override {
    return worlds[static_cast<std::size_t>(rank)]->create(rank, members, channel);
  }
  /// In the suites the last rank does it.
  void abort(const Status &reason) override { worlds.back()->abort(reason); }
  Status state() const override { return worlds.back()->state(); }

private:
  std::vector<std::unique_ptr<process::ProcessWorld>> worlds;
};

class SocketBackend final : public HostBackend {
public:
  std::string name() const override { return "socket"; }
  int maxRanks() const override { return 16; }
  std::shared_ptr<World> create(int size) const override { return std::make_shared<SocketWorlds>(size); }
};

/// The processes that mpirun has started, one per rank; all run the same tests in the same order.
class MpiBackend final : public HostBackend {
public:
  std::string name() const override { return "mpi"; }
  int maxRanks() const override { return mpi::worldSize(); }
  bool isLocal(int rank) const override { return rank == mpi::worldRank(); }
  std::shared_ptr<World> create(int size) const override {
    auto link = mpi::createMpiLink(size);
    EXPECT_TRUE(link.isOk()) << link.status().message();
    if (!link.isOk() || !*link)
      return nullptr;
    auto created = process::ProcessWorld::create(std::move(*link), {});
    EXPECT_TRUE(created.isOk()) << created.status().message();
    return std::move(*created);
  }
};

bool underMpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr && mpi::absence().empty(); }

class MpiEnvironment final : public testing::Environment {
public:
  void TearDown() override {
    if (underMpirun())
      mpi::end();
  }
};
const testing::Environment *const mpiEnvironment = testing::AddGlobalTestEnvironment(new MpiEnvironment);

} // namespace

std::vector<const DeviceBackend *> deviceBackends() {
  static const CpuBackend cpu;
  static const CudaBackend emulated(true), gpu(false);
  return cuda::table().isOk() ? std::vector<const DeviceBackend *>{&cpu, &emulated, &gpu}
                              : std::vector<const DeviceBackend *>{&cpu, &emulated};
}

std::vector<const CommunicatorBackend *> communicatorBackends() {
  static const LocalBackend local;
  static const SocketBackend socket;
  static const MpiBackend mpi;
  if (!underMpirun())
    return {&local, &socket};
  static const Status begun = mpi::begin();
  if (begun.isOk())
    return {&mpi};
  std::fprintf(stderr, "%s\n", begun.message().c_str());
  std::exit(1);
}

std::vector<AbsentBackend> absentBackends() {
  std::vector<AbsentBackend> absent;
  if (const auto table = cuda::table(); !table.isOk())
    absent.push_back({"cuda", table.status().message()});
  absent.push_back({"nccl", "needs a GPU for each rank; test/cuda runs it on an emulated device"});
  // If MPI is available, the program conformance-mpi runs its suite.
  if (!mpi::absence().empty())
    absent.push_back({"mpi", std::string(mpi::absence())});
  return absent;
}

} // namespace sluice::test
