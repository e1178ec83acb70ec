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

/// Of rows of three elements, at a distance of four.
TEST_F(BufferContents, PaddingIsNotJoinedWithElements) {
  const auto writeRows = [&](std::int64_t offset, std::int64_t base) {
    Reading reading;
    reading.meaning.root = root;
    reading.meaning.bounds = {{3, 0}};
    reading.at = {base, {{{2, 4}}, {{2, 1}}}};
    contents->write(viewOf({offset, {2, 2}, {2, 1}}), reading);
  };
  writeRows(0, 0);
  // Element 8 is the last one of its row: element 9 is padding.
  writeRows(4, 8);
  EXPECT_TRUE(isKnown({4, {2, 2}, {2, 1}}));
  EXPECT_FALSE(isKnown({0, {4, 2}, {2, 1}}));
}

TEST_F(BufferContents, AWindowPastAllElementsIsUnknown) {
  write({0, {64}, {1}});
  const auto isRead = [&](std::int64_t offset, std::int64_t count) {
    return contents->read(viewOf({offset, {count}, {1}}), /*padding=*/true).has_value();
  };
  EXPECT_TRUE(isRead(60, 8));
  EXPECT_FALSE(isRead(64, 4));
  EXPECT_FALSE(isRead(70, 4));
}

TEST_F(BufferContents, OnlyWrittenPaddingIsZeros) {
  Reading reading;
  reading.meaning.root = root;
  reading.meaning.zeros = {64};
  reading.at = denseIndexing(Shape{72});
  contents->write(viewOf({0, {72}, {1}}), reading);
  const auto zerosOf = [&](std::int64_t count) {
    return contents->read(viewOf({0, {count}, {1}}), /*padding=*/true)->meaning.zeros;
  };
  EXPECT_EQ(zerosOf(72), reading.meaning.zeros);
  EXPECT_EQ(zerosOf(73), Shape());
}

/// After three rows of three elements there is a place without an element.
TEST_F(BufferContents, ASequenceMayNotPassAGap) {
  Reading reading;
  reading.meaning.root = root;
  reading.at = {0, {{{3, 20}}, {{3, 4}}, {{3, 1}}}};
  contents->write(viewOf({0, {3, 3, 3}, {10, 3, 1}}), reading);
  EXPECT_TRUE(isKnown({0, {9}, {1}}));
  EXPECT_FALSE(isKnown({0, {12}, {1}}));
  EXPECT_FALSE(isKnown({1, {9}, {1}}));
}

TEST_F(BufferContents, ASequenceMayContinueInTheNextRow) {
  Reading reading;
  reading.meaning.root = root;
  reading.at = {0, {{{3, 10}}, {{4, 1}}}};
  contents->write(viewOf({0, {3, 4}, {4, 1}}), reading);
  const std::optional<Reading> odd = contents->read(viewOf({1, {6}, {2}}), /*padding=*/false);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->at, (Indexing{1, {{{3, 10}, {2, 2}}}}));
  EXPECT_FALSE(isKnown({3, {6}, {2}}));
}

TEST_F(BufferContents, BoundsThatExcludeElementsAreNotUnited) {
  const auto fact = [&](std::int64_t extent, std::vector<Bound> bounds) {
    Fact made;
    made.meaning.root = root;
    made.meaning.bounds = std::move(bounds);
    made.loops = {{extent, 1, 1}};
    return made;
  };
  const auto areUnited = [&](Fact a, Fact b) { return contents->uniteBounds(a, b) && a.meaning == b.meaning; };
  const std::vector<Bound> rows{{3, 0}};
  EXPECT_TRUE(areUnited(fact(3, {}), fact(4, rows)));
  EXPECT_TRUE(areUnited(fact(4, rows), fact(3, {})));
  EXPECT_TRUE(areUnited(fact(2, rows), fact(3, rows))) << "equal bounds that exclude nothing";
  EXPECT_FALSE(areUnited(fact(4, {}), fact(4, rows)));
  EXPECT_FALSE(areUnited(fact(4, rows), fact(4, {})));
}

/// Blocks of two rows of three elements, in places of eight; the blocks begin 4 elements apart, the rows 3. The last
/// two blocks have one element of each row: what follows it is not known.
TEST_F(BufferContents, RowsThatEndAtOtherPlacesAreNotJoined) {
  Reading reading;
  reading.meaning.root = root;
  reading.at = {0, {{{2, 4}}, {{2, 3}}, {{3, 1}}}};
  contents->write(viewOf({0, {2, 2, 3}, {16, 8, 1}}), reading);
  reading.at = {8, {{{2, 4}}, {{2, 3}}}};
  contents->write(viewOf({32, {2, 2}, {16, 8}}), reading);
  EXPECT_FALSE(contents->read(viewOf({0, {4, 2, 3}, {16, 8, 1}}), /*padding=*/true));
}

/// Rows of two elements in places of three: two rows, and then one after the other, every second of them with zeros in
/// its padding.
TEST_F(BufferContents, AReadHasALimitOfFacts) {
  const auto isRead = [&](std::int64_t count) {
    contents->clear(buffer);
    for (std::int64_t row = 0, next = 2; row < count; row = next++) {
      Reading reading;
      reading.meaning.root = root;
      if (row != 0 && row % 2 == 0)
        reading.meaning.zeros = {64};
      reading.at = denseIndexing(Shape{next - row, 2});
      reading.at.base = row * 2;
      contents->write(viewOf({row * 3, {next - row, 2}, {3, 1}}), reading);
    }
    return contents->read(viewOf({0, {count, 3}, {3, 1}}), /*padding=*/true).has_value();
  };
  EXPECT_TRUE(isRead(65));
  EXPECT_FALSE(isRead(66));
}

/// The time of a write grows with the facts, so there are not more than some hundred.
TEST(ManyFacts, AreForgotten) {
  ProofPlan plan({{"shard", 2}});
  const std::uint32_t in = plan.input("x", {4}), all = plan.buffer("all", {1024}), other = plan.buffer("other", {1024});
  plan.end({in});
  Numbering numbering(plan.plan);
  Contents contents(plan.plan, numbering);
  for (std::int64_t k = 0; k < 1024; ++k) {
    Reading number;
    number.meaning.root = numbering.constant(double(k));
    number.at = uniformIndexing({});
    contents.write(plan.view(all, {}, std::uint64_t(k) * 4), number);
  }
  const auto isKnown = [&](std::uint32_t buffer, std::int64_t k) {
    return contents.read(plan.view(buffer, {}, std::uint64_t(k) * 4), false).has_value();
  };
  EXPECT_TRUE(isKnown(all, 0));
  EXPECT_TRUE(isKnown(all, 511));
  EXPECT_FALSE(isKnown(all, 512));
  EXPECT_EQ(contents.of(all).size(), 512u);
  for (std::int64_t half : {0, 512})
    contents.copy(plan.view(all, {512}), plan.view(other, {512}, std::uint64_t(half) * 4));
  EXPECT_TRUE(isKnown(other, 511));
  EXPECT_EQ(contents.of(other).size(), 512u);
  // A window that replaces them leaves room.
  contents.forget(plan.view(all, {512}));
  EXPECT_FALSE(isKnown(all, 0));
}

} // namespace
} // namespace sluice::check::proof
