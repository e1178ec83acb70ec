//===- Deadlock.cpp - P6: no cycle of waits ---------------------------------------------===//
//
// The graph of one step: an instruction follows the previous one on its stream; a wait follows its record, which is
// the latest one issued before it, or else the next one, as on a device whose waits block until an event is recorded. A
// carried wait is for a record of an earlier step and follows nothing of this step. Collectives of all ranks are
// matched by their position in the common issue order, so the product over the ranks has a cycle only if this
// projection has one, and all collectives of a device are issued in one order.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include <algorithm>

namespace sluice::check {
namespace {

constexpr std::uint32_t nothing = ~std::uint32_t(0);

struct Node {
  std::uint32_t issue;
  /// The node that this one follows on its stream, and by its wait.
  std::uint32_t before = nothing;
  std::uint32_t record = nothing;
};

std::vector<Node> buildGraph(const plan::PlanT &plan, const plan::EntryT &entry) {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> lastOnStream(plan.streams.size(), nothing);
  std::vector<std::uint32_t> lastRecord(entry.events, nothing);
  // Waits that came before any record of their event.
  std::vector<std::vector<std::uint32_t>> early(entry.events);
  std::uint32_t first = 0;
  for (const auto &section : entry.sections) {
    for (std::uint32_t repetition : sampleRepetitions(*section))
      for (std::uint32_t k = 0; k < section->instructions.size(); ++k) {
        const plan::InstructionT &instruction = *section->instructions[k];
        if (!isIssued(instruction, repetition, section->repeat))
          continue;
        const std::uint32_t id = std::uint32_t(nodes.size());
        nodes.push_back({first + k, lastOnStream[instruction.stream], nothing});
        lastOnStream[instruction.stream] = id;
        if (const plan::RecordT *record = instruction.operation.AsRecord()) {
          for (std::uint32_t waiting : early[record->event])
            nodes[waiting].record = id;
          early[record->event].clear();
          lastRecord[record->event] = id;
        } else if (const plan::WaitT *wait = instruction.operation.AsWait(); wait && !wait->carried) {
          nodes[id].record = lastRecord[wait->event];
          if (lastRecord[wait->event] == nothing)
            early[wait->event].push_back(id);
        }
      }
    first += std::uint32_t(section->instructions.size());
  }
  return nodes;
}

/// The node ids of a cycle, or nothing.
std::vector<std::uint32_t> findCycle(const std::vector<Node> &nodes) {
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(nodes.size(), unseen);
  std::vector<std::uint32_t> path;
  for (std::uint32_t start = 0; start < nodes.size(); ++start) {
    if (state[start] == unseen) {
      path.push_back(start);
      state[start] = open;
    }
    while (!path.empty()) {
      const Node &node = nodes[path.back()];
      std::uint32_t next = nothing;
      for (std::uint32_t before : {node.before, node.record}) {
        if (before == nothing || state[before] == done)
          continue;
        if (state[before] == open)
          return {std::find(path.begin(), path.end(), before), path.end()};
        next = before;
        break;
      }
      if (next == nothing) {
        state[path.back()] = done;
        path.pop_back();
      } else {
        state[next] = open;
        path.push_back(next);
      }
    }
  }
  return {};
}

} // namespace

Verdict noDeadlock(const plan::PlanT &plan, Findings &findings) {
  constexpr std::size_t shown = 8;
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    const std::vector<Node> nodes = buildGraph(plan, *plan.entries[e]);
    for (const Node &node : nodes)
      findings[6].facts += (node.before != nothing) + (node.record != nothing);
    std::vector<std::uint32_t> cycle = findCycle(nodes);
    if (cycle.empty())
      continue;
    // The path runs backwards through what each node follows.
    std::reverse(cycle.begin(), cycle.end());
    std::vector<std::string> notes;
    for (std::size_t k = 0; k < cycle.size() && k < shown; ++k)
      notes.push_back((k ? "then " : "first ") + place(plan, e, nodes[cycle[k]].issue));
    if (cycle.size() > shown)
      notes.push_back("and " + std::to_string(cycle.size() - shown) + " more");
    notes.push_back("which must come before the first again");
    return refuse(6,
                  "entry point '" + plan.entries[e]->name + "' has " + std::to_string(cycle.size()) +
                      " instructions that wait for each other in a cycle",
                  std::move(notes));
  }
  return {};
}

} // namespace sluice::check
