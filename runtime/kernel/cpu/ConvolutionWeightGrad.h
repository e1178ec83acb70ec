//===- ConvolutionWeightGrad.h - the gradient of a convolution's weight ------------===//
//
// Without AVX-512 the library's implementation for channels-last images has a third of the speed of its other
// convolutions. Here dweight[o, c] of a tap is a sum of small products: over a row's positions q, dy[q, o] times
// x[q', c], with the row of x packed in panels of channels; each tap along the row reads a different range of a panel.
// If there are few channels, a panel contains the channels of several taps.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONWEIGHTGRAD_H
#define SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONWEIGHTGRAD_H

#include "runtime/kernel/catalogue/WeightGradTasks.h"
#include "runtime/kernel/cpu/ConvolutionShape.h"

namespace sluice::cpu {

class WeightGrad {
public:
  /// True where this is faster than the library on this machine.
  static bool isFaster(const ConvolutionShape &shape);
  explicit WeightGrad(const ConvolutionShape &shape);

  std::uint64_t workspace(int threads) const;
  /// Dense f32 operands. The order of sums depends only on shapes.
  void run(const float *dy, const float *x, float *dweight, void *workspace, int threads) const;

private:
  struct Task;
  Task taskOf(std::int64_t number) const;
  void addRows(const Task &task, const float *dy, const float *x, float *memory, float *sums) const;
  void pack(const Task &task, const float *row, const float *end, float *packed) const;
  void copyRows(const float *from, std::int64_t pitch, std::int64_t count, std::int64_t size, const float *end,
                float *packed) const;
  void addProducts(const Task &task, const float *dy, const float *packed, float *sums) const;
  void write(const Task &task, const float *sums, float *dweight) const;

  ConvolutionShape s;
  std::int64_t panel;
  WeightGradTasks cut;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONWEIGHTGRAD_H
