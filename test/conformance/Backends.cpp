//===- Backends.cpp - the devices and communicators that are tested ---------------===//
#include "test/conformance/Backends.h"

#include <cstdlib>
#include <cstring>

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
  bool sharesMemory() const override { return true; }
};

class LocalBackend final : public CommunicatorBackend {
public:
  std::string name() const override { return "local"; }
  int maxRanks() const override { return 4096; }
  std::shared_ptr<World> create(int size) const override { return createLocalWorld(size); }
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

} // namespace

std::vector<const DeviceBackend *> deviceBackends() {
  static const CpuBackend cpu;
  return {&cpu};
}

std::vector<const CommunicatorBackend *> communicatorBackends() {
  static const LocalBackend local;
  return {&local};
}

std::vector<AbsentBackend> absentBackends() {
  return {{"cuda", "this build has no cuda device"},
          {"mpi", "this build has no mpi communicator"},
          {"nccl", "this build has no nccl communicator"}};
}

} // namespace sluice::test
