//===- Check.h - common code of the checks -----------------------------------------===//
//
// One function per stage returns nothing if it accepts the plan and a refusal with a counterexample otherwise, and adds
// the facts that it checked to the findings. The wellFormed functions accept any plan; the others rely on them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_CHECK_H
#define SLUICE_RUNTIME_PLAN_CHECK_CHECK_H

#include "runtime/plan/Checker.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::check {

struct Refusal {
  int property = 0;
  std::string message;
  std::vector<std::string> notes;
};
using Verdict = std::optional<Refusal>;

/// What the stages found about one property.
struct Finding {
  /// Facts that were checked, in the unit of the property (factUnit).
  std::uint64_t facts = 0;
  /// Why the property is neither proved nor refused; empty if it is proved.
  std::string notProved;
};

/// By the number of the property.
class Findings {
public:
  Finding &operator[](int property) { return all[std::size_t(property - 1)]; }

private:
  std::array<Finding, propertyCount> all;
};

/// Dimensions of a buffer, a parameter or a view, at most.
constexpr std::size_t maxDims = 8;

inline Verdict refuse(int property, std::string message, std::vector<std::string> notes = {}) {
  return Refusal{property, std::move(message), std::move(notes)};
}

#define SLUICE_CHECK(expression)                                                                                       \
  do {                                                                                                                 \
    if (::sluice::check::Verdict verdict_ = (expression))                                                              \
      return verdict_;                                                                                                 \
  } while (false)

/// P1, the tables: mesh, data axes, arenas, streams, buffers, units, parameters, entries, learning rate.
Verdict wellFormedTables(const plan::PlanT &plan, Findings &findings);
/// P1, the unsharded program.
Verdict wellFormedProgram(const plan::PlanT &plan, Findings &findings);
/// P1, the instructions and their views.
Verdict wellFormedCode(const plan::PlanT &plan, Findings &findings);
/// P1, what the host writes: the inputs of an entry point are those of its function in the unsharded program; only the
/// entry point that initializes is not in it.
Verdict portsAreRecorded(const plan::PlanT &plan, Findings &findings);
/// P4 and P8: units of gathered buffers agree with their use.
Verdict declarationsHold(const plan::PlanT &plan, Findings &findings);
/// P17: the digest and versions.
Verdict sameEverywhere(const plan::PlanT &plan, Findings &findings);
/// P5: collectives agree over the ranks of their group.
Verdict collectivesAgree(const plan::PlanT &plan, Findings &findings);
/// P6: stream order and waits have no cycle.
Verdict noDeadlock(const plan::PlanT &plan, Findings &findings);
/// P8, the part that does not depend on the data flow: shards partition each tensor.
Verdict shardsPartition(const plan::PlanT &plan, Findings &findings);
/// P2 for the operands of each instruction: within lifespans, and disjoint except in place.
Verdict operandsDisjoint(const plan::PlanT &plan, Findings &findings);
/// P2, by declared lifespans: live buffers share no byte, the peak is not larger than declared.
Verdict lifespansDisjoint(const plan::PlanT &plan, Findings &findings);
/// P10: each parameter and state is updated once a step.
Verdict updatedOnce(const plan::PlanT &plan, Findings &findings);
/// P7, in part: ranks that hold the same shard of a parameter write the same to it, and no value counts twice.
Verdict replicasAgree(const plan::PlanT &plan, Findings &findings);
/// P2, P3, P4, P8, P11, P12 by running each entry point twice with vector clocks in place of time.
Verdict simulate(const plan::PlanT &plan, Findings &findings);

/// P13: every reduction has a stated order.
Verdict reductionsAreOrdered(const plan::PlanT &plan, Findings &findings);
/// P14, without the relation of windows to elements, which P9 proves: random values do not depend on the layout.
Verdict randomValuesAreKeyed(const plan::PlanT &plan, Findings &findings);
/// P15: the declared state is complete, and has the names and types of the unsharded program.
Verdict stateIsComplete(const plan::PlanT &plan, Findings &findings);

/// P9, and with it the rest of P7 and P14: each entry point computes its function of the unsharded program.
Verdict computesProgram(const plan::PlanT &plan, Findings &findings);

/// "instruction 12 (all_gather of unit 'h.0' on stream 'gather') of 'train_step'".
std::string place(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t issue);

/// A sample of the repetitions of a section: the first, two in the middle, the last (adjacent middle repetitions are
/// alike), and the neighbours of those in lists of predicates. Ascending.
std::vector<std::uint32_t> sampleRepetitions(const plan::SectionT &section);

/// Calls `visit(instruction, position)` for the instructions of the sampled repetitions in issue order, until it
/// refuses. The position is that in the entry point.
template <typename Visit> Verdict followSamples(const plan::EntryT &entry, Visit &&visit) {
  std::uint32_t first = 0;
  for (const auto &section : entry.sections) {
    for (std::uint32_t repetition : sampleRepetitions(*section))
      for (std::uint32_t k = 0; k < section->instructions.size(); ++k)
        if (isIssued(*section->instructions[k], repetition, section->repeat))
          SLUICE_CHECK(visit(*section->instructions[k], first + k));
    first += static_cast<std::uint32_t>(section->instructions.size());
  }
  return {};
}

/// Why attributes are not in the one form that they have: in the order of their names, each name once, and of each only
/// the field of its kind is set. Empty if they are.
std::string formProblem(std::span<const std::unique_ptr<plan::AttributeT>> attributes);

/// "bytes [64, 128) of device".
std::string byteRange(plan::Space space, std::uint64_t begin, std::uint64_t end);

/// True if the views share no byte: exact if both are regular windows of one period, by their ranges otherwise. The
/// views are of one space; `a` and `b` are their absolute offsets.
bool viewsDisjoint(const plan::ViewT &first, std::uint64_t a, const plan::ViewT &second, std::uint64_t b);

/// Pairs of buffers of an instruction: it reads the first in place of which it writes the second.
std::set<std::pair<std::uint32_t, std::uint32_t>> replacedBuffers(const plan::PlanT &plan,
                                                                  const plan::InstructionT &instruction);

/// True where the destination kernel reads what its output held before (accumulate).
bool readsOutput(const plan::PlanT &plan, const plan::LaunchT &launch);

/// For each segment of a collective the parameter of the instruction's unit, found by the sizes of shard and full
/// parameter; -1: none.
std::vector<int> segmentParameters(const plan::PlanT &plan, const plan::InstructionT &instruction,
                                   const plan::CollectiveT &collective);

/// Elements of the shard of a parameter on one rank, padding included.
std::uint64_t shardElements(const plan::ParameterT &parameter);
/// True where some rank's shard holds padding.
bool isPadded(const plan::PlanT &plan, const plan::ParameterT &parameter);

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_CHECK_H
