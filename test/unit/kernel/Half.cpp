//===- Half.cpp - kernels on f16 -----------------------------------------------===//
//
// f16 has no fast forms. A kernel must give, on the same numbers, what it gives in f32, rounded once.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

Tensor as(DType dtype, const Tensor &from, const Shape &shape) {
  Tensor to(dtype, shape);
  for (std::int64_t i = 0; i < from.size(); ++i)
    to.set(i, from.at(i));
  return to;
}

void compare(const Run &run, const std::vector<Shape> &inputs, const Shape &output) {
  std::vector<Tensor> half, single;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    half.push_back(Tensor(DType::f16, inputs[i]).normal(static_cast<std::uint64_t>(70 + i)));
    single.push_back(as(DType::f32, half.back(), inputs[i]));
  }
  Tensor got(DType::f16, output), want(DType::f32, output);
  std::vector<Tensor *> halves, singles;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    halves.push_back(&half[i]);
    singles.push_back(&single[i]);
  }
  mustRun(run, halves, {&got});
  mustRun(run, singles, {&want});
  expectNear(got, want.values(), 0x1p-10, 0x1p-20, run.kernel + " in f16");
}

TEST(Half, Matmul) {
  for (int form = 0; form < 8; ++form) {
    bool ta = form & 1, tb = form & 2, more = form & 4;
    std::vector<Shape> inputs = {ta ? Shape{2, 9, 5} : Shape{2, 5, 9}, tb ? Shape{70, 9} : Shape{9, 70}};
    if (more) {
      inputs.push_back({70});
      inputs.push_back({2, 5, 70});
    }
    compare({"matmul", {}, 1,
             {integer("transpose_a", ta), integer("transpose_b", tb), integer("bias", more), integer("residual", more)}},
            inputs, {2, 5, 70});
  }
}

TEST(Half, Others) {
  const Shape rows = {3, 7};
  for (const char *kernel : {"exp", "tanh", "gelu", "silu", "softmax", "relu", "sigmoid"})
    compare({kernel}, {rows}, rows);
  for (const char *kernel : {"add", "multiply", "swiglu", "gelu_grad", "silu_grad", "softmax_grad"})
    compare({kernel}, {rows, rows}, rows);
  compare({"reduce_sum", {}, 1, {list("dims", {0})}}, {rows}, {7});
  const std::vector<Attributes::Item> window = {list("stride", {1, 2}), list("padding", {1, 0}), list("dilation", {1, 1})};
  compare({"conv2d", {}, 1, window}, {{2, 5, 6, 3}, {4, 3, 3, 2}}, {2, 5, 3, 4});
}

} // namespace
