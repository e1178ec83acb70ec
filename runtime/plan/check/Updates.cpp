//===- Updates.cpp - P10: parameters and their states are updated once --------------------===//
//
// In an entry point that writes parameters, except one that initializes them, every parameter that is not frozen is
// written exactly once per step, each of its states as well, by any instruction, and nothing reads the parameter's
// shard after that. A parameter that a different entry point updates may be left out together with its states: it does
// not take part in this loss.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Issue.h"
#include "runtime/plan/check/Check.h"

#include <map>

namespace sluice::check {
namespace {

/// True for an entry point that initializes the weights.
bool isInitialization(const plan::EntryT &entry) {
  bool found = true;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    found = found && instruction.phase == plan::Phase::init;
  });
  return found;
}

struct Writes {
  std::uint64_t count = 0;
  std::uint32_t last = 0;
};

class EntryUpdates {
public:
  EntryUpdates(const plan::PlanT &plan, std::uint32_t e) : plan(plan), e(e) {}

  Verdict run() {
    for (const auto &parameter : plan.parameters) {
      writes[parameter->buffer];
      for (const auto &state : parameter->states)
        writes[state->buffer];
    }
    const plan::EntryT &entry = *plan.entries[e];
    if (isInitialization(entry))
      return {};
    bool updates = false;
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t s) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        if (auto found = writes.find(view.buffer); isWrite && found != writes.end()) {
          found->second.count += timesIssued(instruction, entry.sections[s]->repeat);
          found->second.last = i;
          updates = true;
        }
      });
    });
    if (!updates)
      return {};
    for (const auto &parameter : plan.parameters) {
      SLUICE_CHECK(once(*parameter, parameter->buffer, "parameter '" + parameter->name + "'"));
      for (const auto &state : parameter->states)
        SLUICE_CHECK(
            once(*parameter, state->buffer, "state '" + state->name + "' of parameter '" + parameter->name + "'"));
    }
    return checkNoReadAfterUpdate(entry);
  }

private:
  /// True if an update of a different entry point writes the buffer.
  bool isUpdatedElsewhere(std::uint32_t buffer) const {
    bool found = false;
    for (std::uint32_t other = 0; other < plan.entries.size(); ++other)
      if (other != e && !isInitialization(*plan.entries[other]))
        forEachInstruction(*plan.entries[other],
                           [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
                             forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
                               found = found || (isWrite && view.buffer == buffer);
                             });
                           });
    return found;
  }

  Verdict once(const plan::ParameterT &parameter, std::uint32_t buffer, const std::string &name) const {
    const Writes &found = writes.at(buffer);
    const bool isUpdatedOnlyElsewhere = writes.at(parameter.buffer).count == 0 && isUpdatedElsewhere(parameter.buffer);
    const std::uint64_t expected = parameter.frozen || isUpdatedOnlyElsewhere ? 0 : 1;
    if (found.count == expected)
      return {};
    std::vector<std::string> notes;
    if (found.count != 0)
      notes.push_back("last by " + place(plan, e, found.last));
    return refuse(10,
                  name + ", expected " + std::to_string(expected) + " updates in a step of '" + plan.entries[e]->name +
                      "' but got " + std::to_string(found.count),
                  std::move(notes));
  }

  Verdict checkNoReadAfterUpdate(const plan::EntryT &entry) const {
    Verdict verdict;
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        const auto found = writes.find(view.buffer);
        if (!verdict && !isWrite && found != writes.end() && found->second.count != 0 && found->second.last < i)
          verdict = refuse(10,
                           place(plan, e, i) + " reads buffer '" + plan.buffers[view.buffer]->name +
                               "' after its update in the same step",
                           {"updated by " + place(plan, e, found->second.last)});
      });
    });
    return verdict;
  }

  const plan::PlanT &plan;
  std::uint32_t e;
  /// By buffer, of parameters and states.
  std::map<std::uint32_t, Writes> writes;
};

} // namespace

Verdict updatedOnce(const plan::PlanT &plan) {
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    SLUICE_CHECK(EntryUpdates(plan, e).run());
  return {};
}

} // namespace sluice::check
