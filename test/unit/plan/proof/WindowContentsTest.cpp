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

constexpr std::int64_t length = 48;

/// The element of a root that a place of the buffer holds; root 0: not known.
struct Held {
  RootId root = 0;
  std::int64_t index = 0;
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

  /// A window of one to three dims with positive strides, inside the buffer.
  plan::ViewT randomWindow() {
    while (true) {
      plan::ViewT view = plan.view(buffer);
      view.shape.clear();
      std::int64_t last = std::int64_t(random() % 12), dense = 1;
      view.offset = std::uint64_t(last) * 4;
      for (std::uint64_t d = 1 + random() % 3; d > 0; --d)
        view.shape.push_back(1 + std::int64_t(random() % 6));
      view.strides.resize(view.shape.size());
      for (std::size_t d = view.shape.size(); d-- > 0; dense *= view.shape[d]) {
        // Most windows leave a part out of each row.
        view.strides[d] = dense;
        last += (view.shape[d] - 1) * dense;
        if (random() % 3 == 0)
          dense += std::int64_t(random() % 3);
      }
      if (last < length)
        return view;
    }
  }
  /// The places of the view in the buffer.
  static Shard windowOf(const plan::ViewT &view) {
    Shard window;
    window.at.base = std::int64_t(view.offset / 4);
    for (std::size_t d = 0; d < view.shape.size(); ++d)
      window.at.dims.push_back({{view.shape[d], view.strides[d]}});
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
    return reading;
  }
  void write(const plan::ViewT &view, const Reading &reading) {
    const std::vector<std::int64_t> places = placesOf(view),
                                    indices = enumerate({reading.at, {}, {}}, {}, std::int64_t(1) << 40);
    // Of a window with elements at one place the last one stays, but nothing is known of it.
    for (std::size_t k = 0; k < places.size(); ++k)
      elements[std::size_t(places[k])] = {reading.meaning.root, indices[k]};
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
                                      exact = enumerate({found->at, {}, {}}, {}, std::int64_t(1) << 40);
      ASSERT_EQ(indices.size(), places.size());
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Held &own = elements[std::size_t(places[i])];
        if (indices[i] == padding && allowsPadding) {
          ++padded;
          continue;
        }
        ASSERT_EQ(own, (Held{found->meaning.root, exact[i]}))
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
