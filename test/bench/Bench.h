//===- Bench.h - operands and prepared kernels for measurements ----------------===//
//
// A tensor is an operand with its memory, filled with numbers of one sequence; a prepared kernel is bound to tensors
// and runs on one thread with exactly its workspace.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_BENCH_BENCH_H
#define SLUICE_TEST_BENCH_BENCH_H

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "test/TestedIsa.h"

#include <ctime>

#include <memory>
#include <new>
#include <string>
#include <vector>

namespace sluice::bench {

using Shape = std::vector<std::int64_t>;

/// Memory with the alignment of a plan's buffers: a store of a vector that crosses cache lines takes three times as
/// long.
template <typename T> struct AsInArena {
  using value_type = T;
  static constexpr std::align_val_t alignment{256};
  T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T *memory, std::size_t) { ::operator delete(memory, alignment); }
  bool operator==(const AsInArena &) const { return true; }
};
using Memory = std::vector<char, AsInArena<char>>;

struct Tensor {
  Operand operand;
  Memory memory;
  Tensor(DType dtype, const Shape &shape, double spread = 1) : operand(Operand::dense(dtype, shape)) {
    memory.resize(static_cast<std::size_t>(operand.elements()) * dtypeBytes(dtype) + 64);
    std::uint32_t state = 12345;
    for (std::int64_t i = 0; i < operand.elements(); ++i) {
      state = state * 1664525u + 1013904223u;
      cpu::storeNumber(memory.data(), dtype, i, isFloat(dtype) ? spread * (state / 2147483648.0 - 1) : state % 5000);
    }
  }
  std::int64_t bytes() const { return operand.elements() * static_cast<std::int64_t>(dtypeBytes(operand.dtype)); }
};

/// Processor time of this thread: other work on the machine does not count.
inline double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Prepared {
  std::unique_ptr<BoundKernel> kernel;
  std::vector<void *> inputs, outputs;
  Memory workspace;
  Prepared(const std::string &name, std::vector<Tensor *> in, std::vector<Tensor *> out,
           std::vector<Attributes::Item> items) {
    std::vector<Operand> ins, outs;
    for (Tensor *tensor : in)
      ins.push_back(tensor->operand), inputs.push_back(tensor->memory.data());
    for (Tensor *tensor : out)
      outs.push_back(tensor->operand), outputs.push_back(tensor->memory.data());
    Attributes attributes(std::move(items));
    KernelRequest request{ins, outs, &attributes, 1,
                          workspaceCap(name, ins, outs, attributes, {"cpu", 1, test::testedIsa()})};
    workspace.resize(request.workspace);
    auto bound = findCpuKernel(name)(request);
    if (bound.isOk())
      kernel = std::move(*bound);
  }
  bool run() { return kernel && kernel->run(inputs, outputs, workspace.data()).isOk(); }
};

inline Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }

} // namespace sluice::bench

#endif // SLUICE_TEST_BENCH_BENCH_H
