//===- AllocationTest.cpp - a step allocates nothing; requests equal the prediction -----===//
//
// This program counts calls of malloc, mmap and similar functions by the calling module. In the steps after the first
// none is from Sluice; the bytes that libraries request within their calls are at most those that the model of the
// process names. The bytes that the devices request are the plan's arena and workspace.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include "runtime/executor/RankGroup.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);
}

namespace {

std::atomic<bool> counting{false};
constexpr int maxCallers = 4096;
std::atomic<int> callerCount{0};
void *callers[maxCallers];

/// Code of the libraries whose requests are added up.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  bool contains(const void *address) const {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    return begin <= number && number < end;
  }
};
std::array<AddressRange, 8> libraries;

/// Blocks that a library has requested while counting, without the freed ones. Guarded by a lock that allocates
/// nothing.
struct Block {
  void *pointer = nullptr;
  std::size_t size = 0;
};
std::atomic_flag blocksLock = ATOMIC_FLAG_INIT;
std::array<Block, 1024> blocks;
std::uint64_t blockBytes = 0, mostBlockBytes = 0;

template <typename Work> void withBlocks(Work &&work) {
  while (blocksLock.test_and_set(std::memory_order_acquire))
    ;
  work();
  blocksLock.clear(std::memory_order_release);
}

Block &findBlock(void *pointer) {
  for (Block &block : blocks)
    if (block.pointer == pointer)
      return block;
  std::abort();
}

void *note(void *caller, void *pointer, std::size_t size) {
  if (!counting.load(std::memory_order_relaxed))
    return pointer;
  const int index = callerCount.fetch_add(1);
  if (index < maxCallers)
    callers[index] = caller;
  if (pointer && std::ranges::any_of(libraries, [&](const AddressRange &range) { return range.contains(caller); }))
    withBlocks([&] {
      findBlock(nullptr) = {pointer, size};
      mostBlockBytes = std::max(mostBlockBytes, blockBytes += size);
    });
  return pointer;
}

void noteFree(void *pointer) {
  if (pointer && counting.load(std::memory_order_relaxed))
    withBlocks([&] {
      if (auto *block = std::ranges::find(blocks, pointer, &Block::pointer); block != blocks.end()) {
        blockBytes -= block->size;
        *block = {};
      }
    });
}

int findLibrary(dl_phdr_info *module, std::size_t, void *) {
  const std::string path = module->dlpi_name ? module->dlpi_name : "";
  if (path.find("libdnnl") == std::string::npos && path.find("libgomp") == std::string::npos)
    return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i)
    if (const auto &segment = module->dlpi_phdr[i]; segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
      *std::ranges::find(libraries, 0u, &AddressRange::end) = {module->dlpi_addr + segment.p_vaddr,
                                                               module->dlpi_addr + segment.p_vaddr + segment.p_memsz};
  return 0;
}

} // namespace

extern "C" {
void *malloc(size_t size) { return note(__builtin_return_address(0), __libc_malloc(size), size); }
void *calloc(size_t count, size_t size) {
  return note(__builtin_return_address(0), __libc_calloc(count, size), count * size);
}
void *realloc(void *old, size_t size) {
  noteFree(old);
  return note(__builtin_return_address(0), __libc_realloc(old, size), size);
}
void *memalign(size_t alignment, size_t size) {
  return note(__builtin_return_address(0), __libc_memalign(alignment, size), size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return note(__builtin_return_address(0), __libc_memalign(alignment, size), size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = note(__builtin_return_address(0), __libc_memalign(alignment, size), size);
  return *out ? 0 : ENOMEM;
}
void free(void *pointer) {
  noteFree(pointer);
  __libc_free(pointer);
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  auto *mapped = reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
  return mapped == MAP_FAILED ? mapped : note(__builtin_return_address(0), mapped, size);
}
int munmap(void *address, size_t size) noexcept {
  noteFree(address);
  return static_cast<int>(syscall(SYS_munmap, address, size));
}
}

// operator new is counted under its caller, not under libstdc++.
void *operator new(size_t size) { return note(__builtin_return_address(0), __libc_malloc(size), size); }
void operator delete(void *pointer) noexcept { free(pointer); }
void operator delete(void *pointer, size_t) noexcept { free(pointer); }

namespace sluice::numeric {
namespace {

/// File name of the module that holds an address.
std::string moduleOf(void *address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname)
    return "?";
  std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

std::string compilePlan(const std::string &precision) {
  std::string model = scratchFolder() + "/allocation.mlir", plan = scratchFolder() + "/" + precision + ".plan";
  std::string recipe =
      writeScratch("allocation.toml", "mesh.shard = 2\ngradient.microbatches = 2\nrecompute.policy = \"block\"\n"
                                      "gradient.clip_norm = 1.0\nprecision.compute = \"" +
                                          precision + "\"\n");
  CommandResult import = runCommand("sluice-import hf " + referenceFolder() +
                                    "/gpt2-tiny/config.json --batch 2 --sequence 32 -o " + model);
  EXPECT_EQ(import.code, 0) << import.err;
  CommandResult compile = runCommand("sluice-compile " + model + " --recipe " + recipe + " -o " + plan);
  EXPECT_EQ(compile.code, 0) << compile.err;
  return plan;
}

class Allocation : public testing::TestWithParam<const char *> {};

TEST_P(Allocation, PredictedBlocksAndNoneInAStep) {
  auto file = readCheckedPlan(compilePlan(GetParam()));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  auto group = RankGroup::create(file->plan);
  ASSERT_TRUE(group.isOk()) << group.status().message();

  for (const auto &arena : file->plan.arenas) {
    auto space = arena->space == plan::Space::device ? MemorySpace::device : MemorySpace::host;
    for (int rank = 0; rank < (*group)->size(); ++rank)
      EXPECT_EQ((*group)->executor(rank).allocatedBytes(space), arena->bytes + arena->workspace);
  }

  ASSERT_TRUE((*group)->runEntry("init").isOk());
  for (int rank = 0; rank < (*group)->size(); ++rank) {
    *(*group)->executor(rank).input("train_step", "lr")->as<float>() = 1e-3f;
    *(*group)->executor(rank).input("train_step", "step")->as<std::int64_t>() = 1;
  }
  ASSERT_TRUE((*group)->runEntry("train_step").isOk());
  libraries = {};
  dl_iterate_phdr(findLibrary, nullptr);
  blocks = {};
  blockBytes = mostBlockBytes = 0;
  callerCount = 0;
  counting = true;
  Status second = (*group)->runEntry("train_step");
  Status third = (*group)->runEntry("train_step");
  counting = false;
  ASSERT_TRUE(second.isOk() && third.isOk());

  std::map<std::string, int> byModule;
  for (int i = 0; i < std::min(callerCount.load(), maxCallers); ++i)
    ++byModule[moduleOf(callers[i])];
  for (const auto &[module, count] : byModule) {
    std::printf("%d allocations in two steps from %s\n", count, module.c_str());
    EXPECT_NE(module.rfind("libdnnl", 0) == 0 || module.rfind("libgomp", 0) == 0, false)
        << count << " allocations from " << module;
  }
  std::uint64_t named = 0;
  for (const ProcessTerm &term : processTerms(file->plan, meshSize(file->plan)))
    if (term.name == "packing")
      named = term.bytes;
  std::printf("libraries requested at most %llu bytes at a time, the model of the process names %llu\n",
              static_cast<unsigned long long>(mostBlockBytes), static_cast<unsigned long long>(named));
  // Blocks of less than a page describe a call; packed operands are larger.
  constexpr std::uint64_t pageBytes = 4096;
  EXPECT_LE(mostBlockBytes, std::max(named, pageBytes));
  // A library that was seen to allocate has bytes: its code was found.
  EXPECT_EQ(mostBlockBytes != 0, std::ranges::any_of(byModule, [](const auto &found) {
              return found.first.starts_with("libdnnl") || found.first.starts_with("libgomp");
            }));
  // Tests the counter.
  counting = true;
  int before = callerCount;
  delete new int(1);
  void *volatile pointer = malloc(8);
  free(pointer);
  counting = false;
  EXPECT_GE(callerCount - before, 1);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Allocation, testing::Values("f32", "bf16"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace sluice::numeric
