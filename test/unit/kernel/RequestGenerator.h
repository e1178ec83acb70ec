//===- RequestGenerator.h - random requests for kernels --------------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_REQUESTGENERATOR_H
#define SLUICE_TEST_UNIT_KERNEL_REQUESTGENERATOR_H

#include "Harness.h"

#include <random>
#include <utility>
#include <vector>

namespace sluice::test {

/// Attributes and operands that may be inconsistent.
struct RandomRequest {
  Attributes attributes;
  std::vector<Operand> inputs, outputs;
  /// An input and an output that are the same bytes, as P2 demands of the kernel.
  std::vector<std::pair<unsigned, unsigned>> sameMemory;
};

/// Often a request that the kernel accepts with some changes. The same numbers of the engine give the same request.
RandomRequest makeRandomRequest(const KernelRecord &record, std::mt19937 &engine);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_REQUESTGENERATOR_H
