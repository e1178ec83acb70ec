//===- Signatures.cpp - the dims of operands, by the signatures of the records -----------------===//
#include "Harness.h"

#include "runtime/kernel/catalogue/LaunchDims.h"
#include "runtime/kernel/catalogue/Signature.h"

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Signatures, OfAllRecordsAreWellFormed) {
  for (const KernelRecord &record : catalogue())
    EXPECT_EQ(signatureOf(record).fault, "") << record.name << ": " << record.dims;
}

/// The fault of rms_norm with another signature.
std::string faultOf(std::string_view dims, KernelId kernel = KernelId::rms_norm) {
  KernelRecord record = kernelRecord(kernel);
  record.dims = dims;
  return parseSignature(record).fault;
}

TEST(Signatures, WithAFaultAreRefused) {
  EXPECT_EQ(faultOf("x[rows.. c!] weight[c] -> y[rows.. c] rstd[rows..]"), "");
  const std::pair<const char *, const char *> faults[] = {
      {"", "expected '->' but got ''"},
      {"x[c] weight[c]", "expected '->' but got ''"},
      {"x[c] weight[c] -> y[c] rstd[] -> z[c]", "unexpected '-> z[c]'"},
      {"x[c] w[c] -> y[c] rstd[]", "the operands differ from those of the record"},
      {"weight[c] x[c] -> y[c] rstd[]", "the operands differ from those of the record"},
      {"x[c] weight[c] -> y[c] rstd[] more[c]", "the operands differ from those of the record"},
      {"x[c weight[c] -> y[c] rstd[]", "expected a name but got '[c] -> y[c] rstd[]'"},
      {"x[c..] weight[c] -> y[c..] rstd[]", "'c' is a factor and a pack"},
      {"x[~c] weight[c] -> y[c] rstd[]", "expected a factor of an operand before"},
      {"x[c-epsilon] weight[c] -> y[c] rstd[]", "expected a pack of dims"},
      {"x[c]^epsilon weight[c] -> y[c] rstd[]", "expected two dims to exchange"},
      {"x[c!without] weight[c] -> y[c] rstd[]", "unknown attribute 'without'"},
      {"x[c] weight[c] -> y[c] rstd[rows..-dims]", "unknown attribute 'dims'"},
  };
  for (const auto &[dims, fault] : faults)
    EXPECT_EQ(faultOf(dims), fault) << dims;
  EXPECT_EQ(faultOf("updates[i.. c..] indices[i..] sum[v! c..] -> y[v c..]", KernelId::scatter_add),
            "a mark on the optional operand 'sum'");
}

using Shapes = std::vector<std::vector<std::int64_t>>;

/// The factors of each dim by number, such as "01! 2@|.": full and positioned ones, `.` for a repeated dim; or the
/// operand that does not fit.
std::string factorsOf(KernelId kernel, const Shapes &inputs, const Shapes &outputs,
                      const std::vector<Attributes::Item> &attributes = {}) {
  const std::vector<Extents> in(inputs.begin(), inputs.end()), out(outputs.begin(), outputs.end());
  ExtentProblem problem;
  const auto dims = launchDims(kernelRecord(kernel), Attributes(attributes), in, out, &problem);
  if (!dims)
    return (problem.isOutput ? "output " : "input ") + std::to_string(problem.operand) + ": " + problem.expected;
  std::string text;
  for (const auto *tensors : {&dims->inputs, &dims->outputs}) {
    for (const std::vector<LaunchDim> &tensor : *tensors) {
      for (const LaunchDim &dim : tensor) {
        for (int factor : dim.factors)
          text += std::to_string(factor) + (dims->factors[std::size_t(factor)].isFull ? "!" : "");
        text += dim.factors.empty() ? "." : dim.isPositioned ? "@" : "";
        text += ' ';
      }
      text += '|';
    }
    text += tensors == &dims->inputs ? "->" : "";
  }
  return text;
}

TEST(Signatures, PositionsUnderAnAttribute) {
  const Shapes q = {{2, 3, 4, 8}, {2, 5, 4, 8}, {2, 5, 4, 8}}, results = {{2, 3, 4, 8}, {2, 4, 3}};
  EXPECT_EQ(factorsOf(KernelId::attention, q, results).find('@'), std::string::npos);
  Shapes drawn = q;
  drawn.insert(drawn.end(), 3, {});
  const std::string factors = factorsOf(KernelId::attention, drawn, results, {number("dropout", 0.5)});
  EXPECT_EQ(factors.substr(factors.rfind("|", factors.size() - 2)), "|0@ 25!@ 4! |");
}

TEST(Signatures, RelateDims) {
  EXPECT_EQ(factorsOf(KernelId::rms_norm, {{2, 3}, {3}}, {{2, 3}, {2}}), "0 1! |1! |->0 1! |0 |");
  EXPECT_EQ(factorsOf(KernelId::add, {{2, 1}, {3}}, {{2, 3}}), "0 . |1 |->0 1 |");
  EXPECT_EQ(factorsOf(KernelId::matmul, {{5, 3, 2}, {3, 4}, {4}}, {{5, 2, 4}},
                      {integer("bias", 1), integer("transpose_a", 1)}),
            "0 3 1 |3 2 |2 |->0 1 2 |");
  EXPECT_EQ(factorsOf(KernelId::embedding, {{5, 4}, {2, 3}}, {{2, 3, 4}}), "0@ 1 |2 3 |->2 3 1 |");
  EXPECT_EQ(factorsOf(KernelId::scatter_add, {{2, 3, 4}, {2, 3}}, {{5, 4}}), "0 1 3 |0 1 |->2! 3 |");
  EXPECT_EQ(factorsOf(KernelId::attention, {{1, 2, 4, 8}, {1, 2, 2, 8}, {1, 2, 2, 8}}, {{1, 2, 4, 8}, {1, 4, 2}}),
            "0 4! 25 3! |0 1! 2 3! |0 1! 2 3! |->0 4! 25 3! |0 25 4! |");
  // A mask for all heads, and the gradient of a bias that repeats over the batch.
  EXPECT_EQ(factorsOf(KernelId::attention, {{3, 2, 4, 8}, {3, 5, 2, 8}, {3, 5, 2, 8}, {3, 1, 1, 5}},
                      {{3, 2, 4, 8}, {3, 4, 2}}, {integer("masked", 1)}),
            "0 4! 25 3! |0 1! 2 3! |0 1! 2 3! |0 . . 1! |->0 4! 25 3! |0 25 4! |");
  EXPECT_EQ(factorsOf(KernelId::attention_grad,
                      {{3, 2, 4, 8}, {3, 2, 4, 8}, {3, 5, 2, 8}, {3, 5, 2, 8}, {3, 2, 4, 8}, {3, 4, 2}, {1, 4, 2, 5}},
                      {{3, 2, 4, 8}, {3, 5, 2, 8}, {3, 5, 2, 8}, {1, 4, 2, 5}},
                      {integer("biased", 1), integer("bias_grad", 1)}),
            "0 4! 25 3! |0 4! 25 3! |0 1! 2 3! |0 1! 2 3! |0 4! 25 3! |0 25 4! |. 25 4! 1! |->"
            "0 4! 25 3! |0 1! 2 3! |0 1! 2 3! |. 25 4! 1! |");
  // Tensors of a list, and parameters of an update, have separate factors.
  EXPECT_EQ(factorsOf(KernelId::power_sum, {{2, 3}, {2}}, {{}}), "0 1 |2 |->|");
  EXPECT_EQ(factorsOf(KernelId::sgd, {{2}, {2}, {3}, {3}, {}, {}, {}, {}}, {{2}, {3}}), "0 |0 |1 |1 |||||->0 |1 |");
}

TEST(Signatures, DependOnAttributes) {
  EXPECT_EQ(factorsOf(KernelId::reduce_sum, {{2, 3}}, {{2}}, {list("dims", {1})}), "0 1 |->0 |");
  EXPECT_EQ(factorsOf(KernelId::reduce_sum, {{2, 3}}, {{2, 1}}, {list("dims", {1})}), "0 1 |->0 . |");
  EXPECT_EQ(factorsOf(KernelId::reduce_sum, {{2, 3}}, {{2}}, {list("dims", {1}), integer("mean", 1)}), "0 1! |->0 |");
  EXPECT_EQ(factorsOf(KernelId::argmax, {{2, 3, 4}}, {{2, 4}}, {integer("dim", 1)}), "0 1! 2 |->0 2 |");
  EXPECT_EQ(factorsOf(KernelId::iota, {}, {{2, 3}}, {integer("dim", 1)}), "->0@ 1! |");
  EXPECT_EQ(factorsOf(KernelId::cross_entropy, {{2, 3}, {2}}, {{}, {2}}), "0! 1! |0! |->|0! |");
  EXPECT_EQ(factorsOf(KernelId::cross_entropy, {{2, 3}, {2}}, {{}, {2}}, {integer("reduction", 1)}), "0 1! |0 |->|0 |");
}

TEST(Signatures, NameTheFirstOperandThatDoesNotFit) {
  EXPECT_EQ(factorsOf(KernelId::rms_norm, {{2, 3}, {4}}, {{2, 3}, {2}}), "input 1: [3]");
  EXPECT_EQ(factorsOf(KernelId::rms_norm, {{2, 3}, {3}}, {{2, 3}, {}}), "output 1: [2]");
  EXPECT_EQ(factorsOf(KernelId::rms_norm, {{}, {3}}, {{}, {}}), "input 0: [rows.., c]");
  EXPECT_EQ(factorsOf(KernelId::add, {{2, 2}, {3}}, {{2, 3}}), "input 0: [2 or 1, 3 or 1]");
  EXPECT_EQ(factorsOf(KernelId::matmul, {{2, 3}, {4, 5}}, {{2, 5}}), "input 1: [3, 5]");
  EXPECT_EQ(factorsOf(KernelId::attention, {{1, 2, 4, 8}, {1, 2, 3, 8}, {1, 2, 3, 8}}, {{1, 2, 4, 8}, {1, 4, 2}}),
            "output 0: [1, 2, a multiple of 3, 8]");
  EXPECT_EQ(factorsOf(KernelId::attention, {{3, 2, 4, 8}, {3, 5, 2, 8}, {3, 5, 2, 8}, {2, 1, 1, 5}},
                      {{3, 2, 4, 8}, {3, 4, 2}}, {integer("biased", 1)}),
            "input 3: [3 or 1, 4 or 1, 2 or 1, 5]");
  EXPECT_EQ(factorsOf(KernelId::norm_root, {{2}}, {{}}), "input 0: one element");
}

} // namespace
