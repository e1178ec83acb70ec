//===- AccessHooks.cpp - the hooks before loads and stores of emulated kernels ----------------===//
//
// HostKernels.cpp is compiled with -fsanitize=thread, which calls these functions before each access. They replace the
// sanitizer's runtime, which is not linked.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/AccessHooks.h"

namespace sluice::test {
namespace {

thread_local AccessSink *sink = nullptr;

} // namespace

void setAccessSink(AccessSink *to) { sink = to; }

} // namespace sluice::test

#ifdef SLUICE_ACCESS_HOOKS

#define SLUICE_HOOK(name, bytes, writes)                                                                               \
  void name(void *address) {                                                                                           \
    if (sluice::test::sink)                                                                                            \
      sluice::test::sink->access(__builtin_return_address(0), address, bytes, writes);                                 \
  }
#define SLUICE_HOOKS(bytes)                                                                                            \
  SLUICE_HOOK(__tsan_read##bytes, bytes, false)                                                                        \
  SLUICE_HOOK(__tsan_write##bytes, bytes, true)                                                                        \
  SLUICE_HOOK(__tsan_unaligned_read##bytes, bytes, false)                                                              \
  SLUICE_HOOK(__tsan_unaligned_write##bytes, bytes, true)

extern "C" {
SLUICE_HOOKS(1)
SLUICE_HOOKS(2)
SLUICE_HOOKS(4)
SLUICE_HOOKS(8)
SLUICE_HOOKS(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_read_range(void *address, unsigned long bytes) {
  if (sluice::test::sink)
    sluice::test::sink->access(__builtin_return_address(0), address, bytes, false);
}
void __tsan_write_range(void *address, unsigned long bytes) {
  if (sluice::test::sink)
    sluice::test::sink->access(__builtin_return_address(0), address, bytes, true);
}
}

#endif
