//===- KernelEmptyPartsTest.cpp - parts of ranks that have no values ---------------------------===//
#include "test/cuda/KernelHarness.h"
#include "test/unit/plan/rules/EmptyParts.h"

#include "runtime/plan/LaunchAttributes.h"

namespace sluice::test {
namespace {

TEST_F(CudaKernels, EmptyPartsAddNothing) {
  std::set<std::string> tried, computed;
  for (const RuleCase &rule : ruleCases())
    for (const DType type : {DType::f32, DType::bf16, DType::f16})
      for (EmptyPart &part : emptyParts(sample(rule, type, 1))) {
        const Attributes attributes = sluice::attributesOf(part.sample.launch);
        KernelRun run{std::string(part.sample.kernel->name)};
        run.attributes.assign(attributes.all().begin(), attributes.all().end());
        for (Tensor &result : part.results)
          for (std::int64_t i = 0; i < result.size(); ++i)
            result.set(i, 77);
        const AliasPairs pairs =
            mustAliasPairs(*part.sample.kernel, attributes, part.operands.size(), part.results.size());
        inPlace.assign(pairs.begin(), pairs.end());
        tried.insert(run.kernel);
        const Status status = runOnDevice(run, part.operands, part.results);
        // A kernel may refuse an empty part, or a type: then the plan is rejected when it is loaded.
        if (!status.isOk())
          continue;
        computed.insert(run.kernel);
        EXPECT_EQ(part.difference(part.results), "") << dtypeName(type);
      }
  inPlace.clear();
  EXPECT_EQ(computed, tried);
}

} // namespace
} // namespace sluice::test
