//===- Sums.cpp - kernels that add to sums in place ---------------------------===//
#include "SumCases.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Sums, AreThoseOfSeparateAdditions) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference})
        for (int threads : {1, 2})
          for (SumCase one : sumCases(dtype, layout)) {
            one.run.flavour = flavour;
            one.run.threads = threads;
            expectSums(one, std::string(dtypeName(dtype)),
                       [](const auto &run, std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
                         std::vector<Tensor *> in, out;
                         for (Tensor &tensor : inputs)
                           in.push_back(&tensor);
                         for (Tensor &tensor : outputs)
                           out.push_back(&tensor);
                         return tryRun(run, in, out);
                       });
          }
}

/// The sums of a record are its last inputs, each given by the attribute of its name and added to an output that is
/// always there; those in place have no other memory and are f32 or f64.
TEST(Sums, AreTheLastInputs) {
  for (const KernelRecord &record : catalogue()) {
    std::size_t at = record.inputs.size() - record.sums.size();
    for (const AliasRecord &sum : record.sums) {
      const OperandRecord &input = record.inputs.begin()[at++];
      EXPECT_EQ(input.name, sum.input) << record.name;
      EXPECT_EQ(input.given, sum.input) << record.name;
      const auto output = std::ranges::find(record.outputs, sum.output, &OperandRecord::name);
      ASSERT_NE(output, record.outputs.end()) << record.name;
      EXPECT_EQ(output->given, "") << record.name;
      const bool isInPlace =
          std::ranges::find(record.mustAlias, sum.input, &AliasRecord::input) != record.mustAlias.end();
      EXPECT_NE(isInPlace, input.dtypes.has(DType::bf16)) << record.name;
    }
  }
}

/// The number of operands decides whether a norm's gradient has an addend, also before sums.
TEST(Sums, FollowAnAddend) {
  const KernelRecord &record = kernelRecord(KernelId::layer_norm_grad);
  const Attributes both({integer("dweight_sum", 1), integer("dbias_sum", 1)});
  EXPECT_EQ(mustAliasPairs(record, both, 7, 3), (AliasPairs{{5, 1}, {6, 2}}));
  EXPECT_EQ(mustAliasPairs(record, both, 8, 3), (AliasPairs{{6, 1}, {7, 2}}));
  EXPECT_EQ(mustAliasPairs(record, Attributes({integer("dbias_sum", 1)}), 6, 3), (AliasPairs{{5, 2}}));
  EXPECT_EQ(mayAliasPairs(record, both, 8, 3), (AliasPairs{{0, 0}, {5, 0}}));
}

} // namespace
