//===- ResidentPages.h - measures which pages of the arenas are resident -------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_RESIDENTPAGES_H
#define SLUICE_RUNTIME_EXECUTOR_RESIDENTPAGES_H

#include "runtime/executor/InstructionObserver.h"

#include <mutex>

namespace sluice {

/// Bytes of pages of one arena, the largest over ranks, entry points and instructions.
struct PageBytes {
  /// Pages that the operating system holds.
  std::uint64_t resident = 0;
  /// Pages with a byte that is live by the plan's lifespans.
  std::uint64_t live = 0;
};

/// The measurement of all ranks of this process; thread-safe.
class PageReport {
public:
  void add(plan::Space space, PageBytes bytes) {
    std::lock_guard lock(mutex);
    PageBytes &most = largest[static_cast<std::size_t>(space)];
    most.resident = std::max(most.resident, bytes.resident);
    most.live = std::max(most.live, bytes.live);
  }
  PageBytes of(plan::Space space) const {
    std::lock_guard lock(mutex);
    return largest[static_cast<std::size_t>(space)];
  }

private:
  mutable std::mutex mutex;
  std::array<PageBytes, 2> largest;
};

/// An observer that returns the pages without a live byte to the operating system at each border between instructions,
/// and measures the resident pages of each arena before it does. A page that is resident although no byte of it is live
/// is an error: an instruction used memory that the plan does not give it. It needs arenas that are not prefaulted.
ObserverFactory pageObserver(std::shared_ptr<PageReport> report);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_RESIDENTPAGES_H
