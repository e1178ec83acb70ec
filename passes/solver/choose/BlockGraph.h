//===- BlockGraph.h - the ops of a plan's blocks and their launches --------------------------===//
//
// An index of the unsharded program of a plan that recomputes nothing, for one entry point: its outermost blocks with
// their forward and backward ops, the ops that read each value, and the launch that computes it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_BLOCKGRAPH_H
#define SLUICE_PASSES_SOLVER_CHOOSE_BLOCKGRAPH_H

#include "runtime/plan/Plan.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// An outermost block.
struct BlockOps {
  std::string name;
  /// Indices of ops, in program order.
  std::vector<std::uint32_t> forward, backward;
  /// Instructions of the entry point: one past the last launch of the forward, and the first one of the backward.
  std::uint32_t forwardEnd = 0, backwardBegin = ~std::uint32_t(0);
};

class BlockGraph {
public:
  /// `plan` outlives the object.
  BlockGraph(const plan::PlanT &plan, std::uint32_t entry);

  /// In the order of their forward.
  const std::vector<BlockOps> &blocks() const { return list; }

  /// Without the dialect.
  std::string_view nameOf(std::uint32_t op) const;
  plan::Phase phaseOf(std::uint32_t op) const;
  /// Ids of values.
  std::span<const std::uint32_t> operandsOf(std::uint32_t op) const;
  std::span<const std::uint32_t> resultsOf(std::uint32_t op) const;
  const std::vector<std::uint32_t> &usersOf(std::uint32_t value) const;

  /// The launch that computes a value; for a view, that of its source. Null for parameters and inputs.
  struct Computed {
    const plan::InstructionT *instruction = nullptr;
    /// Id of the value that the launch computes, and its bytes on one rank.
    std::uint32_t value = 0;
    std::int64_t bytes = 0;
    /// Executions in a step.
    std::uint64_t times = 1;
  };
  const Computed *computed(std::uint32_t value) const;
  /// The op of the value that a launch computes.
  std::uint32_t opOf(std::uint32_t value) const { return producers.at(value); }

private:
  void readOps(std::uint32_t begin, std::uint32_t end);
  void readLaunches(const plan::EntryT &entry);

  const plan::PlanT &plan;
  std::vector<BlockOps> list;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> users;
  std::unordered_map<std::uint32_t, std::uint32_t> producers;
  /// By the ids of the launches' results.
  std::unordered_map<std::uint32_t, Computed> launches;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_BLOCKGRAPH_H
