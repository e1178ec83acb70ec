//===- Deadline.cpp - calls of a library that may never return --------------------------===//
#include "runtime/collective/nccl/Deadline.h"

#include <chrono>
#include <future>
#include <thread>

namespace sluice::nccl {

std::optional<cuda::Code> callWithin(const cuda::Table &table, double seconds, const std::function<bool()> &ended,
                                     std::function<cuda::Code()> call) {
  cuda::Context context = nullptr;
  if (const cuda::Code code = table.driver.contextGet(&context))
    return code;
  std::promise<cuda::Code> promise;
  std::future<cuda::Code> code = promise.get_future();
  std::thread(
      [context, set = table.driver.contextSet, call = std::move(call)](std::promise<cuda::Code> returned) {
        const cuda::Code failed = set(context);
        returned.set_value(failed ? failed : call());
      },
      std::move(promise))
      .detach();
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (seconds <= 0 || Clock::now() < limit) {
    if (code.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready)
      return code.get();
    if (ended())
      break;
  }
  return std::nullopt;
}

} // namespace sluice::nccl
