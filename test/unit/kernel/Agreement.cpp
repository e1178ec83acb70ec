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
  const std::vector<std::pair<Shape, Shape>> pairs = {{{3, 5, 17}, {3, 5, 17}},
                                                      {{3, 5, 17}, {17}},
                                                      {{3, 5, 17}, {5, 1}},
                                                      {{3, 5, 17}, {}},
                                                      {{1, 5, 1}, {3, 1, 17}},
                                                      {{5, 17}, {3, 5, 17}},
                                                      {{}, {9}},
                                                      {{}, {}}};
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
  forCases({{3, 5, 17}, {200, 3}, {130, 700}, {4, 2, 1}, {2, 130, 16}, {3, 70, 600}, {2, 3, 8}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             double rows = static_cast<double>(shape[0] * shape[1]);
             std::vector<std::int64_t> leading = {0};
             Shape kept(shape.begin() + 1, shape.end());
             compare({"reduce_sum", {}, 1, {list("dims", leading)}}, {Tensor(dtype, shape, layout).normal(9)},
                     {Tensor(dtype == DType::bf16 ? DType::f32 : dtype, kept)}, rows, what);
             if (shape.size() == 3)
               compare({"reduce_sum", {}, 1, {list("dims", {1, 0})}}, {Tensor(dtype, shape, layout).normal(9)},
                       {Tensor(dtype, {shape[2]})}, rows, what);
             for (std::int64_t mean : {0, 1})
               if (shape.size() == 3)
                 compare({"reduce_sum", {}, 1, {list("dims", {1}), integer("mean", mean)}},
                         {Tensor(dtype, shape, layout).normal(9)}, {Tensor(dtype, {shape[0], shape[2]})}, rows, what);
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
              {Tensor(dtype, {70, 333}).normal(42), Tensor(dtype, {9}).normal(43),
               Tensor(dtype, {3, 5}, Layout::padded).normal(44)},
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
            compare(
                {kernel, {}, 1, {number("momentum", momentum), number("weight_decay", 0.1), integer("nesterov", 1)}},
                inputs, outputs, 1, "");
          }
}

/// Inputs and outputs of an update of parameters of these shapes.
struct Listed {
  std::vector<Tensor> inputs, outputs;
};
Listed listed(const std::vector<Shape> &shapes, int states, DType gradient, Layout layout, unsigned first) {
  Listed all;
  unsigned seed = first;
  for (const Shape &shape : shapes) {
    const std::size_t begin = all.inputs.size();
    all.inputs.push_back(Tensor(DType::f32, shape, layout).normal(seed++));
    all.inputs.push_back(Tensor(gradient, shape, layout).normal(seed++));
    for (int s = 0; s < states; ++s) {
      all.inputs.push_back(Tensor(DType::f32, shape, layout).normal(seed++));
      for (std::int64_t i = 0; i < all.inputs.back().size(); ++i)
        all.inputs.back().set(i, std::fabs(all.inputs.back().at(i)));
    }
    for (int s = 0; s <= states; ++s)
      all.outputs.push_back(all.inputs[begin + (s == 0 ? 0 : 1 + static_cast<std::size_t>(s))]);
  }
  return all;
}

// An update of a list equals the updates of its parameters, to the bit and for any number of threads: parameters of no
// element, of one, of many chunks, dense and strided.
TEST(Agreement, UpdatesOfLists) {
  const std::vector<Shape> shapes = {{5, 37}, {0, 4}, {1}, {3, 16384}, {40000}, {}, {7, 11}};
  Tensor rate = scalar(DType::f32, 0.01), number64(DType::i64, {}), clip = scalar(DType::f32, 0.5),
         guard = scalar(DType::u8, 1);
  number64.set(0, 3);
  for (const char *kernel : {"sgd", "adam", "adamw"})
    for (DType gradient : {DType::f32, DType::bf16, DType::f64})
      for (Layout layout : {Layout::dense, Layout::padded})
        for (double momentum : {0.0, 0.9}) {
          const int states = std::string(kernel) != "sgd" ? 2 : momentum != 0 ? 1 : 0;
          const std::vector<Attributes::Item> items = {number("momentum", momentum), number("weight_decay", 0.1),
                                                       integer("nesterov", momentum != 0)};
          const Listed start = listed(shapes, states, gradient, layout, 90);
          const auto run = [&](Listed &data, std::size_t input, std::size_t inputs, std::size_t output,
                               std::size_t outputs, int threads) {
            std::vector<Tensor *> in, out;
            for (std::size_t i = 0; i < inputs; ++i)
              in.push_back(&data.inputs[input + i]);
            for (Tensor *shared : {&rate, &number64, &clip, &guard})
              in.push_back(shared);
            for (std::size_t i = 0; i < outputs; ++i)
              out.push_back(&data.outputs[output + i]);
            mustRun({kernel, KernelFlavour::fast, threads, items}, in, out);
          };
          Listed separate = start;
          const std::size_t in = 2 + static_cast<std::size_t>(states), out = in - 1;
          for (std::size_t p = 0; p < shapes.size(); ++p)
            run(separate, p * in, in, p * out, out, 1);
          for (int threads : {1, 2, 3}) {
            Listed together = start;
            run(together, 0, together.inputs.size(), 0, together.outputs.size(), threads);
            for (std::size_t i = 0; i < together.outputs.size(); ++i)
              EXPECT_EQ(together.outputs[i].memory, separate.outputs[i].memory)
                  << kernel << " of " << dtypeName(gradient) << ", output " << i << ", " << threads << " threads";
          }
          for (std::size_t i = 0; i < separate.outputs.size(); ++i)
            if (separate.outputs[i].size() != 0) {
              EXPECT_NE(separate.outputs[i].memory, start.outputs[i].memory) << kernel << ", output " << i;
            }
          std::vector<Tensor> inputs = start.inputs;
          for (const Tensor *shared : {&rate, &number64, &clip, &guard})
            inputs.push_back(*shared);
          compare({kernel, {}, 1, items}, inputs, start.outputs, 1, "list");
        }
}

// A list whose length is not a multiple is refused.
TEST(Agreement, RefusesBadLists) {
  Listed data = listed({{4}, {5}}, 2, DType::f32, Layout::dense, 90);
  for (Tensor shared : {scalar(DType::f32, 0.01), scalar(DType::i64, 1), scalar(DType::f32, 1), scalar(DType::u8, 1)})
    data.inputs.push_back(shared);
  const auto refusal = [&] {
    std::vector<Tensor *> in, out;
    for (Tensor &tensor : data.inputs)
      in.push_back(&tensor);
    for (Tensor &tensor : data.outputs)
      out.push_back(&tensor);
    return tryRun({"adamw"}, in, out).message();
  };
  EXPECT_EQ(refusal(), "");
  std::swap(data.inputs[5], data.inputs[1]);
  EXPECT_EQ(refusal(), "kernel 'adamw' input 1 extents, expected [4] but got [5]");
  std::swap(data.inputs[5], data.inputs[1]);
  data.outputs.pop_back();
  EXPECT_EQ(refusal(), "kernel 'adamw' inputs, expected 8 but got 12");
}

} // namespace
