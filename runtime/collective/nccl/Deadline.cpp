//===- Deadline.cpp - calls of a library that may never return --------------------------===//
#include "runtime/collective/nccl/Deadline.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace sluice::nccl {

std::optional<cuda::Code> callWithin(const cuda::Table &table, double seconds, const std::function<bool()> &ended,
                                     std::function<cuda::Code()> call) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<cuda::Code> code;
  };
  const auto shared = std::make_shared<Shared>();
  cuda::Context context = nullptr;
  if (const cuda::Code code = table.driver.contextGet(&context))
    return code;
  std::thread([shared, context, set = table.driver.contextSet, call = std::move(call)] {
    cuda::Code code = set(context);
    if (code == 0)
      code = call();
    std::lock_guard lock(shared->mutex);
    shared->code = code;
    shared->changed.notify_all();
  }).detach();
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::unique_lock lock(shared->mutex);
  while (!shared->code && (seconds <= 0 || Clock::now() < limit)) {
    if (shared->changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return shared->code.has_value(); }))
      break;
    if (ended())
      break;
  }
  return shared->code;
}

} // namespace sluice::nccl
