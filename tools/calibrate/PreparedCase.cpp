//===- PreparedCase.cpp - a kernel with memory for its operands ---------------------------------===//
#include "tools/calibrate/KernelCase.h"

#include "runtime/kernel/cpu/Numbers.h"

#include <cstring>

namespace sluice {

Operand PreparedCase::operand(DType dtype, const Shape &shape) {
  const Operand operand = Operand::dense(dtype, shape);
  const std::size_t bytes = static_cast<std::size_t>(operand.elements()) * dtypeBytes(dtype);
  memory.push_back(allocate(bytes));
  std::memset(memory.back().get(), 0, bytes);
  operandBytes += static_cast<double>(bytes);
  return operand;
}

std::size_t PreparedCase::input(DType dtype, const Shape &shape, std::int64_t limit) {
  inputs.push_back(operand(dtype, shape));
  inputPointers.push_back(memory.back().get());
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < inputs.back().elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    cpu::storeNumber(memory.back().get(), dtype, i,
                     isFloat(dtype) ? state / 4294967296.0
                     : limit > 1    ? static_cast<double>(state % limit)
                                    : 1);
  }
  return inputs.size() - 1;
}

void PreparedCase::output(DType dtype, const Shape &shape) {
  outputs.push_back(operand(dtype, shape));
  outputPointers.push_back(memory.back().get());
}

void PreparedCase::outputIn(std::size_t input) {
  outputs.push_back(inputs[input]);
  outputPointers.push_back(inputPointers[input]);
  operandBytes += static_cast<double>(inputs[input].elements()) * static_cast<double>(dtypeBytes(inputs[input].dtype));
}

Status PreparedCase::prepare(const std::string &name, std::vector<Attributes::Item> items, int threads) {
  const Attributes attributes(std::move(items));
  KernelRequest request{inputs, outputs, &attributes, threads,
                        workspaceCap(name, inputs, outputs, attributes, {"cpu", threads, machineIsa()})};
  workspace = allocate(request.workspace);
  SLUICE_ASSIGN_OR_RETURN(kernel, findCpuKernel(name)(request));
  return {};
}

} // namespace sluice
