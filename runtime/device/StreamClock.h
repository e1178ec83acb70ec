//===- StreamClock.h - when streams did what they did ---------------------------------===//
//
// Of a device whose streams run apart from the caller: the caller's own clock would tell when work was issued. Used by one
// thread, the rank's.
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
  /// Marks what was issued to the stream so far; marks number upwards from 0. Allocates where there were never so many.
  virtual Result<std::uint32_t> mark(void *nativeStream) = 0;
  /// When the stream had done what stands before the mark, in nanoseconds of the steady clock. Once all streams are idle.
  virtual Result<std::int64_t> timeOf(std::uint32_t mark) const = 0;
  /// Forgets all marks.
  virtual void restart() = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_STREAMCLOCK_H
