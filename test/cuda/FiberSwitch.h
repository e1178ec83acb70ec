//===- FiberSwitch.h - reports switches of fibers to a sanitizer ---------------------------===//
//
// AddressSanitizer checks stack accesses against the bounds of the stack, ThreadSanitizer orders the accesses of a
// thread: both need a notification when execution changes to another stack. Without a sanitizer these functions are
// empty. All are inlined: ThreadSanitizer would record the entry of a call on one stack and its return on the other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FIBERSWITCH_H
#define SLUICE_TEST_CUDA_FIBERSWITCH_H

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sluice::test {

/// Of one fiber, which is entered from one stack and goes back to it. `entering` and `left` are called on that one,
/// `entered` and `leaving` on the fiber's own.
class FiberSwitch {
public:
#if defined(__SANITIZE_ADDRESS__)
  /// Frames have guards between their variables.
  static constexpr std::size_t stackFactor = 2;

  void entering(const void *stack, std::size_t bytes) { __sanitizer_start_switch_fiber(&hostFrames, stack, bytes); }
  void entered() { __sanitizer_finish_switch_fiber(ownFrames, &hostStack, &hostBytes); }
  void leaving() { __sanitizer_start_switch_fiber(&ownFrames, hostStack, hostBytes); }
  void left() { __sanitizer_finish_switch_fiber(hostFrames, nullptr, nullptr); }

private:
  void *hostFrames = nullptr, *ownFrames = nullptr;
  const void *hostStack = nullptr;
  std::size_t hostBytes = 0;
#elif defined(__SANITIZE_THREAD__)
  static constexpr std::size_t stackFactor = 2;

  FiberSwitch() = default;
  FiberSwitch(const FiberSwitch &) = delete;
  ~FiberSwitch() {
    if (own)
      __tsan_destroy_fiber(own);
  }
  [[gnu::always_inline]] void entering(const void *, std::size_t) {
    if (!own)
      own = __tsan_create_fiber(0);
    host = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own, 0);
  }
  void entered() {}
  [[gnu::always_inline]] void leaving() { __tsan_switch_to_fiber(host, 0); }
  void left() {}

private:
  void *host = nullptr, *own = nullptr;
#else
  static constexpr std::size_t stackFactor = 1;

  void entering(const void *, std::size_t) {}
  void entered() {}
  void leaving() {}
  void left() {}
#endif
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FIBERSWITCH_H
