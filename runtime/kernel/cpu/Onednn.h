//===- Onednn.h - one matrix product of oneDNN -------------------------------------===//
//
// Bound to a number of threads; the calling thread's OpenMP setting is restored after each call.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONEDNN_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONEDNN_H

#include "runtime/base/DType.h"
#include "runtime/kernel/cpu/OnednnLibrary.h"

#include <cstdint>
#include <memory>

namespace sluice::cpu {

class LibraryProduct {
public:
  /// c[m, n] = a[m, k] b[k, n] (+ c if accumulate) (+ bias[n]). Strides in elements; one of each pair is 1.
  struct Problem {
    std::int64_t m, n, k;
    std::int64_t aM, aK, bK, bN, cM;
    DType input, output;
    bool accumulate = false, bias = false;
    DType biasType = DType::f32;
    int threads = 1;
    /// Bytes of scratchpad that an implementation may take.
    std::uint64_t scratchpad = 0;
  };
  /// Null if the library has only a plain loop; an error if its implementation needs more scratchpad.
  static Result<std::unique_ptr<LibraryProduct>> make(const Problem &problem);
  Status run(const void *a, const void *b, const void *bias, void *c, void *scratchpad);

private:
  LibraryProduct() = default;

  dnnl::stream stream;
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratchpad;
  std::vector<dnnl_exec_arg_t> arguments;
  int threads = 1;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONEDNN_H
