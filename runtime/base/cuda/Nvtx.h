//===- Nvtx.h - named ranges for NVIDIA's profilers ------------------------------------===//
//
// A profiler that supports names of an application sets NVTX_INJECTION64_PATH to a library. The first call of nvtx()
// opens this library, which stores its functions in a table; without a profiler no range is created. The protocol is
// that of NVTX 3, whose headers are not needed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_NVTX_H
#define SLUICE_RUNTIME_BASE_CUDA_NVTX_H

#include "runtime/base/cuda/Api.h"

namespace sluice::cuda {

/// The functions of a profiler; null for one that it does not implement.
struct Nvtx {
  /// A range of the calling thread, up to its pop(); ranges nest. Both give a depth that nobody reads.
  int (*push)(const char *name) = nullptr;
  int (*pop)() = nullptr;
  void (*nameStream)(Stream stream, const char *name) = nullptr;

  bool hasRanges() const { return push && pop; }
};

/// The functions of this process's profiler; null without a profiler. Thread-safe.
const Nvtx *nvtx();

/// Replaces this process's profiler by `other` until it is called with null. For tests; not thread-safe.
void setNvtx(const Nvtx *other);

/// Opens a profiler's library; false if it is not one or refuses. Once per process.
bool openNvtx(const char *library, Nvtx &made);

/// A range from its construction to its destruction; `functions` may be null.
class NvtxRange {
public:
  NvtxRange(const Nvtx *functions, const char *name) : functions(functions) {
    if (functions)
      functions->push(name);
  }
  ~NvtxRange() {
    if (functions)
      functions->pop();
  }
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;

private:
  const Nvtx *const functions;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_NVTX_H
