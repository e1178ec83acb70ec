//===- WindowsTest.cpp - strided writes give values to the bytes that they write ----===//
//
// Launches write columns of a matrix, and a copy reads all of it or some columns.
//
//===----------------------------------------------------------------------===//
#include "SmallPlan.h"

namespace sluice::test {
namespace {

class Columns : public SmallPlan {
public:
  static constexpr std::int64_t rows = 6, columns = 8;
  const std::uint32_t matrix, out = buffer("out", {rows, columns});

  Columns() : matrix(buffer("matrix", {rows, columns})) { section(); }

  plan::ViewT window(std::int64_t first, std::int64_t count) const {
    return view(matrix, {rows, count}, std::uint64_t(first) * 4, {columns, 1});
  }
  void write(std::int64_t first, std::int64_t count) { fill(compute, window(first, count), 1); }
  void readAll() { copy(compute, view(matrix), view(out)); }
  void read(std::int64_t first, std::int64_t count) { copy(compute, window(first, count), view(out, {rows, count})); }
  /// The first columns of all rows, and these again.
  void readTwice(std::int64_t count) {
    copy(compute, view(matrix, {2, rows, count}, 0, {0, columns, 1}), view(buffer("twice", {2, rows, count})));
  }
  void expectUnwritten() { expectRefused(2, "reads bytes of buffer 'matrix' that no instruction has written"); }
};

TEST(Windows, HalfOfTheColumnsIsNotAll) {
  Columns plan;
  plan.write(0, 2);
  plan.write(6, 2);
  plan.readAll();
  plan.expectUnwritten();
}

TEST(Windows, TogetherTheyAreAll) {
  Columns plan;
  for (std::int64_t first : {6, 0, 2, 4})
    plan.write(first, 2);
  plan.readAll();
  plan.expectAccepted();
}

TEST(Windows, OverlappingWindowsAreAll) {
  Columns plan;
  plan.write(0, 5);
  plan.write(3, 5);
  plan.readAll();
  plan.expectAccepted();
}

TEST(Windows, ARepeatedWindowHasItsBytes) {
  for (std::int64_t written : {5, 4}) {
    Columns plan;
    plan.write(0, written);
    plan.readTwice(5);
    if (written == 5)
      plan.expectAccepted();
    else
      plan.expectUnwritten();
  }
}

TEST(Windows, AGapOfOneColumnIsFound) {
  for (std::int64_t missing = 0; missing < Columns::columns; ++missing) {
    Columns plan;
    for (std::int64_t column = 0; column < Columns::columns; ++column)
      if (column != missing)
        plan.write(column, 1);
    plan.readAll();
    plan.expectUnwritten();
  }
}

TEST(Windows, AWindowReadsItsOwnColumns) {
  for (std::int64_t first = 0; first + 3 <= Columns::columns; ++first) {
    Columns plan;
    plan.write(2, 4);
    plan.read(first, 3);
    if (first >= 2 && first + 3 <= 6)
      plan.expectAccepted();
    else
      plan.expectUnwritten();
  }
}

TEST(Windows, RowsAfterTheWindowAreNotWritten) {
  Columns plan;
  for (std::int64_t first : {0, 4}) {
    plan::ViewT window = plan.window(first, 4);
    window.shape[0] = 5;
    plan.fill(compute, std::move(window), 1);
  }
  plan.readAll();
  plan.expectUnwritten();
}

TEST(Windows, WindowsOfAnotherPeriodDoNotCount) {
  Columns plan;
  plan.write(0, 4);
  // Every other 4 columns, from column 4 on: the same bytes as columns 4 to 8.
  plan.fill(compute, plan.view(plan.matrix, {3, 4}, 16, {16, 1}), 1);
  // All rows that it spans.
  plan.copy(compute, plan.view(plan.matrix, {5, Columns::columns}), plan.view(plan.out, {5, Columns::columns}));
  plan.expectUnwritten();
}

// A window reads the first two columns, then the next two, and so on. Only the first two are written, row by row.
TEST(Windows, AWindowThatMovesReadsAllItsColumns) {
  Columns plan;
  for (std::int64_t row = 0; row < Columns::rows; ++row)
    plan.fill(compute, plan.view(plan.matrix, {2}, std::uint64_t(row * Columns::columns) * 4), 1);
  plan.section(4);
  plan::ViewT moving = plan.window(0, 2);
  moving.repetition_stride = 8;
  plan.copy(compute, std::move(moving), plan.view(plan.out, {Columns::rows, 2}));
  plan.expectUnwritten();
}

TEST(Windows, ValuesOfTheSameBufferRemain) {
  Columns plan;
  plan.fill(compute, plan.view(plan.matrix), 0);
  plan.write(2, 3);
  plan.readAll();
  plan.expectAccepted();
}

/// Three tables of 4 x 4 in one buffer; the middle rows of each, and two of their columns.
plan::ViewT middle(const SmallPlan &plan, std::uint32_t buffer, std::int64_t column) {
  return plan.view(buffer, {3, 2, 2}, 16 + std::uint64_t(column) * 4, {16, 4, 1});
}

TEST(Windows, RowsAndColumns) {
  for (bool isComplete : {true, false}) {
    SmallPlan plan;
    const std::uint32_t tables = plan.buffer("tables", {3, 4, 4}), out = plan.buffer("out", {3, 2, 4});
    plan.section();
    plan.fill(compute, middle(plan, tables, 0), 1);
    plan.fill(compute, middle(plan, tables, isComplete ? 2 : 1), 1);
    plan.copy(compute, plan.view(tables, {3, 2, 4}, 16, {16, 4, 1}), plan.view(out));
    if (isComplete)
      plan.expectAccepted();
    else
      plan.expectRefused(2, "reads bytes of buffer 'tables' that no instruction has written");
  }
}

TEST(Windows, BetweenRowsNothingIsWritten) {
  SmallPlan plan;
  const std::uint32_t tables = plan.buffer("tables", {3, 4, 4}), out = plan.buffer("out", {3, 4, 4});
  plan.section();
  plan.fill(compute, middle(plan, tables, 0), 1);
  plan.fill(compute, middle(plan, tables, 2), 1);
  plan.copy(compute, plan.view(tables), plan.view(out));
  plan.expectRefused(2, "reads bytes of buffer 'tables' that no instruction has written");
}

// The outputs of one launch interleave.
TEST(Windows, OutputsOfOneLaunch) {
  for (std::int64_t second : {2, 1}) {
    Columns plan;
    const std::uint32_t in = plan.buffer("in", {Columns::rows, 2});
    plan.fill(compute, plan.view(in), 1);
    plan.launch(compute, "swiglu_grad", {plan.view(in), plan.view(in), plan.view(in)},
                {plan.window(0, 2), plan.window(second, 2)});
    if (second == 2)
      plan.expectAccepted();
    else
      plan.expectRefused(2, "writes buffer 'matrix' over bytes of buffer 'matrix', an output of the same instruction");
  }
}

/// Reads a view and writes one, of a filled buffer.
void rewrite(SmallPlan &plan, std::uint32_t buffer, plan::ViewT input, plan::ViewT output) {
  plan.section();
  plan.fill(compute, plan.view(buffer), 1);
  plan.launch(compute, "multiply", {input, input}, {std::move(output)});
}

// An output is in place of an input only if it has the same elements.
TEST(Windows, InPlaceOfOtherElements) {
  const struct {
    Shape shape, strides, otherShape, otherStrides;
  } cases[] = {{{3, 2}, {8, 1}, {18}, {}},
               {{18}, {}, {3, 2}, {8, 1}},
               {{3, 2}, {8, 1}, {2, 2}, {16, 1}},
               {{3, 2}, {8, 8}, {2, 3}, {8, 8}},
               // Transposed.
               {{2, 2}, {8, 2}, {2, 2}, {2, 8}}};
  for (const auto &[shape, strides, otherShape, otherStrides] : cases) {
    SmallPlan plan;
    const std::uint32_t all = plan.buffer("all", {32});
    rewrite(plan, all, plan.view(all, shape, 0, strides), plan.view(all, otherShape, 0, otherStrides));
    plan.expectRefused(2, "writes buffer 'all' over bytes of buffer 'all', an input of the same instruction");
  }
}

TEST(Windows, InPlaceInAnotherShape) {
  SmallPlan plan;
  const std::uint32_t all = plan.buffer("all", {16});
  rewrite(plan, all, plan.view(all, {2, 4}), plan.view(all, {8}));
  plan.expectAccepted();
}

// Reads and writes of one launch that interleave.
TEST(Windows, OperandsOfOneLaunch) {
  const struct {
    Shape shape, strides;
    std::uint64_t column;
    bool isDisjoint;
  } cases[] = {{{4, 2}, {8, 1}, 2, true},
               {{4, 2}, {8, 1}, 1, false},
               {{4, 6}, {8, 1}, 2, true},
               {{4, 7}, {8, 1}, 2, false},
               // A period of 12 elements.
               {{3, 2}, {12, 1}, 2, false},
               // Elements 0, 8, 12 and 20 have no period; the third is in a column of the other view.
               {{2, 2}, {12, 8}, 5, false}};
  for (const auto &[shape, strides, column, isDisjoint] : cases)
    for (bool isWrite : {true, false}) {
      SmallPlan plan;
      const std::uint32_t all = plan.buffer("all", {48});
      const plan::ViewT first = plan.view(all, {4, 2}, 0, {8, 1}), second = plan.view(all, shape, column * 4, strides);
      rewrite(plan, all, isWrite ? second : first, isWrite ? first : second);
      if (isDisjoint)
        plan.expectAccepted();
      else
        plan.expectRefused(2, "an input of the same instruction");
    }
}

// The first and last row are written; of those between only four columns.
TEST(Windows, AWindowBetweenWrittenRows) {
  for (std::int64_t first = 0; first + 2 <= Columns::columns; ++first) {
    Columns plan;
    for (std::int64_t row : {std::int64_t(0), Columns::rows - 1})
      plan.fill(compute, plan.view(plan.matrix, {Columns::columns}, std::uint64_t(row * Columns::columns) * 4), 1);
    plan.write(2, 4);
    plan.read(first, 2);
    if (first >= 2 && first + 2 <= 6)
      plan.expectAccepted();
    else
      plan.expectUnwritten();
  }
}

// The same with one row between them.
TEST(Windows, AWindowOfOneRowBetweenWrittenRows) {
  for (std::int64_t written : {2, 4})
    for (std::int64_t first = 0; first + 2 <= 8; ++first) {
      SmallPlan plan;
      const std::uint32_t matrix = plan.buffer("matrix", {3, 8}), out = plan.buffer("out", {3, 2});
      plan.section();
      for (std::uint64_t row : {0, 2})
        plan.fill(compute, plan.view(matrix, {8}, row * 32), 1);
      plan.fill(compute, plan.view(matrix, {3, 4}, std::uint64_t(written) * 4, {8, 1}), 1);
      plan.copy(compute, plan.view(matrix, {3, 2}, std::uint64_t(first) * 4, {8, 1}), plan.view(out));
      if (first >= written && first + 2 <= written + 4)
        plan.expectAccepted();
      else
        plan.expectRefused(2, "reads bytes of buffer 'matrix' that no instruction has written");
    }
}

// More windows than the checker lists: their bytes do not count as written.
TEST(Windows, ManyWindowsDoNotCount) {
  for (std::int64_t tables : {4096, 4097}) {
    SmallPlan plan;
    const std::uint32_t all = plan.buffer("all", {tables, 3, 2}), out = plan.buffer("out", {tables, 2, 1});
    plan.section();
    const auto corners = [&] { return plan.view(all, {tables, 2, 1}, 0, {6, 2, 1}); };
    plan.fill(compute, corners(), 1);
    plan.copy(compute, corners(), plan.view(out));
    if (tables == 4096)
      plan.expectAccepted();
    else
      plan.expectRefused(2, "reads bytes of buffer 'all' that no instruction has written");
  }
}

// Padding of one window remains after a write of the next.
TEST(Windows, PaddingOfAWindowRemains) {
  for (bool isFirst : {true, false}) {
    SmallPlan plan({{"shard", 2}});
    const std::uint32_t matrix = plan.buffer("matrix", {4, 4}), out = plan.buffer("out", {4, 4});
    plan.section();
    for (std::int64_t column : {0, 2}) {
      plan::ViewT window = plan.view(matrix, {4, 2}, std::uint64_t(column) * 4, {4, 1});
      if ((column == 0) == isFirst)
        window = plan.padded(window, 0, {0}, 4, 7);
      plan.fill(compute, window, 1);
    }
    plan.launch(compute, "relu", {plan.view(matrix)}, {plan.view(out)});
    plan.expectRefused(8, "reads padding of buffer 'matrix'");
  }
}

TEST(Windows, PaddingOfAnotherBufferBetweenTheRows) {
  SmallPlan plan({{"shard", 2}});
  const std::uint32_t before = plan.buffer("before", {4, 4}), matrix = plan.buffer("matrix", {4, 4}),
                      out = plan.buffer("out", {4, 2});
  plan.section();
  plan.fill(compute, plan.padded(plan.view(before), 0, {0}, 4, 7), 1);
  for (std::uint64_t row = 0; row < 4; ++row)
    plan.fill(compute, plan.view(matrix, {2}, row * 16), 1);
  plan.copy(compute, plan.view(matrix, {4, 2}, 0, {4, 1}), plan.view(out));
  plan.expectAccepted();
  // The matrix reuses the bytes.
  const auto &buffers = plan.plan.buffers;
  buffers[before]->end = buffers[matrix]->begin = 1;
  buffers[matrix]->offset = buffers[before]->offset;
  serializePlan(plan.plan);
  EXPECT_TRUE(checkPlan(plan.plan).isOk()) << checkPlan(plan.plan).message();
}

// The first and the last row are written, and some columns of all rows.
TEST(Windows, AnOutputNeedsAllColumns) {
  for (std::int64_t count : {7, 8}) {
    SmallPlan plan;
    const std::uint32_t y = plan.buffer("y", {4, 8}, f32, host), in = plan.buffer("in", {4, 8});
    plan.section();
    plan.port(plan.plan.entries[0]->outputs, "y", plan.view(y));
    plan.fill(compute, plan.view(in), 1);
    for (std::uint64_t row : {0, 3})
      plan.copy(compute, plan.view(in, {8}), plan.view(y, {8}, row * 32));
    plan.copy(compute, plan.view(in, {4, count}), plan.view(y, {4, count}, 0, {8, 1}));
    if (count == 8)
      plan.expectAccepted();
    else
      plan.expectRefused(12, "output 'y' of 'step' is not there at the end of the step");
  }
}

// Three times three elements at a distance of 5, twice: the two parts overlap, so their windows are in no order.
TEST(Windows, WindowsThatInterleaveNeedAllElements) {
  for (std::int64_t missing : {32, 46}) {
    SmallPlan plan;
    const std::uint32_t all = plan.buffer("all", {48}), out = plan.buffer("out", {2, 3, 3});
    plan.section();
    plan.fill(compute, plan.view(all, {missing}), 1);
    if (missing < 46)
      plan.fill(compute, plan.view(all, {45 - missing}, std::uint64_t(missing + 1) * 4), 1);
    plan.copy(compute, plan.view(all, {2, 3, 3}, 0, {13, 11, 5}), plan.view(out));
    if (missing == 46)
      plan.expectAccepted();
    else
      plan.expectRefused(2, "reads bytes of buffer 'all' that no instruction has written");
  }
}

} // namespace
} // namespace sluice::test
