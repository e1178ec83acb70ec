//===- KernelCoverage.cpp - every kernel that CUDA has was compared with its reference -------------------===//
//
// Checks after the last test which kernels the tests of this binary have compared.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/KernelHarness.h"

namespace sluice::test {
namespace {

class Coverage : public testing::Environment {
  void TearDown() override {
    if (testing::UnitTest::GetInstance()->test_to_run_count() != testing::UnitTest::GetInstance()->total_test_count())
      return;
    for (const KernelRecord &entry : catalogue())
      if (!compared.count(std::string(entry.name)))
        ADD_FAILURE() << "kernel '" << entry.name << "' of the cuda device was compared with nothing";
  }
};

[[maybe_unused]] testing::Environment *const coverage = testing::AddGlobalTestEnvironment(new Coverage);

} // namespace
} // namespace sluice::test
