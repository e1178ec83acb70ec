//===- KernelCase.h - a kernel with operands, to be measured ------------------------------------===//
#ifndef SLUICE_TOOLS_CALIBRATE_KERNELCASE_H
#define SLUICE_TOOLS_CALIBRATE_KERNELCASE_H

#include "runtime/kernel/Kernel.h"

#include <array>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace sluice {

using Shape = std::vector<std::int64_t>;

/// A prepared kernel with memory for its operands. Only its thread uses it.
class PreparedCase {
public:
  /// Adds an input, with numbers of one sequence in [0, 1), or integers below `limit`, or ones; returns its number.
  std::size_t input(DType dtype, const Shape &shape, std::int64_t limit = 1);
  void output(DType dtype, const Shape &shape);
  /// An output in the memory of an input.
  void outputIn(std::size_t input);

  /// Refused if the kernel does not take the operands.
  Status prepare(const std::string &kernel, std::vector<Attributes::Item> items, int threads);
  Status run() { return kernel->run(inputPointers, outputPointers, workspace.get()); }

  /// Of all inputs and outputs, as the compiler counts them.
  double bytes() const { return operandBytes; }

private:
  struct Free {
    void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(256)); }
  };
  using Memory = std::unique_ptr<void, Free>;
  static Memory allocate(std::size_t bytes) { return Memory(::operator new(bytes + 64, std::align_val_t(256))); }
  Operand operand(DType dtype, const Shape &shape);

  std::vector<Memory> memory;
  std::vector<Operand> inputs, outputs;
  std::vector<void *> inputPointers, outputPointers;
  Memory workspace;
  std::unique_ptr<BoundKernel> kernel;
  double operandBytes = 0;
};

/// One point of a group of rates (runtime/report/machine/MachineTimes.h).
struct KernelCase {
  /// "products", "attention" or "streaming".
  std::string table;
  std::string kernel;
  DType dtype = DType::f32;
  std::array<double, 3> size = {1, 1, 1};
  /// FLOPs of one run; 0: the rate is of bytes.
  double flops = 0;
  /// Bytes that the compiler counts for one run; 0: those of all operands.
  double bytes = 0;
  /// The point is the mean time of all of these, each prepared for this number of threads.
  std::vector<std::function<Result<std::unique_ptr<PreparedCase>>(int threads)>> forms;
};

/// All cases of a type, in the order of the file. `isQuick`: a few sizes, for tests.
std::vector<KernelCase> kernelCases(DType dtype, bool isQuick);

} // namespace sluice

#endif // SLUICE_TOOLS_CALIBRATE_KERNELCASE_H
