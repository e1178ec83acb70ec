//===- Updates.cpp - P10: parameters and their states are updated once --------------------===//
//
// The unsharded program decides which parameters an entry point updates (Trained.h): it writes every byte of them and
// of their states exactly once per step, by any instruction, writes no other parameter, and reads no shard after its
// update. Only an entry point that is not in the program initializes: all of its instructions are of that phase.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Issue.h"
#include "runtime/plan/check/Check.h"
#include "runtime/plan/check/Trained.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace sluice::check {
namespace {

/// True if all instructions are of the phase that initializes.
bool isInitialization(const plan::EntryT &entry) {
  bool found = true;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    found = found && instruction.phase == plan::Phase::init;
  });
  return found;
}

/// The writes of one buffer.
struct Writes {
  std::uint32_t last = 0;
  /// Dense views, relative to the buffer, with the times that each is issued.
  struct Range {
    std::uint64_t begin, end, times;
  };
  std::vector<Range> ranges;
  /// A strided view, or one that moves with the repetition.
  bool isIrregular = false;
};

class EntryUpdates {
public:
  EntryUpdates(const plan::PlanT &plan, std::uint32_t e, const std::vector<bool> &trained, Finding &finding)
      : plan(plan), e(e), trained(trained), finding(finding), writes(plan.buffers.size()) {
    for (const auto &parameter : plan.parameters) {
      writes[parameter->buffer].emplace();
      for (const auto &state : parameter->states)
        writes[state->buffer].emplace();
    }
  }

  Verdict run() {
    const plan::EntryT &entry = *plan.entries[e];
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t s) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        std::optional<Writes> &found = writes[view.buffer];
        if (!isWrite || !found)
          return;
        found->last = i;
        found->isIrregular = found->isIrregular || !isDense(view) || view.repetition_stride != 0;
        found->ranges.push_back(
            {view.offset, view.offset + *viewBytes(view), timesIssued(instruction, entry.sections[s]->repeat)});
      });
    });
    for (std::size_t p = 0; p < plan.parameters.size(); ++p) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      const std::string name = "parameter '" + parameter.name + "'";
      SLUICE_CHECK(once(parameter.buffer, name, trained[p]));
      for (const auto &state : parameter.states)
        SLUICE_CHECK(once(state->buffer, "state '" + state->name + "' of " + name, trained[p]));
    }
    return checkNoReadAfterUpdate(entry);
  }

private:
  Verdict once(std::uint32_t buffer, const std::string &name, bool isTrained) {
    ++finding.facts;
    Writes &found = *writes[buffer];
    const std::uint64_t bytes = plan.buffers[buffer]->bytes;
    const auto bad = [&](const auto &...what) {
      std::vector<std::string> notes;
      if (!found.ranges.empty())
        notes.push_back("last by " + place(plan, e, found.last));
      return refuse(10, concat(name, ", ", what...), std::move(notes));
    };
    std::sort(found.ranges.begin(), found.ranges.end(),
              [](const Writes::Range &a, const Writes::Range &b) { return a.begin < b.begin; });
    std::uint64_t count = 0, covered = 0;
    bool overlaps = false;
    for (const Writes::Range &range : found.ranges) {
      overlaps = overlaps || range.begin < covered;
      if (range.begin > covered || found.isIrregular)
        break;
      covered = std::max(covered, range.end);
    }
    // Adjacent ranges are parts of one update.
    for (const Writes::Range &range : found.ranges)
      count = overlaps || found.isIrregular ? count + range.times : std::max(count, range.times);
    const std::uint64_t expected = isTrained && bytes != 0 ? 1 : 0;
    if (count != expected)
      return bad("expected ", expected, " updates in a step of '", plan.entries[e]->name, "' but got ", count);
    if (count == 1 && covered != bytes)
      return bad("expected an update of all ", bytes, " bytes in a step of '", plan.entries[e]->name, "' but only ",
                 covered, " from the first are updated");
    return {};
  }

  Verdict checkNoReadAfterUpdate(const plan::EntryT &entry) const {
    Verdict verdict;
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        const std::optional<Writes> &found = writes[view.buffer];
        if (!verdict && !isWrite && found && !found->ranges.empty() && found->last < i)
          verdict = refuse(10,
                           place(plan, e, i) + " reads buffer '" + plan.buffers[view.buffer]->name +
                               "' after its update in the same step",
                           {"updated by " + place(plan, e, found->last)});
      });
    });
    return verdict;
  }

  const plan::PlanT &plan;
  std::uint32_t e;
  const std::vector<bool> &trained;
  Finding &finding;
  /// By buffer; nullopt: of no parameter or state.
  std::vector<std::optional<Writes>> writes;
};

} // namespace

Verdict updatedOnce(const plan::PlanT &plan, Findings &findings) {
  const std::map<std::string, std::vector<bool>> trained = trainedParameters(plan);
  const std::vector<bool> none(plan.parameters.size());
  std::vector<bool> byAny = none;
  for (const auto &[name, own] : trained) {
    for (std::size_t p = 0; p < own.size(); ++p)
      byAny[p] = byAny[p] || own[p];
    if (findEntry(plan, name) < 0 && own != none)
      return refuse(10, "missing entry point '" + name + "', which the unsharded program trains with");
  }
  for (std::size_t p = 0; p < plan.parameters.size(); ++p)
    if (plan.parameters[p]->frozen == byAny[p])
      return refuse(10, "parameter '" + plan.parameters[p]->name +
                            (byAny[p] ? "' is frozen, but a loss of the unsharded program depends on it"
                                      : "' is not frozen, but the unsharded program does not train it"));
  const std::set<std::string> written = writtenParameters(plan);
  for (const auto &parameter : plan.parameters)
    if (!parameter->requires_grad && written.count(parameter->name))
      return refuse(10,
                    "parameter '" + parameter->name + "' requires no gradient, but the unsharded program writes it");
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    const auto own = trained.find(plan.entries[e]->name);
    if (own == trained.end() && isInitialization(*plan.entries[e]))
      continue;
    SLUICE_CHECK(EntryUpdates(plan, e, own == trained.end() ? none : own->second, findings[10]).run());
  }
  return {};
}

} // namespace sluice::check
