//===- WorkspaceCap.cpp - scratch memory that a launch declares ---------------===//
//
// Pure arithmetic on shapes, so that the compiler can declare a cap without the library. docs/kernels.md derives the
// formulas; a test holds them against what the kernels ask for.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/Kernel.h"

namespace sluice {
namespace {

std::uint64_t shapeElements(const Operand &operand) {
  std::uint64_t count = 1;
  for (int d = 0; d < operand.rank; ++d)
    count *= static_cast<std::uint64_t>(operand.shape[d]);
  return count;
}

} // namespace

std::uint64_t cpuWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                              const Attributes &attributes, int threads, std::string_view isa) {
  if ((name == "embedding_grad" || name == "scatter_add") && inputs.size() == 2)
    return shapeElements(inputs[1]) * 8;
  return 0;
}

} // namespace sluice
