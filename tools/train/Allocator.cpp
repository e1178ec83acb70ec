//===- Allocator.cpp - keeps the memory of oneDNN's products between calls ---------===//
#include "tools/train/Allocator.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>

// A sanitizer has its own posix_memalign and free.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>

namespace sluice {
namespace {

constexpr std::size_t leastBytes = 128 << 10;

/// The next definition of a function after this program's: the C library's, or that of a preloaded allocator.
template <typename Function> Function *next(std::atomic<Function *> &known, const char *name) {
  Function *function = known.load(std::memory_order_relaxed);
  if (!function) {
    function = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

int nextAlign(void **block, std::size_t alignment, std::size_t bytes) {
  static constinit std::atomic<int (*)(void **, std::size_t, std::size_t)> known = nullptr;
  return next(known, "posix_memalign")(block, alignment, bytes);
}

void nextFree(void *block) {
  static constinit std::atomic<void (*)(void *)> known = nullptr;
  next(known, "free")(block);
}

bool isAligned(const void *block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

/// The blocks that calls use, and those that are held for the next call. There are never more of them than calls have
/// used at one time: a block that is too small is replaced by a larger one.
class BlockPool {
public:
  void *take(std::size_t alignment, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    Entry *best = nullptr, *largest = nullptr, *unused = nullptr;
    for (Entry &entry : entries) {
      if (!entry.block)
        unused = &entry;
      if (!entry.block || !entry.isHeld)
        continue;
      if (!largest || entry.bytes > largest->bytes)
        largest = &entry;
      if (entry.bytes >= bytes && isAligned(entry.block, alignment) && (!best || entry.bytes < best->bytes))
        best = &entry;
    }
    if (!best && largest) {
      nextFree(largest->block);
      *largest = Entry();
      unused = largest;
    }
    if (!best && unused && nextAlign(&unused->block, alignment, bytes) == 0) {
      unused->bytes = malloc_usable_size(unused->block);
      best = unused;
    }
    if (!best)
      return nullptr;
    best->isHeld = false;
    return best->block;
  }

  /// False for a block that was not taken here.
  bool hold(void *block) {
    const std::lock_guard lock(mutex);
    for (Entry &entry : entries)
      if (entry.block == block)
        return entry.isHeld = true;
    return false;
  }

private:
  struct Entry {
    void *block = nullptr;
    std::size_t bytes = 0;
    bool isHeld = false;
  };
  Entry entries[64];
  std::mutex mutex;
};

constinit BlockPool pool;
constinit std::atomic<bool> isHolding = false;

} // namespace

void returnFreedMemory() {
  // Setting it also stops its growth with the sizes that are freed.
  mallopt(M_MMAP_THRESHOLD, leastBytes);
  // An arena for each thread reserves 64 MiB of addresses, sometimes twice: under a limit it would be a matter of
  // chance which allocation fails.
  if (rlimit limit{}; getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    mallopt(M_ARENA_MAX, 1);
}

void holdFreedBlocks() { isHolding = true; }

} // namespace sluice

extern "C" int posix_memalign(void **block, std::size_t alignment, std::size_t bytes) noexcept {
  if (sluice::isHolding && bytes >= sluice::leastBytes && std::has_single_bit(alignment))
    if (void *taken = sluice::pool.take(alignment, bytes)) {
      *block = taken;
      return 0;
    }
  return sluice::nextAlign(block, alignment, bytes);
}

extern "C" void free(void *block) noexcept {
  // Few blocks get as far as the pool's lock.
  if (block && sluice::isHolding && sluice::isAligned(block, 64) && malloc_usable_size(block) >= sluice::leastBytes &&
      sluice::pool.hold(block))
    return;
  sluice::nextFree(block);
}

#else

namespace sluice {
void returnFreedMemory() {}
void holdFreedBlocks() {}
} // namespace sluice

#endif
