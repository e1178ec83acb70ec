//===- Emulator.cpp - device kernels on the host --------------------------------------===//
#include "test/cuda/Emulator.h"
#include "test/cuda/AccessHooks.h"
#include "test/cuda/FiberSwitch.h"

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <vector>

namespace sluice::test {
namespace {

using cuda::Index;
using cuda::Lane;
using cuda::warpSize;

std::atomic<unsigned> orderSeed = 0;
std::atomic<Traffic *> activeTraffic = nullptr;
std::atomic<Races *> activeRaces = nullptr;

/// The numbers below `count` in the order of a seed: ascending for 0, else random.
std::vector<std::uint64_t> orderOf(std::uint64_t count, unsigned seed) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (seed == 0)
    return order;
  std::minstd_rand random(seed);
  for (std::uint64_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
  return order;
}

constexpr std::size_t stackBytes = FiberSwitch::stackFactor * (128 << 10);

enum class State : std::uint8_t { ready, atWarp, atBlock, done };

struct Fiber {
  std::unique_ptr<char[]> stack;
  FiberSwitch sanitizer;
  ucontext_t context{};
  jmp_buf resume;
  bool started = false;
  State state = State::done;
};

/// The block that the calling host thread currently runs.
class Block final : public cuda::EmulatedBlock, public AccessSink {
public:
  /// Reports accesses from the next block on, where these are not null.
  void observe(Traffic *counts, Races *checks) {
    traffic = counts;
    races = checks;
    setAccessSink(counts || checks ? this : nullptr);
  }
  void access(const void *instruction, const void *address, std::size_t bytes, bool writes) override {
    if (traffic)
      traffic->access(instruction, address, bytes, writes, current);
    if (races)
      races->access(address, bytes, writes, current);
  }

  bool run(const HostKernel &launched, const void *arguments, Index blockIndex, Index blockCount, int threadCount,
           int sharedBytes) {
    kernel = &launched;
    args = arguments;
    block = blockIndex;
    blocks = blockCount;
    threads = threadCount;
    sharedSize = sharedBytes;
    memory.assign(static_cast<std::size_t>(sharedBytes) / 8 + 1 + guardWords, pattern);
    misuse.clear();
    if (traffic)
      traffic->beginBlock(memory.data(), static_cast<std::size_t>(sharedBytes));
    if (races)
      races->beginBlock(blockIndex, memory.data(), static_cast<std::size_t>(sharedBytes));
    // Seeds of the passes of this block.
    random.seed(orderSeed == 0 ? 1 : orderSeed + static_cast<unsigned>(blockIndex));
    const bool isGood = known && !*launched.usesBarriers ? runDirectly() : runFibers();
    if (traffic)
      traffic->endBlock();
    return isGood;
  }
  const std::string &whatWasMisused() const { return misuse; }
  void setKnown(bool value) { known = value; }

  void syncBlock(int thread) override {
    reportBarrier(true, thread);
    wait(thread, State::atBlock);
  }
  void syncWarp(int thread) override {
    reportBarrier(false, thread);
    wait(thread, State::atWarp);
  }
  unsigned char *places(int thread) override {
    const int warp = thread / warpSize;
    return &places_[static_cast<std::size_t>((warp * 2 + (phase[thread]++ & 1)) * warpSize * placeBytes)];
  }
  void *shared() override { return memory.data(); }
  void copy(int thread, void *to, const void *from, int bytes, int real) override {
    if (!isShared(to, bytes))
      return;
    if (reinterpret_cast<std::uintptr_t>(from) % static_cast<unsigned>(bytes) != 0)
      misuse = "a copy of " + std::to_string(bytes) + " bytes from an address that is not on their border";
    if (traffic || races) {
      const auto *instruction = static_cast<const char *>(__builtin_return_address(0));
      if (real > 0)
        access(instruction, from, static_cast<std::size_t>(bytes), false);
      access(instruction + 1, to, static_cast<std::size_t>(bytes), true);
    }
    // A copy is carried out at its start or when it is waited for.
    Copy made{to, from, bytes, real, orderSeed != 0 && random() % 2 == 0};
    if (!made.isLate)
      made.make();
    copies[static_cast<std::size_t>(thread)].push_back(made);
  }
  void commitCopies(int thread) override {
    for (Copy &one : copies[static_cast<std::size_t>(thread)])
      ++one.groups;
  }
  void waitForCopies(int thread, int pending) override {
    std::erase_if(copies[static_cast<std::size_t>(thread)], [&](const Copy &one) {
      // Fibers that no group has yet do not count.
      if (one.groups <= pending)
        return false;
      if (one.isLate)
        one.make();
      if (races)
        races->access(one.to, static_cast<std::size_t>(one.bytes), true, thread);
      return true;
    });
  }
  bool isShared(const void *at, int bytes) override {
    const auto offset = static_cast<const unsigned char *>(at) - reinterpret_cast<const unsigned char *>(memory.data());
    if (offset < 0 || offset + bytes > sharedSize)
      misuse = "shared memory beyond what the launch has";
    else if (offset % bytes != 0)
      misuse = std::to_string(bytes) + " bytes of shared memory that are not on their border";
    else
      return true;
    return false;
  }

private:
  /// Each pass over the threads has its order.
  unsigned nextSeed() { return orderSeed == 0 ? 0 : static_cast<unsigned>(random()); }
  void reportBarrier(bool ofBlock, int thread) {
    if (traffic)
      traffic->barrier(ofBlock, thread);
    if (races)
      races->barrier(ofBlock, thread);
  }

  /// Without fibers: a thread after the other.
  bool runDirectly() {
    direct = true;
    for (const std::uint64_t thread : orderOf(static_cast<std::uint64_t>(threads), nextSeed())) {
      current = static_cast<int>(thread);
      kernel->body(args, lane(current));
    }
    direct = false;
    return !broken;
  }

  bool runFibers() {
    places_.resize(static_cast<std::size_t>(threads) * 2 * placeBytes);
    copies.assign(static_cast<std::size_t>(threads), {});
    phase.assign(static_cast<std::size_t>(threads), 0);
    while (fibers.size() < static_cast<std::size_t>(threads))
      fibers.push_back(std::make_unique<Fiber>());
    for (int i = 0; i < threads; ++i)
      fibers[i]->state = State::ready;
    if (!schedule())
      return false;
    for (int i = 0; i < guardWords; ++i)
      if (memory[memory.size() - 1 - static_cast<std::size_t>(i)] != pattern)
        misuse = "a write past the shared memory";
    for (const std::vector<Copy> &own : copies)
      if (!own.empty())
        misuse = "a copy to shared memory that is not waited for";
    return misuse.empty();
  }

  static constexpr std::uint64_t pattern = 0x5a5a5a5a5a5a5a5a;
  static constexpr int guardWords = 64;

  struct Copy {
    void *to;
    const void *from;
    int bytes, real;
    bool isLate;
    int groups = 0;
    void make() const {
      std::memset(to, 0, static_cast<std::size_t>(bytes));
      std::memcpy(to, from, static_cast<std::size_t>(real));
    }
  };

  Lane lane(int thread) { return Lane(this, block, blocks, thread, threads); }

  static void enter(unsigned high, unsigned low, unsigned index) {
    auto *self = reinterpret_cast<Block *>(static_cast<std::uintptr_t>(high) << 32 | low);
    self->fibers[index]->sanitizer.entered();
    while (true) {
      self->kernel->body(self->args, self->lane(static_cast<int>(index)));
      self->wait(static_cast<int>(index), State::done);
    }
  }

  void wait(int thread, State state) {
    if (direct) {
      // The kernel's first launch met no barrier, this one does: the barriers of the kernel depend on data.
      broken = true;
      return;
    }
    if (state != State::done)
      *kernel->usesBarriers = true;
    Fiber &fiber = *fibers[thread];
    fiber.state = state;
    if (_setjmp(fiber.resume) == 0) {
      fiber.sanitizer.leaving();
      _longjmp(scheduler, 1);
    }
    fiber.sanitizer.entered();
  }

  void resume(int thread) {
    Fiber &fiber = *fibers[thread];
    current = thread;
    if (_setjmp(scheduler) != 0) {
      fibers[thread]->sanitizer.left();
      return;
    }
    if (!fiber.started)
      fiber.stack.reset(new char[stackBytes]);
    fiber.sanitizer.entering(fiber.stack.get(), stackBytes);
    if (fiber.started)
      _longjmp(fiber.resume, 1);
    fiber.started = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&enter), 3, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self), static_cast<unsigned>(thread));
    setcontext(&fiber.context);
  }

  /// Resumes the fibers that all wait at one barrier; false if none can.
  bool release() {
    bool any = false;
    const int warps = threads / warpSize;
    int atBlock = 0, live = 0;
    for (int w = 0; w < warps; ++w) {
      int waiting = 0, alive = 0;
      for (int i = w * warpSize; i < (w + 1) * warpSize; ++i) {
        alive += fibers[i]->state != State::done;
        waiting += fibers[i]->state == State::atWarp;
        atBlock += fibers[i]->state == State::atBlock;
      }
      live += alive;
      if (waiting == warpSize)
        for (int i = w * warpSize; i < (w + 1) * warpSize; ++i) {
          fibers[i]->state = State::ready;
          any = true;
        }
    }
    if (!any && atBlock == threads && live == threads)
      for (int i = 0; i < threads; ++i) {
        fibers[i]->state = State::ready;
        any = true;
      }
    return any;
  }

  bool schedule() {
    while (true) {
      int done = 0;
      for (const std::uint64_t thread : orderOf(static_cast<std::uint64_t>(threads), nextSeed()))
        if (fibers[thread]->state == State::ready)
          resume(static_cast<int>(thread));
      for (int i = 0; i < threads; ++i)
        done += fibers[i]->state == State::done;
      if (done == threads)
        return true;
      if (!release()) {
        // The fibers are not resumed.
        fibers.clear();
        return false;
      }
    }
  }

  const HostKernel *kernel = nullptr;
  const void *args = nullptr;
  Index block = 0, blocks = 0;
  int threads = 0;
  bool direct = false, broken = false, known = false;
  jmp_buf scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<std::uint64_t> memory;
  std::vector<unsigned char> places_;
  std::vector<int> phase;
  std::vector<std::vector<Copy>> copies;
  int sharedSize = 0;
  std::string misuse;
  Traffic *traffic = nullptr;
  Races *races = nullptr;
  std::minstd_rand random;
  /// The thread that runs.
  int current = 0;
};

} // namespace

bool emulate(const HostKernel &kernel, const void *args, std::uint64_t blocks, int threads, int shared,
             std::string &error) {
  static thread_local Block block;
  if (threads < warpSize || threads % warpSize != 0 || threads > 1024) {
    error = std::string(kernel.name) + ": a block of " + std::to_string(threads) + " threads";
    return false;
  }
  Traffic *traffic = activeTraffic;
  Races *races = activeRaces;
  block.observe(traffic, races);
  if (traffic)
    traffic->beginLaunch(kernel.name, blocks, threads);
  if (races)
    races->beginLaunch(kernel.name, threads);
  bool isFirst = true;
  for (const std::uint64_t index : orderOf(blocks, orderSeed)) {
    // Whether there are barriers is known after one block.
    block.setKnown(!isFirst);
    isFirst = false;
    if (!block.run(kernel, args, static_cast<Index>(index), static_cast<Index>(blocks), threads, shared)) {
      error =
          std::string(kernel.name) + ": " +
          (block.whatWasMisused().empty() ? "threads of a block wait at different barriers" : block.whatWasMisused());
      return false;
    }
    if (races && !races->found().empty()) {
      error = races->found();
      return false;
    }
  }
  return true;
}

void setOrder(unsigned seed) { orderSeed = seed; }

void setTraffic(Traffic *traffic) { activeTraffic = traffic; }

void setRaces(Races *races) { activeRaces = races; }

} // namespace sluice::test
