//===- Checker.cpp - runs the checks in order ---------------------------------------===//
//
// Each check relies on those before it.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Checker.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/Check.h"

#include <algorithm>
#include <ctime>

namespace sluice {

namespace {

using Outcome = CheckReport::Outcome;

struct PropertyText {
  std::string_view title;
  /// Empty: no stage checks it.
  std::string_view unit;
};

constexpr PropertyText properties[propertyCount] = {
    {"well-formed", "declarations"},
    {"live buffers do not overlap", "lifespans and accesses"},
    {"no race", "pairs of accesses"},
    {"gathered units are read between gather and release", "accesses and releases"},
    {"collectives agree", "collectives"},
    {"no deadlock", "edges"},
    {"each gradient is reduced once", "writes and sums"},
    {"shards partition each tensor", "shards"},
    {"it computes the unsharded program", "launches and segments"},
    {"each parameter is updated once", "parameters and states"},
    {"event discipline", "waits"},
    {"step boundary", "pairs of accesses and outputs"},
    {"order of reductions", "reductions"},
    {"randomness does not depend on layout", "initializers and launches"},
    {"complete state", "tensors and outputs"},
    {"not vacuous", ""},
    {"the same plan everywhere", "versions and digests"},
};

struct CheckStage {
  check::Verdict (*decide)(const plan::PlanT &, check::Findings &);
  /// The properties that it decides, alone or with other stages.
  std::vector<int> properties;
  Outcome outcome = Outcome::proved;
};

const std::vector<CheckStage> &stages() {
  static const std::vector<CheckStage> all = {
      {check::wellFormedTables, {1}},
      {check::wellFormedProgram, {1}},
      {check::wellFormedCode, {1}},
      {check::portsAreRecorded, {1}},
      {check::sameEverywhere, {17}},
      {check::reductionsAreOrdered, {13}},
      {check::collectivesAgree, {5}},
      {check::noDeadlock, {6}},
      {check::shardsPartition, {8}},
      {check::declarationsHold, {4, 8}},
      {check::stateIsComplete, {15}},
      {check::operandsDisjoint, {2}},
      {check::lifespansDisjoint, {2}},
      {check::updatedOnce, {10}},
      {check::simulate, {2, 3, 4, 8, 11, 12}},
      {check::replicasAgree, {7}, Outcome::provedInPart},
      {check::randomValuesAreKeyed, {14}, Outcome::provedInPart},
      {check::computesProgram, {9}},
  };
  return all;
}

using StageIterator = std::vector<CheckStage>::const_iterator;

/// True if a stage from `first` on decides the property.
bool isDecidedFrom(StageIterator first, int property) {
  return std::any_of(first, stages().end(),
                     [&](const CheckStage &stage) { return std::ranges::count(stage.properties, property) != 0; });
}

/// True if the plan has anything that the property is about.
bool applies(const plan::PlanT &plan, int property, const check::Finding &finding) {
  auto any = [&](plan::Operation kind) {
    bool found = false;
    for (const auto &entry : plan.entries)
      forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
        found = found || instruction.operation.type == kind;
      });
    return found;
  };
  switch (property) {
  case 4:
    return std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const auto &buffer) {
      return buffer->class_ == plan::BufferClass::gathered || buffer->unit >= 0;
    });
  case 5:
    return any(plan::Operation::Collective);
  case 7:
  case 8:
  case 10:
    return !plan.parameters.empty();
  case 11:
    return any(plan::Operation::Wait);
  case 13:
  case 14:
    return finding.facts != 0;
  default:
    return true;
  }
}

/// Processor time of this thread, which does not depend on the load of the machine.
double threadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

std::string_view propertyTitle(int number) { return properties[number - 1].title; }
std::string_view factUnit(int number) { return properties[number - 1].unit; }

std::string_view outcomeName(Outcome outcome) {
  constexpr std::string_view names[] = {"proved",         "proved in part", "not proved", "refused",
                                        "not applicable", "not run",        "not reached"};
  return names[std::size_t(outcome)];
}

int CheckReport::refused() const {
  const auto found = std::ranges::find(properties, Outcome::refused, &Property::outcome);
  return found == properties.end() ? 0 : int(found - properties.begin()) + 1;
}

std::string CheckReport::unproved() const {
  const auto found = std::ranges::find(properties, Outcome::notProved, &Property::outcome);
  const int number = int(found - properties.begin()) + 1;
  return found == properties.end() ? "" : concat("P", number, " ", propertyTitle(number), ": ", found->reason);
}

Status checkPlan(const plan::PlanT &plan, CheckReport *report) {
  CheckReport own;
  CheckReport &result = report ? *report : own;
  result = {};
  check::Findings findings;
  Status status;
  for (StageIterator stage = stages().begin(); stage != stages().end() && status.isOk(); ++stage) {
    const double begin = threadSeconds();
    check::Verdict verdict = stage->decide(plan, findings);
    result.stages.push_back({stage->properties, threadSeconds() - begin});
    if (verdict) {
      result[verdict->property] = Outcome::refused;
      status =
          refusedError(concat("P", verdict->property, " ", propertyTitle(verdict->property), ": ", verdict->message));
      for (std::string &note : verdict->notes)
        status.addNote(std::move(note));
      continue;
    }
    // The last stage that decides a property completes its proof.
    for (int number : stage->properties)
      if (!isDecidedFrom(std::next(stage), number))
        result[number] = !applies(plan, number, findings[number]) ? Outcome::notApplicable
                         : !findings[number].notProved.empty()    ? Outcome::notProved
                                                                  : stage->outcome;
  }
  for (int number = 1; number <= propertyCount; ++number) {
    CheckReport::Property &property = result.properties[std::size_t(number - 1)];
    property.facts = findings[number].facts;
    if (property.outcome == Outcome::notProved)
      property.reason = findings[number].notProved;
    if (!isDecidedFrom(stages().begin(), number) && property.outcome != Outcome::refused)
      property.outcome = Outcome::notRun;
  }
  // The proof of P9 contains the rest of P7 and P14.
  for (int number : {7, 14})
    if (result[9] == Outcome::proved && result[number] == Outcome::provedInPart)
      result[number] = Outcome::proved;
  return status;
}

} // namespace sluice
