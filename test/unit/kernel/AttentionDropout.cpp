//===- AttentionDropout.cpp - dropout of the probabilities of attention ----------===//
#include "Agreement.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Problem {
  std::int64_t batch, queries, keys, heads, keyHeads, size;
};

std::vector<Tensor> randomSource() { return {scalar(DType::i64, 42), scalar(DType::i64, 3), scalar(DType::i64, 12)}; }

TEST(AttentionDropout, FastFormsAgree) {
  for (const Problem &c : {Problem{3, 7, 7, 4, 2, 5}, Problem{2, 18, 70, 2, 1, 16}, Problem{1, 1, 3, 1, 1, 4},
                           Problem{1, 10, 300, 1, 1, 33}, Problem{0, 3, 5, 2, 1, 4}, Problem{1, 100, 100, 1, 1, 64}})
    for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::f16})
      // Full, causal, under a window, and under a mask and a bias.
      for (int form : {0, 1, 2, 3}) {
        if ((form == 1 || form == 2) && c.keys < c.queries)
          continue;
        const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
        const Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size},
                    bias = {1, c.heads, c.queries, c.keys};
        std::vector<Attributes::Item> attributes = {number("scale", 0.3),
                                                    integer("causal", form == 1 || form == 2),
                                                    integer("window", form == 2 ? 5 : 0),
                                                    integer("masked", form == 3),
                                                    integer("biased", form == 3),
                                                    number("dropout", 0.3),
                                                    integer("key", 6)};
        Tensor query = Tensor(dtype, q).normal(25), key = Tensor(dtype, k).normal(26),
               value = Tensor(dtype, k).normal(27), out(dtype, q), lse(statistics, {c.batch, c.heads, c.queries});
        std::vector<Tensor> inputs = {query, key, value};
        if (form == 3) {
          inputs.push_back(randomMask({c.batch, 1, 1, c.keys}, 50));
          inputs.push_back(randomBias(dtype, bias, 51));
        }
        for (const Tensor &number : randomSource())
          inputs.push_back(number);
        const std::string what = std::string(dtypeName(dtype)) + " form " + std::to_string(form);
        const double units = static_cast<double>(std::max<std::int64_t>(60, 4 * c.size));
        compare({"attention", {}, 1, attributes}, inputs, {out, lse}, units, what);
        mustRun({"attention", KernelFlavour::reference, 1, attributes}, pointers(inputs), {&out, &lse});
        std::vector<Tensor> gradInputs = {Tensor(dtype, q).normal(28), query, key, value, out, lse},
                            gradients = {Tensor(dtype, q), Tensor(dtype, k), Tensor(dtype, k)};
        gradInputs.insert(gradInputs.end(), inputs.begin() + 3, inputs.end());
        if (form == 3) {
          attributes.push_back(integer("bias_grad", 1));
          gradients.push_back(Tensor(dtype, bias));
        }
        compare({"attention_grad", {}, 1, attributes}, gradInputs, gradients, 400, what);
      }
}

/// Scores of 0 and values of unit vectors: the result is the dropout of probabilities, all 1 / keys.
TEST(AttentionDropout, MaskIsThatOfDropout) {
  constexpr std::int64_t batch = 2, heads = 3, queries = 5, keys = 8;
  const std::vector<Attributes::Item> attributes = {number("scale", 1), number("dropout", 0.4), integer("key", 6)};
  for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
    Tensor query(DType::f32, {batch, queries, heads, keys}), key(DType::f32, {batch, keys, heads, keys}),
        value(DType::f32, {batch, keys, heads, keys}), out(DType::f32, {batch, queries, heads, keys}),
        lse(DType::f32, {batch, heads, queries}), ones(DType::f32, {batch, heads, queries, keys});
    for (Tensor *zeros : {&query, &key, &value})
      zeros->fill(std::vector<double>(static_cast<std::size_t>(zeros->size()), 0));
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t j = 0; j < keys; ++j)
        for (std::int64_t h = 0; h < heads; ++h)
          value.set(((b * keys + j) * heads + h) * keys + j, 1);
    ones.fill(std::vector<double>(static_cast<std::size_t>(ones.size()), 1));
    std::vector<Tensor> numbers = randomSource();
    Tensor kept = ones;
    mustRun({"dropout", flavour, 1, {number("rate", 0.4), integer("key", 6)}},
            {&ones, &numbers[0], &numbers[1], &numbers[2]}, {&kept});
    mustRun({"attention", flavour, 1, attributes}, {&query, &key, &value, &numbers[0], &numbers[1], &numbers[2]},
            {&out, &lse});
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t t = 0; t < queries; ++t)
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t j = 0; j < keys; ++j) {
            const double expected = kept.at(((b * heads + h) * queries + t) * keys + j) / keys;
            EXPECT_NEAR(out.at(((b * queries + t) * heads + h) * keys + j), expected, 1e-6);
          }
  }
}

/// Rows of another rank, and heads of another rank.
TEST(AttentionDropout, AnySplitGivesTheSameResult) {
  const std::vector<Attributes::Item> attributes = {number("scale", 0.5), number("dropout", 0.4), integer("key", 6)};
  const Shape all = {4, 5, 6, 3};
  std::vector<Tensor> inputs = {Tensor(DType::f32, all).normal(1), Tensor(DType::f32, all).normal(2),
                                Tensor(DType::f32, all).normal(3)};
  const std::vector<Tensor> numbers = randomSource();
  inputs.insert(inputs.end(), numbers.begin(), numbers.end());
  Tensor whole(DType::f32, all), lse(DType::f32, {4, 6, 5});
  mustRun({"attention", {}, 1, attributes}, pointers(inputs), {&whole, &lse});
  for (int dim : {0, 2}) {
    const std::int64_t begin = all[std::size_t(dim)] / 2, count = all[std::size_t(dim)] - begin;
    Shape shape = all;
    shape[std::size_t(dim)] = count;
    const auto at = [&](std::int64_t i) {
      std::int64_t index = 0;
      std::int64_t position[4];
      for (int d = 3; d >= 0; --d) {
        position[d] = i % shape[std::size_t(d)];
        i /= shape[std::size_t(d)];
      }
      position[dim] += begin;
      for (int d = 0; d < 4; ++d)
        index = index * all[std::size_t(d)] + position[d];
      return index;
    };
    std::vector<Tensor> parts;
    for (int k = 0; k < 3; ++k) {
      Tensor part(DType::f32, shape);
      for (std::int64_t i = 0; i < part.size(); ++i)
        part.set(i, inputs[std::size_t(k)].at(at(i)));
      parts.push_back(part);
    }
    parts.insert(parts.end(), numbers.begin(), numbers.end());
    Tensor out(DType::f32, shape), statistics(DType::f32, {shape[0], shape[2], 5});
    statistics.operand.global = lse.operand.global;
    statistics.operand.origin[dim == 0 ? 0 : 1] = begin;
    mustRun({"attention", {}, 1, attributes}, pointers(parts), {&out, &statistics});
    for (std::int64_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out.at(i), whole.at(at(i))) << dim << " " << i;
  }
}

TEST(AttentionDropout, RefusesBadOperands) {
  Tensor q(DType::f32, {1, 2, 1, 4}), lse(DType::f32, {1, 1, 2}), i = scalar(DType::i64, 0),
                                                                  narrow = scalar(DType::i32, 0);
  const auto refuses = [&](std::vector<Tensor *> inputs, double rate, const std::string &text) {
    const Status status = tryRun({"attention", {}, 1, {number("dropout", rate)}}, inputs, {&q, &lse});
    EXPECT_FALSE(status.isOk());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  refuses({&q, &q, &q, &i, &i, &i}, 1, "dropout, expected at least 0 and less than 1 but got 1");
  refuses({&q, &q, &q, &narrow, &i, &i}, 0.5, "expected i64 but got i32");
  refuses({&q, &q, &q, &i, &i}, 0.5, "inputs, expected 6 but got 5");
}

} // namespace
