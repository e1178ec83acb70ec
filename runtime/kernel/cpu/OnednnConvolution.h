//===- OnednnConvolution.h - one convolution of oneDNN -----------------------------===//
//
// f32 images, channels last, and weights as torch keeps them, which the library packs into the caller's memory at each
// run. Bound to a number of threads. For windows with a stride of 1 the gradient of x is a convolution over dy.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H

#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cpu/OnednnLibrary.h"

#include <memory>
#include <optional>

namespace sluice::cpu {

class LibraryConvolution {
public:
  /// y from x; dx from dy, with x as the destination; dweight from dy and x, with weight as the destination.
  enum class Kind : std::uint8_t { forward, inputGrad, weightGrad };

  /// Takes at most `workspace` bytes at each run. Fails where the library has no implementation that fits.
  static Result<std::unique_ptr<LibraryConvolution>> make(Kind kind, const ConvolutionShape &shape, bool bias,
                                                          int threads, std::uint64_t workspace);
  Status run(void *xData, void *weightData, const void *biasData, void *yData, void *workspace);

private:
  LibraryConvolution() = default;

  Kind kind = Kind::forward;
  dnnl::stream stream;
  dnnl::primitive primitive;
  /// Reorder of the weight from torch's layout to that of the implementation; none if they are equal.
  std::optional<dnnl::reorder> pack;
  dnnl::memory x, y, bias, weight, packed, scratchpad, packScratchpad;
  std::size_t packedBytes = 0;
  /// A forward convolution that computes the gradient of x: the original shape, whose weight each run transposes.
  std::optional<ConvolutionShape> transposed;
  std::vector<dnnl_exec_arg_t> arguments, packArguments;
  int threads = 1;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONEDNNCONVOLUTION_H
