//===- ContentsTest.cpp - which facts about a buffer remain and are joined (P9) ------------===//
//
// WindowContentsTest.cpp has random windows.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Contents.h"
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::check::proof {
namespace {

using test::ProofPlan;
constexpr auto f32 = plan::DType::f32, f64 = plan::DType::f64;

/// A window in elements of its type.
struct Window {
  std::int64_t offset;
  std::vector<std::int64_t> shape, strides;
  plan::DType dtype = f32;
};

class BufferContents : public testing::Test {
protected:
  BufferContents() {
    const std::uint32_t x = plan.input("x", {64}), scalar = plan.input("scalar", {});
    plan.end();
    buffer = plan.buffer("all", {256});
    numbering.emplace(plan.plan);
    contents.emplace(plan.plan, *numbering);
    root = numbering->value(x).root;
    rootOfScalar = numbering->value(scalar).root;
  }
  plan::ViewT viewOf(const Window &window) const {
    plan::ViewT view =
        plan.view(buffer, window.shape, std::uint64_t(window.offset) * (window.dtype == f64 ? 8 : 4), window.strides);
    view.dtype = window.dtype;
    return view;
  }
  void write(const Window &window, std::int64_t base = 0) {
    Reading reading;
    reading.meaning.root = root;
    reading.at = denseIndexing(window.shape);
    reading.at.base = base;
    contents->write(viewOf(window), reading);
  }
  bool isKnown(const Window &window) const { return contents->read(viewOf(window), false).has_value(); }

  ProofPlan plan;
  std::uint32_t buffer = 0;
  RootId root = 0, rootOfScalar = 0;
  std::optional<Numbering> numbering;
  std::optional<Contents> contents;
};

TEST_F(BufferContents, AWindowReplacesTheFactsThatItMayTouch) {
  struct Case {
    const char *name;
    Window before, after;
    bool remains;
  };
  const Window columns{8, {3, 2}, {5, 1}};
  // Rows of two, of which the second block begins in the middle of a period.
  const Window irregular{8, {2, 3, 2}, {22, 4, 1}};
  const Case cases[] = {
      {"next", {8, {4}, {1}}, {12, {4}, {1}}, true},
      {"before", {8, {4}, {1}}, {4, {4}, {1}}, true},
      {"its first element", {8, {4}, {1}}, {4, {5}, {1}}, false},
      {"its last element", {8, {4}, {1}}, {11, {4}, {1}}, false},
      {"other columns", columns, {10, {3, 3}, {5, 1}}, true},
      {"a common column", columns, {9, {3, 3}, {5, 1}}, false},
      {"other columns and the first of the next row", columns, {10, {3, 4}, {5, 1}}, false},
      {"a gap between two rows", columns, {10, {3}, {1}}, true},
      {"a gap and the begin of a row", columns, {10, {4}, {1}}, false},
      {"more than a row", columns, {10, {9}, {1}}, false},
      {"a row around a gap", {10, {9}, {1}}, columns, false},
      {"windows of another period", columns, {10, {2}, {4}}, false},
      {"a window in the first block of an irregular one", irregular, {10, {10, 2}, {4, 1}}, false},
      {"an irregular window in a regular one", {10, {10, 2}, {4, 1}}, irregular, false},
      {"numbers of another type after it", {8, {4}, {1}}, {6, {2}, {1}, f64}, true},
      {"numbers of another type before it", {8, {4}, {1}}, {2, {2}, {1}, f64}, true},
      {"numbers of another type over its end", {8, {4}, {1}}, {5, {2}, {1}, f64}, false},
      {"numbers of another type over its begin", {8, {4}, {1}}, {2, {3}, {1}, f64}, false},
      {"shorter numbers after it", {4, {2}, {1}, f64}, {12, {2}, {1}}, true},
      {"shorter numbers over its end", {4, {2}, {1}, f64}, {11, {2}, {1}}, false},
  };
  for (const Case &test : cases) {
    contents->clear(buffer);
    write(test.before);
    ASSERT_TRUE(isKnown(test.before)) << test.name;
    write(test.after, 40);
    EXPECT_EQ(isKnown(test.before), test.remains) << test.name;
    EXPECT_TRUE(isKnown(test.after)) << test.name;
  }
}

TEST_F(BufferContents, NeighboursOfOneTensorAreOneWindow) {
  struct Case {
    const char *name;
    Window first, second;
    std::int64_t base;
    Window both;
    bool isKnown;
  };
  const Case cases[] = {
      {"the next elements", {0, {4}, {1}}, {4, {4}, {1}}, 4, {0, {8}, {1}}, true},
      {"the elements before them", {4, {4}, {1}}, {0, {4}, {1}}, -4, {0, {8}, {1}}, true},
      {"other elements", {0, {4}, {1}}, {4, {4}, {1}}, 5, {0, {8}, {1}}, false},
      {"one element after another", {0, {1}, {1}}, {1, {1}, {1}}, 1, {0, {2}, {1}}, true},
      {"the same element", {0, {1}, {1}}, {1, {1}, {1}}, 0, {0, {2}, {1}}, true},
      {"the next rows", {0, {2, 3}, {5, 1}}, {10, {2, 3}, {5, 1}}, 6, {0, {4, 3}, {5, 1}}, true},
      {"one more row", {0, {2, 3}, {5, 1}}, {10, {3}, {1}}, 6, {0, {3, 3}, {5, 1}}, true},
      {"the next columns of other rows", {0, {2, 3}, {5, 1}}, {13, {3}, {1}}, 6, {0, {3, 3}, {5, 1}}, false},
      {"numbers of another type", {0, {4}, {1}}, {4, {4}, {1}, f64}, 4, {0, {8}, {1}}, false},
  };
  for (const Case &test : cases) {
    contents->clear(buffer);
    write(test.first, 8);
    write(test.second, 8 + test.base);
    EXPECT_EQ(isKnown(test.both), test.isKnown) << test.name;
    EXPECT_TRUE(isKnown(test.first)) << test.name;
    EXPECT_TRUE(isKnown(test.second)) << test.name;
  }
  // One element after the next one.
  contents->clear(buffer);
  write({0, {1}, {1}}, 5);
  write({1, {1}, {1}}, 4);
  EXPECT_FALSE(isKnown({0, {2}, {1}}));
}

TEST_F(BufferContents, NumbersAreReadInTheirTypeAndAtTheirPlaces) {
  write({2, {4}, {1}, f64});
  EXPECT_TRUE(isKnown({2, {4}, {1}, f64}));
  EXPECT_FALSE(isKnown({2, {4}, {1}}));
  EXPECT_FALSE(isKnown({4, {4}, {1}}));
  plan::ViewT view = viewOf({2, {2}, {1}, f64});
  view.offset += 4;
  EXPECT_FALSE(contents->read(view, false));
  EXPECT_FALSE(contents->read(viewOf({2, {0}, {1}, f64}), false));
}

TEST_F(BufferContents, TheFactsOfAWindowAreCounted) {
  const RootId none = 0;
  write({8, {4}, {1}});
  write({16, {4}, {1}}, 40);
  const auto isInSeveral = [&](std::int64_t first, std::int64_t last, RootId ignored) {
    return contents->isInSeveralFacts(viewOf({first, {last - first}, {1}}), ignored);
  };
  EXPECT_TRUE(isInSeveral(8, 20, none));
  EXPECT_TRUE(isInSeveral(11, 17, none));
  EXPECT_FALSE(isInSeveral(12, 17, none)) << "after the first fact";
  EXPECT_FALSE(isInSeveral(11, 16, none)) << "before the second one";
  EXPECT_FALSE(isInSeveral(8, 20, root));
}

/// The slices of a port are no neighbours of other facts, and are read with their distance.
TEST_F(BufferContents, SlicesOfAPortRemainSlices) {
  Fact slice;
  slice.meaning.root = rootOfScalar;
  slice.repetitionStride = 16;
  contents->of(buffer).push_back(slice);
  plan::ViewT port = viewOf({0, {}, {}});
  port.repetition_stride = 16;
  EXPECT_TRUE(contents->read(port, false));
  Reading same;
  same.meaning.root = rootOfScalar;
  for (const std::int64_t place : {1, 2})
    contents->write(viewOf({place, {}, {}}), same);
  EXPECT_TRUE(contents->read(port, false));
  EXPECT_FALSE(isKnown({0, {3}, {1}}));
  port.repetition_stride = 8;
  EXPECT_FALSE(contents->read(port, false));
}

} // namespace
} // namespace sluice::check::proof
