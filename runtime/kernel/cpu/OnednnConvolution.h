//===- OnednnConvolution.h - one convolution of oneDNN -----------------------------===//
//
// f32 images, channels last, and weights as torch keeps them, which the library packs into the caller's memory at each
// run. Bound to a number of threads. For windows with a stride of 1 the gradient of x is a convolution over dy.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H

#include "runtime/kernel/cpu/ConvolutionShape.h"

#include <memory>

namespace sluice::cpu {

class LibraryConvolution {
public:
  /// y from x; dx from dy, with x as the destination; dweight from dy and x, with weight as the destination.
  enum class Kind : std::uint8_t { forward, inputGrad, weightGrad };

  /// Takes at most `workspace` bytes at each run. Fails where the library has no implementation that fits.
  static Result<std::unique_ptr<LibraryConvolution>> make(Kind kind, const ConvolutionShape &shape, bool bias,
                                                          int threads, std::uint64_t workspace);
  Status run(void *x, void *weight, const void *bias, void *y, void *workspace);
  ~LibraryConvolution();

private:
  struct State;
  explicit LibraryConvolution(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H
