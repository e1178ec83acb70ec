//===- Contents.h - what the buffers hold in terms of the unsharded program -----------------===//
//
// A fact relates a window of a buffer to a root of the program: which element of the root each element of the window
// is, on each rank, and of which sum it is a term. Facts of one buffer do not overlap. A window that is written in
// parts, such as the chunks of a gather or the operands of a concatenation, becomes one fact when the parts are
// neighbours. Elements whose index is past the last one of the root are padding, about which a fact states nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_CONTENTS_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_CONTENTS_H

#include "runtime/plan/Plan.h"
#include "runtime/plan/check/proof/Loops.h"
#include "runtime/plan/check/proof/Numbering.h"
#include "runtime/plan/check/proof/Parts.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::check::proof {

/// How the numbers of ranks that have terms of a value are completed: by their sum, by their maximum, or by the
/// logarithm of the sum of their exponentials.
enum class Terms : std::uint8_t { sum, maximum, logSumExp };

/// Why nothing is known of a tensor.
struct Reason {
  Reason(std::string text = {}, bool lacksRule = false) : text(std::move(text)), lacksRule(lacksRule) {}
  Reason(const char *text) : text(text) {}
  bool empty() const { return text.empty(); }
  bool operator==(const Reason &) const = default;

  std::string text;
  /// A rule is missing: the tensor may be right, and so may all that is computed from it.
  bool lacksRule = false;
};

/// The number that a tensor holds on each rank, for each element of its root:
///
///   coefficient x (sum over the ranks along `summed` and the repetitions [first, last] of the root)
///
/// Of the root the ranks along `partial` have terms, which `terms` completes.
struct Meaning {
  RootId root = 0;
  double coefficient = 1;
  std::uint32_t first = 0, last = 0;
  /// The number was accumulated or reduced, even if over one repetition.
  bool isSum = false;
  AxisSet summed = 0, partial = 0;
  Terms terms = Terms::sum;
  /// By rank, where in the root its elements are, and which of them are padding; sorted.
  std::vector<AxisStep> steps;
  std::vector<Bound> bounds;
  /// Indices are those of this part of the root; 0: of the root.
  PartId part = 0;
  /// Of the ends of padding (paddedEnds), those past which it is zeros; ascending.
  std::vector<std::int64_t> zeros;
  /// Not empty: nothing is known, for this reason. Then nothing else has a meaning.
  Reason unproved;
  bool operator==(const Meaning &) const = default;
};

struct Fact {
  Meaning meaning;
  plan::DType dtype = plan::DType::f32;
  /// In elements from the start of the buffer.
  std::int64_t offset = 0;
  /// Index in the root of the element at `offset`.
  std::int64_t base = 0;
  /// Outermost first; an inner loop is within one step of the outer one.
  std::vector<Loop> loops;
  /// The bytes between the slices of a port for the repetitions of a section; 0: one slice.
  std::uint64_t repetitionStride = 0;
  Storage stored;
  bool operator==(const Fact &) const = default;
};

/// The content of a view: the indices of its elements in the root, and their meaning.
struct Reading {
  Meaning meaning;
  Indexing at;
  Storage stored{};
  bool isKnown() const { return meaning.unproved.empty(); }
  /// The elements of the root, or of the part, that each rank has.
  Shard shard() const { return {at, meaning.steps, meaning.bounds}; }
  /// True if both have the same elements in the same order on each rank.
  bool hasElementsOf(const Reading &other) const;
  void setShard(Shard shard) {
    shard.sort();
    at = std::move(shard.at);
    meaning.steps = std::move(shard.steps);
    meaning.bounds = std::move(shard.bounds);
  }
};

class Contents {
public:
  Contents(const plan::PlanT &plan, const Numbering &numbering)
      : plan(plan), numbering(numbering), sizes(meshSizes(plan)) {
    facts.resize(plan.buffers.size());
  }

  /// nullopt if no fact has all elements of the view; with `padding`, those past the last element of the root need no
  /// fact. A view of a port's slice has the meaning of repetition 0.
  std::optional<Reading> read(const plan::ViewT &view, bool padding) const;
  /// Replaces the facts about the view's elements. An empty root, a window without regular loops, or one of a buffer
  /// about which there are many facts, only removes them.
  void write(const plan::ViewT &view, Reading reading);
  /// True if bytes of the view are in more than one fact, without those of `ignored`.
  bool isInSeveralFacts(const plan::ViewT &view, RootId ignored) const;
  /// The destination gets the facts about the elements of the source. Both are dense and of one type and size.
  void copy(const plan::ViewT &source, const plan::ViewT &destination);
  /// Removes the facts about a view.
  void forget(const plan::ViewT &view) { write(view, {}); }
  void clear(std::uint32_t buffer) { facts[buffer].clear(); }
  std::vector<Fact> &of(std::uint32_t buffer) { return facts[buffer]; }
  const std::vector<std::vector<Fact>> &all() const { return facts; }
  /// Adds to each fact the bounds of the other one. False if that excludes elements.
  bool uniteBounds(Fact &a, Fact &b) const;
  /// Of the root, or of the part in which the meaning has indices.
  std::int64_t elementsOf(const Meaning &meaning) const {
    return meaning.part != 0 ? parts[meaning.part].elements() : numbering.root(meaning.root).elements;
  }
  Parts parts;
  std::vector<std::vector<Fact>> &all() { return facts; }

private:
  std::optional<Reading> readFrom(const Fact &fact, const plan::ViewT &view, bool padding) const;
  /// Joins `next` to `fact` if they are neighbours. Bounds that exclude nothing do not count.
  bool joinFacts(Fact &fact, const Fact &next) const;
  /// Of chunks of rows of the root, the last of which are shorter: each chunk may be in a separate fact.
  std::optional<Reading> readChunks(const plan::ViewT &view) const;

  const plan::PlanT &plan;
  const Numbering &numbering;
  /// Of the axes.
  std::vector<std::uint32_t> sizes;
  std::vector<std::vector<Fact>> facts;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_CONTENTS_H
