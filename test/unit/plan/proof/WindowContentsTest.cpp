//===- WindowContentsTest.cpp - what windows of a buffer hold, against its elements (P9) ---===//
//
// Random windows of a buffer get random elements of roots. A read of another window must give the elements that were
// written.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Contents.h"
#include "test/unit/plan/proof/ProofPlan.h"
#include "test/unit/plan/proof/ShardElements.h"

#include <random>

namespace sluice::check::proof {
namespace {

using test::ProofPlan;

constexpr std::int64_t length = 48, any = std::int64_t(1) << 40;

/// The element of a root, or its second half, that four bytes of the buffer hold; root 0: not known.
struct Held {
  RootId root = 0;
  std::int64_t index = 0;
  plan::DType dtype = plan::DType::f32;
  int half = 0;
  bool operator==(const Held &) const = default;
};

class WindowContents : public testing::Test {
protected:
  WindowContents() {
    values.push_back(plan.input("x", {24}));
    values.push_back(plan.input("y", {7, 3}));
    plan.end();
    buffer = plan.buffer("all", {length});
    numbering.emplace(plan.plan);
    contents.emplace(plan.plan, *numbering);
    elements.resize(std::size_t(length));
  }

  RootId root(std::size_t number) const { return numbering->value(values[number]).root; }

  /// A window of one to three dims inside the buffer. Few have elements at one place, or an offset that is not aligned.
  plan::ViewT randomWindow() {
    while (true) {
      plan::ViewT view = plan.view(buffer);
      view.shape.clear();
      if (random() % 5 == 0)
        view.dtype = plan::DType::f64;
      std::int64_t last = std::int64_t(random() % 12), dense = 1;
      view.offset = std::uint64_t(last) * 4;
      last /= halvesOf(view);
      for (std::uint64_t d = 1 + random() % 3; d > 0; --d)
        view.shape.push_back(1 + std::int64_t(random() % 6));
      view.strides.resize(view.shape.size());
      for (std::size_t d = view.shape.size(); d-- > 0; dense *= view.shape[d]) {
        // Most windows leave a part out of each row.
        view.strides[d] = random() % 16 == 0 ? std::int64_t(random() % 4) : dense;
        last += (view.shape[d] - 1) * view.strides[d];
        if (random() % 3 == 0)
          dense += std::int64_t(random() % 3);
      }
      if ((last + 2) * halvesOf(view) <= length)
        return view;
    }
  }
  static std::int64_t halvesOf(const plan::ViewT &view) { return view.dtype == plan::DType::f64 ? 2 : 1; }
  /// The places of the view in the buffer, in four bytes.
  static Shard windowOf(const plan::ViewT &view) {
    Shard window;
    window.at.base = std::int64_t(view.offset / 4);
    for (std::size_t d = 0; d < view.shape.size(); ++d)
      window.at.dims.push_back({{view.shape[d], view.strides[d] * halvesOf(view)}});
    return window;
  }
  static std::vector<std::int64_t> placesOf(const plan::ViewT &view) { return enumerate(windowOf(view), {}, length); }
  std::string describeFacts() {
    std::string text;
    for (const Fact &fact : contents->of(buffer)) {
      text += "root " + std::to_string(fact.meaning.root) + " base " + std::to_string(fact.base) + " at " +
              std::to_string(fact.offset);
      for (const Loop &loop : fact.loops)
        text += ", " + std::to_string(loop.extent) + " at " + std::to_string(loop.stride) + " step " +
                std::to_string(loop.step);
      text += "\n";
    }
    return text;
  }
  /// Some elements of a root in the shape: most of them consecutive.
  Reading randomReading(const Shape &shape) {
    Reading reading;
    reading.meaning.root = root(random() % 2);
    reading.at = denseIndexing(shape);
    if (random() % 3 == 0)
      for (Digits &dim : reading.at.dims)
        for (Digit &digit : dim)
          digit.step *= 1 + std::int64_t(random() % 2);
    if (random() % 4 == 0 && shape.size() > 1)
      std::swap(reading.at.dims[0], reading.at.dims[1]);
    if (shapeOf(reading.at) != shape)
      reading.at = denseIndexing(shape);
    reading.at.base = std::int64_t(random() % 4) * (1 + std::int64_t(random() % 6));
    // Rows of three columns, some windows of which have more.
    if (random() % 3 == 0 && shape.size() > 1) {
      std::int64_t step = 1;
      for (std::size_t d = shape.size(); d-- > 0; step = d + 1 == shape.size() ? 3 : step * shape[d])
        reading.at.dims[d] = {{shape[d], step}};
      reading.meaning.bounds = {{3, 0}};
    }
    return reading;
  }
  void write(const plan::ViewT &view, const Reading &reading) {
    const std::vector<std::int64_t> places = placesOf(view),
                                    indices = enumerate({reading.at, {}, reading.meaning.bounds}, {}, any);
    // Of a window with elements at one place the last one stays, but nothing is known of it.
    for (std::size_t k = 0; k < places.size(); ++k)
      for (int half = 0; half < halvesOf(view); ++half)
        elements[std::size_t(places[k] + half)] = {reading.meaning.root, indices[k], view.dtype, half};
    contents->write(view, reading);
  }

  std::mt19937 random{31};
  ProofPlan plan;
  std::uint32_t buffer = 0;
  std::vector<std::uint32_t> values;
  std::optional<Numbering> numbering;
  std::optional<Contents> contents;
  std::vector<Held> elements;
};

TEST_F(WindowContents, AReadHasTheElementsThatWereWritten) {
  int known = 0, padded = 0;
  for (int round = 0; round < 60000; ++round) {
    if (round % 12 == 0) {
      contents->clear(buffer);
      elements.assign(elements.size(), {});
    }
    // Neighbours of one tensor become one fact.
    if (const plan::ViewT view = randomWindow(); random() % 2 == 0) {
      write(view, randomReading(view.shape));
    } else {
      const std::int64_t from = std::int64_t(random() % 40), count = 1 + std::int64_t(random() % 8);
      plan::ViewT dense = plan.view(buffer, {count}, std::uint64_t(from) * 4, {1});
      Reading reading;
      reading.meaning.root = root(0);
      reading.at = denseIndexing(dense.shape);
      reading.at.base = from;
      write(dense, reading);
    }
    if (const std::int64_t from = std::int64_t(random() % 24), to = from + 12 + std::int64_t(random() % 6);
        random() % 8 == 0) {
      const plan::ViewT source = plan.view(buffer, {6}, std::uint64_t(from) * 4, {1}),
                        copy = plan.view(buffer, {6}, std::uint64_t(to) * 4, {1});
      contents->copy(source, copy);
      std::copy_n(elements.begin() + from, 6, elements.begin() + to);
    }
    for (int k = 0; k < 3; ++k) {
      const plan::ViewT view = randomWindow();
      const bool allowsPadding = random() % 2 == 0;
      const std::optional<Reading> found = contents->read(view, allowsPadding);
      if (!found)
        continue;
      ASSERT_TRUE(found->isKnown());
      const std::int64_t all = numbering->root(found->meaning.root).elements;
      const std::vector<std::int64_t> places = placesOf(view),
                                      indices = enumerate({found->at, {}, found->meaning.bounds}, {}, all),
                                      exact = enumerate({found->at, {}, {}}, {}, any);
      ASSERT_EQ(indices.size(), places.size());
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (indices[i] == padding && (allowsPadding || !found->meaning.bounds.empty())) {
          ++padded;
          continue;
        }
        for (int half = 0; half < halvesOf(view); ++half)
          ASSERT_EQ(elements[std::size_t(places[i] + half)], (Held{found->meaning.root, exact[i], view.dtype, half}))
              << round << ", element " << i << ": " << describe({found->at, {}, found->meaning.bounds}) << "\n"
              << describe(windowOf(view)) << "\n"
              << describeFacts();
      }
      ++known;
    }
  }
  EXPECT_GT(known, 5000);
  EXPECT_GT(padded, 100);
}

} // namespace
} // namespace sluice::check::proof
