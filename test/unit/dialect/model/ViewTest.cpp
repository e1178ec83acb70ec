//===- ViewTest.cpp - views of movement ops -------------------------------------------===//

#include "test/unit/dialect/model/Programs.h"

using namespace mlir;

namespace sluice::model::test {
namespace {

StridedLayout dense(ArrayRef<int64_t> shape) {
  StridedLayout layout{0, SmallVector<int64_t>(shape), SmallVector<int64_t>(shape.size(), 1)};
  for (size_t d = shape.size(); d-- > 1;)
    layout.strides[d - 1] = layout.strides[d] * shape[d];
  return layout;
}

/// Addresses of all elements in row-major order.
SmallVector<int64_t> addresses(const StridedLayout &layout) {
  SmallVector<int64_t> all = {layout.offset};
  for (size_t d = 0; d < layout.shape.size(); ++d) {
    SmallVector<int64_t> next;
    for (int64_t base : all)
      for (int64_t i = 0; i < layout.shape[d]; ++i)
        next.push_back(base + i * layout.strides[d]);
    all = next;
  }
  return all;
}

/// The view of the last view op's result 0 through all views before it, from a dense buffer.
struct Views : testing::Test {
  FailureOr<StridedLayout> through(StringRef body, unsigned result = 0) {
    auto module = programs.parse(("func.func @f(%x: tensor<2x6x4xf32>) {\n" + body + "\nreturn }").str());
    FailureOr<StridedLayout> layout = dense({2, 6, 4});
    SmallVector<ViewOpInterface> ops;
    module->walk([&](ViewOpInterface op) { ops.push_back(op); });
    for (ViewOpInterface op : ops)
      if (succeeded(layout))
        layout = op.getViewOf(op == ops.back() ? result : 0, *layout);
    return layout;
  }
  Programs programs;
};

TEST_F(Views, ReshapeOfDenseMemoryIsDense) {
  auto layout = through("%0 = model.reshape %x : (tensor<2x6x4xf32>) -> tensor<3x1x16xf32>");
  ASSERT_TRUE(succeeded(layout));
  EXPECT_EQ(addresses(dense({48})), addresses(*layout));
  EXPECT_EQ((SmallVector<int64_t>{3, 1, 16}), layout->shape);
}

TEST_F(Views, SplitStartsAtThePart) {
  auto layout = through("%0:3 = model.split %x {dim = 1 : i64} : (tensor<2x6x4xf32>) -> (tensor<2x1x4xf32>, "
                        "tensor<2x3x4xf32>, tensor<2x2x4xf32>)",
                        2);
  ASSERT_TRUE(succeeded(layout));
  EXPECT_EQ((SmallVector<int64_t>{16, 17, 18, 19, 20, 21, 22, 23, 40, 41, 42, 43, 44, 45, 46, 47}), addresses(*layout));
}

// The heads of a fused product: a reshape of a part needs no copy if it splits a dim, and needs one if it merges dims
// that are not adjacent.
TEST_F(Views, ReshapeOfAPartSplitsDims) {
  StringRef split =
      "%0:2 = model.split %x {dim = 2 : i64} : (tensor<2x6x4xf32>) -> (tensor<2x6x2xf32>, tensor<2x6x2xf32>)\n";
  auto cut = through((split + "%1 = model.reshape %0#0 : (tensor<2x6x2xf32>) -> tensor<2x6x2x1xf32>").str());
  ASSERT_TRUE(succeeded(cut));
  EXPECT_EQ((SmallVector<int64_t>{24, 4, 1, 1}), cut->strides);
  auto merged = through((split + "%1 = model.reshape %0#0 : (tensor<2x6x2xf32>) -> tensor<12x2xf32>").str());
  ASSERT_TRUE(succeeded(merged));
  EXPECT_EQ((SmallVector<int64_t>{4, 1}), merged->strides);
  EXPECT_TRUE(failed(through((split + "%1 = model.reshape %0#0 : (tensor<2x6x2xf32>) -> tensor<2x12xf32>").str())));
}

TEST_F(Views, ReshapeOfATransposeNeedsACopy) {
  StringRef transpose =
      "%0 = model.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x6x4xf32>) -> tensor<6x2x4xf32>\n";
  auto moved = through(transpose);
  ASSERT_TRUE(succeeded(moved));
  EXPECT_EQ((SmallVector<int64_t>{4, 24, 1}), moved->strides);
  EXPECT_TRUE(failed(through((transpose + "%1 = model.reshape %0 : (tensor<6x2x4xf32>) -> tensor<12x4xf32>").str())));
  EXPECT_TRUE(
      succeeded(through((transpose + "%1 = model.reshape %0 : (tensor<6x2x4xf32>) -> tensor<6x2x2x2xf32>").str())));
}

TEST_F(Views, SliceSteps) {
  auto layout = through(
      "%0 = model.slice %x {start = array<i64: 1, 1, 0>, limit = array<i64: 2, 6, 4>, step = array<i64: 1, 3, 2>} "
      ": (tensor<2x6x4xf32>) -> tensor<1x2x2xf32>");
  ASSERT_TRUE(succeeded(layout));
  EXPECT_EQ((SmallVector<int64_t>{28, 30, 40, 42}), addresses(*layout));
}

TEST_F(Views, BroadcastRepeats) {
  auto layout = through(
      "%0 = model.slice %x {start = array<i64: 0, 0, 3>, limit = array<i64: 2, 1, 4>, step = array<i64: 1, 1, 1>} : "
      "(tensor<2x6x4xf32>) -> tensor<2x1x1xf32>\n"
      "%1 = model.broadcast %0 : (tensor<2x1x1xf32>) -> tensor<2x2x2x1xf32>");
  ASSERT_TRUE(succeeded(layout));
  EXPECT_EQ((SmallVector<int64_t>{3, 3, 27, 27, 3, 3, 27, 27}), addresses(*layout));
}

TEST_F(Views, ConcatOperandsAreAdjacent) {
  auto module = programs.parse(
      "func.func @f(%x: tensor<2x1xf32>, %y: tensor<2x2xf32>) {\n"
      "%0 = model.concat %x, %y {dim = 1 : i64} : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>\n"
      "return }");
  auto concat = programs.first<ConcatOp>(*module);
  EXPECT_EQ((SmallVector<int64_t>{0, 3}), addresses(concat.getOperandWindow(0, dense({2, 3}))));
  EXPECT_EQ((SmallVector<int64_t>{1, 2, 4, 5}), addresses(concat.getOperandWindow(1, dense({2, 3}))));
}

} // namespace
} // namespace sluice::model::test
