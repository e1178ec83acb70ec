//===- AllocationTest.cpp - a step allocates nothing --------------------------------===//
//
// Every call of the C library's allocator is counted while a flag is set, on all threads.
//
//===----------------------------------------------------------------------===//
#include "test/unit/executor/RunAlone.h"

#include "runtime/executor/RankGroup.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLUICE_COUNTS_ALLOCATIONS 0
#else
#define SLUICE_COUNTS_ALLOCATIONS 1
#endif

static std::atomic<bool> counting = false;
static std::atomic<int> allocations = 0;

#if SLUICE_COUNTS_ALLOCATIONS
static void note() {
  if (counting.load(std::memory_order_relaxed))
    ++allocations;
}

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);

void *malloc(std::size_t bytes) {
  note();
  return __libc_malloc(bytes);
}
void *calloc(std::size_t count, std::size_t bytes) {
  note();
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, std::size_t bytes) {
  note();
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **result, std::size_t alignment, std::size_t bytes) {
  note();
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
}
#endif

namespace sluice::test {
namespace {

class AddOne final : public BoundKernel {
public:
  explicit AddOne(std::int64_t count) : count(count) {}
  Status run(std::span<void *const>, std::span<void *const> outputs, void *) override {
    for (std::int64_t i = 0; i < count; ++i)
      static_cast<float *>(outputs[0])[i] += 1;
    return {};
  }

private:
  const std::int64_t count;
};

// Tests that issuing, running and waiting for steps with launches, collectives, copies, fills, events and repetitions
// allocates nothing on any thread.
TEST(Allocation, StepsAllocateNothing) {
  if (!SLUICE_COUNTS_ALLOCATIONS)
    GTEST_SKIP() << "sanitizers have their own allocator";
  PlanBuilder builder({3});
  const auto compute = builder.stream("compute", 128), gather = builder.stream("gather");
  const auto shard = builder.buffer("shard", {4}), gathered = builder.buffer("gathered", {12}),
             sum = builder.buffer("sum", {4});
  const auto out = builder.buffer("out", {12}, plan::DType::f32, plan::Space::host);
  builder.entry("step", 2);
  builder.section(600); // more than a stream's ring holds
  builder.collective(gather, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none,
                     {{builder.view(shard), builder.view(gathered)}});
  builder.record(gather, 0);
  builder.wait(compute, 0);
  builder.launch(compute, "add_one", {}, {builder.view(gathered)});
  builder
      .collective(compute, plan::CollectiveKind::reduce_scatter, {0}, plan::ReduceOp::mean,
                  {{builder.view(gathered), builder.view(sum)}})
      .when = plan::When::last;
  builder.fill(compute, builder.view(sum), 2).when = plan::When::not_first;
  builder.copy(compute, builder.view(gathered), builder.view(out));
  builder.record(compute, 1);
  builder.wait(gather, 1);
  ExecutorOptions options;
  options.traceCapacity = 100;
  options.findKernel = [](std::string_view, KernelFlavour) -> PrepareFunction {
    return [](const KernelRequest &request) -> Result<std::unique_ptr<BoundKernel>> {
      return std::unique_ptr<BoundKernel>(std::make_unique<AddOne>(request.outputs[0].elements()));
    };
  };
  auto group = RankGroup::create(builder.plan, options);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  ASSERT_TRUE((*group)->runEntry("step").isOk());
  counting = true;
  bool fine = true;
  for (int i = 0; i < 3; ++i)
    fine = (*group)->runEntry("step").isOk() && fine;
  counting = false;
  EXPECT_TRUE(fine);
  EXPECT_EQ(allocations, 0);
  // Tests the counter.
  counting = true;
  std::free(std::malloc(100));
  counting = false;
  EXPECT_GE(allocations, 1);
}

// Tests that an allocation that fails while a plan is prepared is an error that names the rank, and that the other
// ranks get an error too.
TEST(Allocation, PreparationWithoutMemoryIsAnError) {
  if (!SLUICE_COUNTS_ALLOCATIONS)
    GTEST_SKIP() << "a sanitizer ends the process at such an allocation";
  PlanBuilder builder({2});
  builder.stream("compute", 64);
  ExecutorOptions options;
  // More records than the address space has bytes.
  options.traceCapacity = std::size_t(1) << 52;
  const auto group = RankGroup::create(builder.plan, options);
  ASSERT_FALSE(group.isOk());
  EXPECT_EQ(group.status().code(), StatusCode::failed);
  EXPECT_TRUE(group.status().message().starts_with("not enough memory to prepare the plan on rank "))
      << group.status().message();
}

} // namespace
} // namespace sluice::test
