//===- TakenBytes.h - which bytes are taken at which instants ------------------------===//
//
// A tree over the instants. Each node holds what is taken throughout its instants and what is taken at any of them, as
// runs of bytes that neither meet nor touch: to take bytes for a stretch of instants, or to look for a gap over one, costs
// the depth of the tree and the runs on the way, not everything that lives beside it. In a step of training most that
// lives long stands side by side, so the runs are few where the stretches are many.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_TAKENBYTES_H
#define SLUICE_PASSES_SOLVER_TAKENBYTES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// Bytes [begin, end).
struct ByteRun {
  std::uint64_t begin, end;
};

/// Of runs that are free, the lowest one, or the smallest one (of such the lowest).
enum class PackingFit : std::uint8_t { first, best };

class TakenBytes {
public:
  explicit TakenBytes(std::uint32_t instants);

  void clear();

  /// Takes a run throughout the instants [from, to); what is taken already may be taken again.
  void take(std::uint32_t from, std::uint32_t to, ByteRun run);

  /// Adds the instants [from, to) to those that the next gap is over.
  void look(std::uint32_t from, std::uint32_t to);
  /// Where `bytes` are free at all of those instants. Behind everything, where no gap has room.
  std::uint64_t gapFor(std::uint64_t bytes, PackingFit fit);

private:
  /// In order; they neither meet nor touch.
  using Runs = std::vector<ByteRun>;
  struct Node {
    /// Taken at all of its instants by a stretch that covers them, and taken at any of them.
    Runs throughout, anywhere;
  };
  /// What is left of one node's runs above the place that is looked at.
  struct Rest {
    const ByteRun *begin, *end;
  };

  static void insert(Runs &runs, ByteRun run);
  void take(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to,
            ByteRun run);
  void look(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to);
  /// The lowest place from `at` on behind which `bytes` are free.
  std::uint64_t freeFrom(std::uint64_t at, std::uint64_t bytes);

  /// Of the root's children and theirs: those of node n are 2n and 2n + 1. A power of two of leaves.
  std::uint32_t leaves = 1;
  std::vector<Node> nodes;
  std::vector<Rest> rests;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_TAKENBYTES_H
