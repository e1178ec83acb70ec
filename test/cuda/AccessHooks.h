//===- AccessHooks.h - the hooks before loads and stores of emulated kernels ----------------===//
#ifndef SLUICE_TEST_CUDA_ACCESSHOOKS_H
#define SLUICE_TEST_CUDA_ACCESSHOOKS_H

#include <cstddef>

namespace sluice::test {

/// Is notified before each load and store that HostKernels.cpp executes on the calling thread.
class AccessSink {
public:
  virtual ~AccessSink() = default;
  /// `instruction`: the access in the program.
  virtual void access(const void *instruction, const void *address, std::size_t bytes, bool writes) = 0;
};

/// Of the calling thread; null: accesses are not reported.
void setAccessSink(AccessSink *sink);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_ACCESSHOOKS_H
