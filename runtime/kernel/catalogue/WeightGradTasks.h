//===- WeightGradTasks.h - tasks of the gradient of a convolution's weight ------------===//
//
// Arithmetic on shapes, shared by the kernel and the workspace cap of its record. A task is one panel of columns of the
// products, one block of outputs and one run of the images' rows; runs have separate sums, which are added in order.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_WEIGHTGRADTASKS_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_WEIGHTGRADTASKS_H

#include "runtime/kernel/catalogue/CpuWorkspace.h"

#include <array>

namespace sluice::cpu {

struct WeightGradTasks {
  /// Images, channels and outputs; in both dims the positions of the result, the taps, the distance between windows and
  /// between taps.
  struct Sizes {
    std::int64_t images, inputs, outputs;
    std::array<std::int64_t, 2> out, kernel, stride, dilation;
  };

  static constexpr std::int64_t blockOutputs = 32, mostTaps = 32;
  /// Minimum number of tasks, if there are enough rows.
  static constexpr std::int64_t wantedTasks = 16, leastRows = 16;

  /// With few channels a panel holds the channels of several taps.
  bool merged;
  /// Columns of all products, stretches of a packed row that are read, panels, blocks, runs.
  std::int64_t columns, taps, panels, blocks, runs;
  /// Rows of a packed panel, the distance of the taps' ranges in it, and its floats.
  std::int64_t places, tapStep, rowFloats;
  /// Floats of a task's sums.
  std::int64_t sumFloats;

  constexpr WeightGradTasks(const Sizes &s, std::int64_t panel) {
    std::int64_t k = s.kernel[1];
    merged = s.dilation[1] == 1 && roundUp(k * s.inputs, panel) * 5 < k * roundUp(s.inputs, panel) * 4;
    columns = merged ? k * s.inputs : s.inputs;
    taps = merged ? 1 : k;
    panels = roundUp(columns, panel) / panel;
    blocks = roundUp(s.outputs, blockOutputs) / blockOutputs;
    std::int64_t tasks = panels * blocks, rows = s.images * s.out[0];
    runs = std::max<std::int64_t>(1, std::min(roundUp(wantedTasks, tasks) / tasks, rows / leastRows));
    // With a stride of 1 the taps read one stretch, each from a different position on.
    tapStep = s.stride[1] == 1 ? s.dilation[1] : s.out[1];
    places = s.out[1] + (taps - 1) * tapStep;
    rowFloats = roundUp(places * panel, 16);
    sumFloats = s.kernel[0] * taps * blockOutputs * panel;
  }
  constexpr std::int64_t tasks() const { return panels * blocks * runs; }
  /// Memory of one thread: packed rows and the sums of a few rows.
  constexpr std::int64_t threadFloats(const Sizes &s) const { return s.kernel[0] * rowFloats + sumFloats; }
  constexpr std::uint64_t workspace(const Sizes &s, int threads) const {
    return static_cast<std::uint64_t>(tasks() * sumFloats + std::max(1, threads) * threadFloats(s)) * 4;
  }
  /// The workspace is small compared with the operands.
  static constexpr bool isSuitable(const Sizes &s) {
    constexpr std::int64_t most = std::int64_t(1) << 20;
    return s.out[1] >= 16 && s.out[1] <= most && s.outputs >= 8 && s.outputs <= most && s.inputs <= most &&
           s.kernel[0] <= mostTaps && s.kernel[1] <= mostTaps && s.dilation[1] <= mostTaps;
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_WEIGHTGRADTASKS_H
