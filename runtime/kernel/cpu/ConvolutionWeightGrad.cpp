//===- ConvolutionWeightGrad.cpp - the gradient of a convolution's weight ----------===//
//
// A task reads its rows of dy once; a packed row of x is kept until the last tap has read it. Sums of a few rows are
// added separately, so that sums over large images keep their digits.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/ConvolutionWeightGrad.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <omp.h>

#include <cstring>

namespace sluice::cpu {
namespace {

/// Positions of a product's inner dim: those of both operands fit the first-level cache.
constexpr std::int64_t placeBlock = 96;
/// Rows whose sums are added separately before they are added to the total.
constexpr std::int64_t rowsTogether = 32;

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

WeightGradTasks::Sizes sizesOf(const ConvolutionShape &s) {
  return {s.images, s.inputs, s.outputs, s.out, s.kernel, s.stride, s.dilation};
}

/// Prefetches `count` runs of `size` floats, `pitch` floats between them.
void fetch(const float *x, std::int64_t pitch, std::int64_t count, std::int64_t size) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < size; c += 16)
      __builtin_prefetch(x + i * pitch + c, 0, 2);
}

} // namespace

struct WeightGrad::Task {
  std::int64_t panel, firstOutput, outputs, firstRow, endRow;
};

bool WeightGrad::isFaster(const ConvolutionShape &s) {
  return loops().isa != "avx512" && s.groups == 1 && WeightGradTasks::isSuitable(sizesOf(s));
}

WeightGrad::WeightGrad(const ConvolutionShape &shape)
    : s(shape), panel(loops().panel), cut(sizesOf(shape), loops().panel) {}

std::uint64_t WeightGrad::workspace(int threads) const { return cut.workspace(sizesOf(s), threads); }

WeightGrad::Task WeightGrad::taskOf(std::int64_t number) const {
  std::int64_t run = number / (cut.panels * cut.blocks), rows = s.images * s.out[0];
  Task task{number / cut.blocks % cut.panels, number % cut.blocks * WeightGradTasks::blockOutputs, 0,
            rows * run / cut.runs, rows * (run + 1) / cut.runs};
  task.outputs = std::min(WeightGradTasks::blockOutputs, s.outputs - task.firstOutput);
  return task;
}

/// Packs `count` rows of a panel, from `from` on, `pitch` floats between them, of which `size` columns are used. The
/// columns after them are also read where memory continues; products with them are not used.
void WeightGrad::copyRows(const float *from, std::int64_t pitch, std::int64_t count, std::int64_t size,
                          const float *end, float *packed) const {
  std::int64_t fullRows = end - from < panel ? 0 : std::min((end - from - panel) / pitch + 1, count);
  loops().f32.packColumns(from, pitch, fullRows, panel, packed);
  loops().f32.packColumns(from + fullRows * pitch, pitch, count - fullRows, size, packed + fullRows * panel);
}

void WeightGrad::pack(const Task &task, const float *row, const float *end, float *packed) const {
  const std::int64_t channels = s.inputs, width = s.in[1], stride = s.stride[1], first = task.panel * panel;
  const std::int64_t size = std::min(panel, cut.columns - first);
  std::memset(packed, 0, static_cast<std::size_t>(cut.places * panel) * sizeof(float));
  if (cut.merged) {
    // Windows inside the image are copied as rows, others by element.
    for (std::int64_t q = 0; q < s.out[1];) {
      std::int64_t begin = q * stride - s.padding[1], after = begin + s.kernel[1];
      if (begin >= 0 && after <= width) {
        std::int64_t count = std::min((width - after) / stride, s.out[1] - 1 - q) + 1;
        copyRows(row + begin * channels + first, stride * channels, count, size, end, packed + q * panel);
        q += count;
        continue;
      }
      std::int64_t low = std::max<std::int64_t>(first, -begin * channels);
      std::int64_t high = std::min(first + size, (width - begin) * channels);
      for (std::int64_t e = low; e < high; ++e)
        packed[q * panel + e - first] = row[begin * channels + e];
      ++q;
    }
    return;
  }
  bool shared = stride == 1;
  for (std::int64_t tap = 0; tap < (shared ? 1 : cut.taps); ++tap) {
    // Packed position t holds input position t * stride - shift.
    std::int64_t shift = s.padding[1] - tap * s.dilation[1], count = shared ? cut.places : s.out[1];
    std::int64_t low = shift > 0 ? ceilDiv(shift, stride) : 0, high = std::min(count, ceilDiv(width + shift, stride));
    if (low < high)
      copyRows(row + (low * stride - shift) * channels + first, stride * channels, high - low, size, end,
               packed + (tap * cut.tapStep + low) * panel);
  }
}

/// The sums of one row of taps.
void WeightGrad::addProducts(const Task &task, const float *dy, const float *packed, float *sums) const {
  const Loops &l = loops();
  std::int64_t cuts = ceilDiv(s.out[1], placeBlock), tiles = ceilDiv(task.outputs, l.rows);
  for (std::int64_t part = 0; part < cuts; ++part) {
    std::int64_t q = s.out[1] * part / cuts, count = s.out[1] * (part + 1) / cuts - q;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      std::int64_t o = task.outputs * tile / tiles, rows = task.outputs * (tile + 1) / tiles - o;
      for (std::int64_t tap = 0; tap < cut.taps; ++tap)
        l.tileProduct({rows, panel, count, dy + q * s.outputs + o, 1, s.outputs,
                       packed + (tap * cut.tapStep + q) * panel, 0,
                       sums + (tap * WeightGradTasks::blockOutputs + o) * panel, panel, true});
    }
  }
}

/// Into `sums`, which are zero, with `memory` for packed rows and the sums of a few rows.
void WeightGrad::addRows(const Task &task, const float *dy, const float *x, float *memory, float *sums) const {
  const std::int64_t kernel = s.kernel[0], inRow = s.in[1] * s.inputs, outRow = s.out[1] * s.outputs;
  const float *end = x + s.images * s.in[0] * inRow;
  float *few = memory + kernel * cut.rowFloats;
  const std::size_t bytes = static_cast<std::size_t>(cut.sumFloats) * sizeof(float);
  // The packed rows of x by slot. Neighbouring rows have different slots.
  std::int64_t held[WeightGradTasks::mostTaps];
  std::fill(held, held + kernel, -1);
  std::memset(few, 0, bytes);
  for (std::int64_t at = task.firstRow; at < task.endRow; ++at) {
    std::int64_t first = at % s.out[0] * s.stride[0] - s.padding[0], before = at / s.out[0] * s.in[0];
    const float *slopes = dy + at * outRow + task.firstOutput;
    for (std::int64_t i = 0; i < kernel; ++i) {
      std::int64_t row = first + i * s.dilation[0];
      if (row < 0 || row >= s.in[0])
        continue;
      std::int64_t place = s.dilation[0] == 1 ? row % kernel : i;
      float *packed = memory + place * cut.rowFloats;
      if (held[place] != before + row) {
        held[place] = before + row;
        pack(task, x + (before + row) * inRow, end, packed);
      }
      addProducts(task, slopes, packed, few + i * cut.taps * WeightGradTasks::blockOutputs * panel);
      // Prefetch for the next row of dy, one part per row of taps.
      if (i == 0 && at + 1 < task.endRow)
        fetch(slopes + outRow, s.outputs, s.out[1], task.outputs);
      std::int64_t next = first + s.stride[0] + (kernel - 1) * s.dilation[0];
      if (i == kernel / 2 && next < s.in[0])
        fetch(x + (before + next) * inRow + (cut.merged ? 0 : task.panel * panel), cut.merged ? panel : s.inputs,
              cut.merged ? ceilDiv(inRow, panel) : s.in[1], panel);
    }
    if ((at - task.firstRow) % rowsTogether == rowsTogether - 1 || at + 1 == task.endRow) {
      loops().f32.addTo(few, sums, cut.sumFloats);
      std::memset(few, 0, bytes);
    }
  }
}

void WeightGrad::write(const Task &task, const float *sums, float *dweight) const {
  std::int64_t first = task.panel * panel;
  for (std::int64_t i = 0; i < s.kernel[0]; ++i)
    for (std::int64_t tap = 0; tap < cut.taps; ++tap, sums += WeightGradTasks::blockOutputs * panel)
      for (std::int64_t o = 0; o < task.outputs; ++o)
        for (std::int64_t column = first; column < std::min(first + panel, cut.columns); ++column) {
          std::int64_t c = cut.merged ? column % s.inputs : column, j = cut.merged ? column / s.inputs : tap;
          dweight[(((task.firstOutput + o) * s.inputs + c) * s.kernel[0] + i) * s.kernel[1] + j] =
              sums[o * panel + column - first];
        }
}

void WeightGrad::run(const float *dy, const float *x, float *dweight, void *workspace, int threads) const {
  float *sums = static_cast<float *>(workspace), *memory = sums + cut.tasks() * cut.sumFloats;
  std::int64_t own = cut.threadFloats(sizesOf(s)), inRun = cut.panels * cut.blocks;
  forEach(threads, cut.tasks(), [&](std::int64_t number) {
    float *to = sums + number * cut.sumFloats;
    std::memset(to, 0, static_cast<std::size_t>(cut.sumFloats) * sizeof(float));
    addRows(taskOf(number), dy, x, memory + omp_get_thread_num() * own, to);
  });
  forEach(threads, inRun, [&](std::int64_t number) {
    float *to = sums + number * cut.sumFloats;
    for (std::int64_t r = 1; r < cut.runs; ++r)
      loops().f32.addTo(to + r * inRun * cut.sumFloats, to, cut.sumFloats);
    write(taskOf(number), to, dweight);
  });
}

} // namespace sluice::cpu
