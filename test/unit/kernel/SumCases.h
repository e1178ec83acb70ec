//===- SumCases.h - launches that add to sums against separate additions ------===//
//
// A launch that adds its results to sums gives the bits of the launch without sums and an addition of each result
// after it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_SUMCASES_H
#define SLUICE_TEST_UNIT_KERNEL_SUMCASES_H

#include "Harness.h"

namespace sluice::test {

struct SumCase {
  Run run;
  std::vector<Tensor> inputs, outputs;
};

/// The kernels that add to sums in place, with operands of a type and layout.
inline std::vector<SumCase> sumCases(DType dtype, Layout layout) {
  const DType sum = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<SumCase> cases;
  for (const Shape &shape : {Shape{3, 5, 17}, Shape{2, 130, 72}}) {
    const Shape columns = {shape.back()}, rows = {shape[0], shape[1]};
    const auto made = [&](unsigned seed) { return Tensor(dtype, shape, layout).normal(seed); };
    for (std::int64_t mean : {0, 1})
      cases.push_back(
          {{"reduce_sum", {}, 1, {list("dims", {0, 1}), integer("mean", mean)}}, {made(1)}, {Tensor(sum, columns)}});
    cases.push_back({{"reduce_sum", {}, 1, {list("dims", {2})}}, {made(1)}, {Tensor(sum, rows)}});
    const Tensor weight = Tensor(dtype, columns).normal(4), means = Tensor(sum, rows).normal(5),
                 rstds = Tensor(sum, rows).normal(6);
    for (bool hasAddend : {false, true}) {
      SumCase layer{{"layer_norm_grad"},
                    {made(2), made(3), weight, means, rstds},
                    {made(0), Tensor(sum, columns), Tensor(sum, columns)}},
          rms{{"rms_norm_grad"}, {made(2), made(3), weight, rstds}, {made(0), Tensor(sum, columns)}};
      if (hasAddend) {
        layer.inputs.push_back(made(7));
        rms.inputs.push_back(made(7));
      }
      SumCase both = layer;
      both.run.kernel = "layer_norm_grad_and_sum";
      both.outputs.push_back(Tensor(sum, columns));
      cases.push_back(layer);
      cases.push_back(both);
      cases.push_back(rms);
    }
    Tensor variances(sum, columns);
    for (std::int64_t c = 0; c < columns[0]; ++c)
      variances.set(c, 0.5 + 0.1 * static_cast<double>(c));
    cases.push_back({{"batch_norm_grad", {}, 1, {number("epsilon", 1e-5)}},
                     {made(2), made(3), weight, Tensor(sum, columns).normal(8), variances},
                     {made(0), Tensor(sum, columns), Tensor(sum, columns)}});
    // Many positions of a row, and rows that no position names.
    const Tensor indices = Tensor(DType::i32, rows).below(8, 9);
    cases.push_back(
        {{"embedding_grad", {}, 1, {integer("padding", 4)}}, {made(9), indices}, {Tensor(sum, {40, shape[2]})}});
    cases.push_back({{"scatter_add"}, {made(9), indices}, {Tensor(sum, {40, shape[2]})}});
  }
  return cases;
}

/// `runs` runs a kernel: Status(Run, inputs, outputs). Every subset of the sums of the kernel's record is added to.
template <typename Runs> void expectSums(const SumCase &one, const std::string &what, Runs runs) {
  const KernelRecord &record = *findKernelRecord(one.run.kernel);
  for (unsigned subset = 1; subset < 1u << record.sums.size(); ++subset) {
    std::vector<Tensor> inputs = one.inputs, separate = one.outputs, sums = one.outputs;
    Status status = runs(one.run, inputs, separate);
    ASSERT_TRUE(status.isOk()) << what << ": " << status.message();
    Run adding = one.run;
    std::vector<Tensor> with = one.inputs;
    for (std::size_t s = 0; s < record.sums.size(); ++s) {
      const AliasRecord &sum = record.sums.begin()[s];
      if ((subset >> s & 1) == 0)
        continue;
      std::size_t output = 0;
      while (record.outputs.begin()[output].name != sum.output)
        ++output;
      sums[output].normal(20 + static_cast<unsigned>(s));
      std::vector<Tensor> term = {separate[output]}, total = {sums[output]};
      status = runs(Run{"accumulate", one.run.flavour, one.run.threads, {integer("first", 0)}}, term, total);
      ASSERT_TRUE(status.isOk()) << what << ": " << status.message();
      separate[output] = total[0];
      with.push_back(sums[output]);
      adding.attributes.push_back(integer(sum.input, 1));
    }
    status = runs(adding, with, sums);
    ASSERT_TRUE(status.isOk()) << what << ": " << status.message();
    for (std::size_t output = 0; output < sums.size(); ++output)
      EXPECT_EQ(sums[output].memory, separate[output].memory)
          << one.run.kernel << " " << what << ", sums " << subset << ", output " << output;
  }
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_SUMCASES_H
