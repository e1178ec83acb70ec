//===- Harness.h - tensors for kernel tests -----------------------------------===//
//
// A Tensor is an operand with its memory. Memory around and between the operand's elements holds a pattern, and after a
// run it must still hold it: a kernel that writes outside its extents fails.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_HARNESS_H
#define SLUICE_TEST_UNIT_KERNEL_HARNESS_H

#include "Safetensors.h"

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cpu/Walk.h"
#include "test/TestedIsa.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace sluice::test {

using Shape = std::vector<std::int64_t>;

/// The layout of a tensor in memory.
enum class Layout {
  dense,
  /// Rows have gaps between them.
  padded,
  /// The last dim is not the innermost.
  permuted,
  /// Rows begin at multiples of 64 elements.
  aligned,
};

struct Tensor {
  Operand operand;
  std::vector<char> memory;

  Tensor() = default;
  Tensor(DType dtype, const Shape &shape, Layout layout = Layout::dense) {
    operand.dtype = dtype;
    operand.rank = static_cast<int>(shape.size());
    std::int64_t stride = 1;
    for (int i = 0; i < operand.rank; ++i) {
      int d = layout == Layout::permuted ? i : operand.rank - 1 - i;
      operand.shape[d] = operand.extent[d] = operand.global[d] = shape[d];
      operand.strides[d] = stride;
      stride *= d == operand.rank - 1 ? pitchOf(shape[d], layout) : shape[d];
    }
    memory.assign(static_cast<std::size_t>(stride + 2 * guard) * dtypeBytes(dtype), pattern);
  }

  Operand bound() const {
    Operand result = operand;
    result.data = const_cast<char *>(memory.data()) + guard * dtypeBytes(operand.dtype);
    return result;
  }
  std::int64_t size() const { return operand.elements(); }
  std::int64_t offset(std::int64_t i) const { return cpu::offsetOf(operand, 0, operand.rank, i); }
  double at(std::int64_t i) const { return cpu::load(bound(), offset(i)); }
  void set(std::int64_t i, double value) { cpu::store(bound(), offset(i), value); }
  std::vector<double> values() const {
    std::vector<double> all(static_cast<std::size_t>(size()));
    for (std::int64_t i = 0; i < size(); ++i)
      all[static_cast<std::size_t>(i)] = at(i);
    return all;
  }
  Tensor &fill(const std::vector<double> &values) {
    for (std::int64_t i = 0; i < size(); ++i)
      set(i, values[static_cast<std::size_t>(i)]);
    return *this;
  }
  Tensor &normal(unsigned seed, double spread = 1, double mean = 0) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> deviate(mean, spread);
    for (std::int64_t i = 0; i < size(); ++i)
      set(i, deviate(engine));
    return *this;
  }
  Tensor &below(unsigned seed, std::int64_t limit) {
    std::mt19937 engine(seed);
    for (std::int64_t i = 0; i < size(); ++i)
      set(i, static_cast<double>(engine() % static_cast<std::uint64_t>(limit)));
    return *this;
  }
  /// True where everything but the elements of the extents is as it was.
  bool isUntouchedOutside() const {
    std::size_t bytes = dtypeBytes(operand.dtype);
    std::vector<bool> inside(memory.size() / bytes);
    for (std::int64_t i = 0; i < size(); ++i)
      inside[static_cast<std::size_t>(guard + offset(i))] = true;
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (!inside[i / bytes] && memory[i] != pattern)
        return false;
    return true;
  }

  static std::int64_t pitchOf(std::int64_t columns, Layout layout) {
    return layout == Layout::padded ? columns + 3 : layout == Layout::aligned ? (columns + 63) / 64 * 64 : columns;
  }

  static constexpr std::int64_t guard = 32;
  static constexpr char pattern = 0x5a;
};

inline Tensor scalar(DType dtype, double value) {
  Tensor tensor(dtype, {});
  tensor.set(0, value);
  return tensor;
}

/// A mask, and a bias that hides keys too, [b, h, t, keys] each. Rows of the first row of the batch see no key.
inline Tensor randomMask(const Shape &shape, unsigned seed) {
  Tensor mask(DType::u8, shape);
  mask.below(seed, 3);
  for (std::int64_t i = 0; shape[0] > 1 && i < mask.size() / shape[0]; ++i)
    mask.set(i, 0);
  return mask;
}
inline Tensor randomBias(DType dtype, const Shape &shape, unsigned seed) {
  Tensor bias(dtype, shape);
  bias.normal(seed);
  for (std::int64_t i = 0; i < bias.size(); i += 7)
    bias.set(i, -std::numeric_limits<double>::infinity());
  return bias;
}

struct Run {
  std::string kernel;
  KernelFlavour flavour = KernelFlavour::fast;
  int threads = 1;
  std::vector<Attributes::Item> attributes = {};
};

inline Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }
inline Attributes::Item number(std::string_view name, double value) { return {name, 0, value, {}}; }
inline Attributes::Item list(std::string_view name, std::vector<std::int64_t> values) {
  return {name, 0, 0, std::move(values)};
}

/// Prepares with exactly the cap as workspace, runs once.
inline Status tryRun(const Run &run, std::vector<Tensor *> inputs, std::vector<Tensor *> outputs) {
  const std::string &isa = testedIsa();
  PrepareFunction prepare = findCpuKernel(run.kernel, run.flavour);
  if (!prepare)
    return internalError("no kernel " + run.kernel);
  std::vector<Operand> in, out;
  std::vector<void *> inData, outData;
  for (Tensor *tensor : inputs) {
    in.push_back(tensor->operand);
    inData.push_back(tensor->bound().data);
  }
  for (Tensor *tensor : outputs) {
    out.push_back(tensor->operand);
    outData.push_back(tensor->bound().data);
  }
  Attributes attributes(run.attributes);
  KernelRequest request{in, out, &attributes, run.threads, 0};
  request.workspace = workspaceCap(run.kernel, in, out, attributes, {"cpu", run.threads, isa});
  auto kernel = prepare(request);
  if (!kernel.isOk())
    return kernel.takeStatus();
  std::vector<char> memory(request.workspace + 128, Tensor::pattern);
  std::size_t shift = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  Status status = (*kernel)->run(inData, outData, memory.data() + shift);
  for (std::size_t i = shift + request.workspace; i < memory.size(); ++i)
    if (memory[i] != Tensor::pattern)
      return internalError("kernel " + run.kernel + " wrote beyond its workspace");
  for (Tensor *tensor : outputs)
    if (!tensor->isUntouchedOutside())
      return internalError("kernel " + run.kernel + " wrote outside its output");
  return status;
}

inline void mustRun(const Run &run, std::vector<Tensor *> inputs, std::vector<Tensor *> outputs) {
  Status status = tryRun(run, std::move(inputs), std::move(outputs));
  ASSERT_TRUE(status.isOk()) << run.kernel << ": " << status.message();
}

/// The output of a flavour with this number of threads, from copies of inputs and outputs.
inline std::vector<Tensor> outputsOf(Run run, KernelFlavour flavour, int threads, std::vector<Tensor> inputs,
                                     std::vector<Tensor> outputs) {
  std::vector<Tensor *> in, out;
  for (Tensor &tensor : inputs)
    in.push_back(&tensor);
  for (Tensor &tensor : outputs)
    out.push_back(&tensor);
  run.flavour = flavour;
  run.threads = threads;
  mustRun(run, in, out);
  return outputs;
}

/// |got - want| <= relative * |want| + absolute, element by element; NaN if NaN is expected, infinities equal.
inline void expectNear(const Tensor &got, const std::vector<double> &want, double relative, double absolute,
                       const std::string &what) {
  ASSERT_EQ(static_cast<std::size_t>(got.size()), want.size()) << what;
  int shown = 0;
  for (std::int64_t i = 0; i < got.size() && shown < 4; ++i) {
    double g = got.at(i), w = want[static_cast<std::size_t>(i)];
    bool near = std::isnan(w)   ? std::isnan(g)
                : std::isinf(w) ? g == w
                                : std::fabs(g - w) <= relative * std::fabs(w) + absolute;
    if (!near) {
      ADD_FAILURE() << what << " element " << i << ": expected " << w << " but got " << g << ", off by " << g - w;
      ++shown;
    }
  }
}

/// The size of what may have been added up: the largest magnitude, at least one.
inline double magnitude(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  return largest;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_HARNESS_H
