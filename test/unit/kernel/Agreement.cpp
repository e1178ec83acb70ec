//===- Agreement.cpp - pointwise kernels, copies, sums and updates ------------===//
#include "Agreement.h"

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Agreement, Unary) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (const char *kernel : {"negate", "exp", "relu", "scale", "tanh", "sin", "cos", "erf"})
      compare({kernel, {}, 1, {number("factor", 0.37)}}, {Tensor(dtype, shape, layout).normal(1, 3)},
              {Tensor(dtype, shape, layout)}, 1, what);
    Tensor positive(dtype, shape, layout);
    positive.normal(2);
    for (std::int64_t i = 0; i < positive.size(); ++i)
      positive.set(i, std::fabs(positive.at(i)) + 0.01);
    for (const char *kernel : {"sqrt", "rsqrt", "log"})
      compare({kernel}, {positive}, {Tensor(dtype, shape, layout)}, 1, what);
  });
}

TEST(Agreement, BinaryWithBroadcasting) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{3, 5, 17}, {3, 5, 17}}, {{3, 5, 17}, {17}},   {{3, 5, 17}, {5, 1}}, {{3, 5, 17}, {}},
      {{1, 5, 1}, {3, 1, 17}},  {{5, 17}, {3, 5, 17}}, {{}, {9}},           {{}, {}}};
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const auto &[left, right] : pairs) {
        Shape out(std::max(left.size(), right.size()), 1);
        for (const Shape *side : {&left, &right})
          for (std::size_t d = 0; d < side->size(); ++d)
            out[out.size() - side->size() + d] = std::max(out[out.size() - side->size() + d], (*side)[d]);
        for (const char *kernel : {"add", "subtract", "multiply", "divide", "maximum"})
          compare({kernel}, {Tensor(dtype, left, layout).normal(3), Tensor(dtype, right, layout).normal(4)},
                  {Tensor(dtype, out, layout)}, 1, label(dtype, left, layout) + " and " + label(dtype, right, layout));
      }
}

TEST(Agreement, Casts) {
  for (DType from : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i32})
    for (DType to : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i64, DType::u8})
      for (Layout layout : {Layout::dense, Layout::padded})
        compare({"cast"}, {Tensor(from, {3, 37}, layout).normal(5, 30)}, {Tensor(to, {3, 37}, layout)}, 1,
                std::string(dtypeName(from)) + " to " + std::string(dtypeName(to)));
}

TEST(Agreement, Copies) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (Layout to : {Layout::dense, Layout::padded, Layout::permuted})
      compare({"copy"}, {Tensor(dtype, shape, layout).normal(6)}, {Tensor(dtype, shape, to)}, 1, what);
  });
  compare({"copy"}, {Tensor(DType::f32, {5, 1}).normal(7)}, {Tensor(DType::f32, {3, 5, 9})}, 1, "repeated");
  for (DType dtype : {DType::u8, DType::i32, DType::i64, DType::f16})
    compare({"copy"}, {Tensor(dtype, {4, 9}, Layout::permuted).below(8, 100)}, {Tensor(dtype, {4, 9})}, 1, "integers");
}

TEST(Agreement, Constant) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      compare({"constant", {}, 1, {number("value", 3)}}, {}, {Tensor(dtype, {5, 7}, layout)}, 1, "");
}

TEST(Agreement, ReduceSum) {
  forCases({{3, 5, 17}, {200, 3}, {130, 700}, {4, 2, 1}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             double rows = static_cast<double>(shape[0] * shape[1]);
             std::vector<std::int64_t> leading = {0};
             Shape kept(shape.begin() + 1, shape.end());
             compare({"reduce_sum", {}, 1, {list("dims", leading)}}, {Tensor(dtype, shape, layout).normal(9)},
                     {Tensor(dtype == DType::bf16 ? DType::f32 : dtype, kept)}, rows, what);
             if (shape.size() == 3)
               compare({"reduce_sum", {}, 1, {list("dims", {1, 0})}}, {Tensor(dtype, shape, layout).normal(9)},
                       {Tensor(dtype, {shape[2]})}, rows, what);
           });
}

TEST(Agreement, AccumulateAndPowerSum) {
  for (DType from : floats)
    for (DType to : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (std::int64_t first : {0, 1})
          compare({"accumulate", {}, 1, {integer("first", first)}}, {Tensor(from, {5, 37}, layout).normal(40)},
                  {Tensor(to, {5, 37}, layout).normal(41)}, 1, "");
  for (DType dtype : floats)
    for (double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
      compare({"power_sum", {}, 1, {number("p", p)}},
              {Tensor(dtype, {70, 333}).normal(42), Tensor(dtype, {9}).normal(43), Tensor(dtype, {3, 5}, Layout::padded).normal(44)},
              {Tensor(DType::f32, {})}, 1, "");
}

TEST(Agreement, Optimizers) {
  for (const char *kernel : {"sgd", "adam", "adamw"})
    for (DType gradient : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (std::int64_t step : {1, 5})
          for (double momentum : {0.0, 0.9}) {
            bool sgd = std::string(kernel) == "sgd";
            int states = !sgd ? 2 : momentum != 0 ? 1 : 0;
            Tensor parameter(DType::f32, {5, 37}, layout), square(DType::f32, {5, 37}, layout);
            parameter.normal(45), square.normal(46);
            for (std::int64_t i = 0; i < square.size(); ++i)
              square.set(i, square.at(i) * square.at(i));
            std::vector<Tensor> state = {Tensor(DType::f32, {5, 37}, layout).normal(47), square};
            std::vector<Tensor> inputs = {parameter, Tensor(gradient, {5, 37}, layout).normal(48)};
            std::vector<Tensor> outputs = {Tensor(DType::f32, {5, 37}, layout)};
            for (int i = 0; i < states; ++i) {
              inputs.push_back(state[static_cast<std::size_t>(i)]);
              outputs.emplace_back(DType::f32, Shape{5, 37}, layout);
            }
            Tensor number64(DType::i64, {});
            number64.set(0, static_cast<double>(step));
            inputs.push_back(scalar(DType::f32, 0.01));
            inputs.push_back(number64);
            inputs.push_back(scalar(DType::f32, 0.5));
            inputs.push_back(scalar(DType::u8, 1));
            compare({kernel, {}, 1, {number("momentum", momentum), number("weight_decay", 0.1), integer("nesterov", 1)}},
                    inputs, outputs, 1, "");
          }
}

} // namespace
