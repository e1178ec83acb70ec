//===- StreamClock.h - times of the work of a stream -------------------------------===//
//
// For a device whose streams run asynchronously to the caller, because the caller's clock would only measure when work
// was issued. Used only by the rank's thread.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_STREAMCLOCK_H
#define SLUICE_RUNTIME_DEVICE_STREAMCLOCK_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace sluice {

class StreamClock {
public:
  virtual ~StreamClock() = default;
  /// Marks the work issued to the stream so far; marks are numbered from 0. Allocates only if there are more marks than
  /// ever before.
  virtual Result<std::uint32_t> mark(void *nativeStream) = 0;
  /// The time at which the stream completed the work before the mark, in nanoseconds of the steady clock. Call it when
  /// all streams are idle.
  virtual Result<std::int64_t> timeOf(std::uint32_t mark) const = 0;
  /// Forgets all marks.
  virtual void restart() = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_STREAMCLOCK_H
