//===- Checker.cpp - runs the checks in order ---------------------------------------===//
//
// Each check relies on those before it.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Checker.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Serialize.h"
#include "runtime/plan/check/Check.h"

#include <algorithm>

namespace sluice {

namespace check {

Verdict sameEverywhere(const plan::PlanT &plan) {
  if (plan.major != planMajor)
    return refuse(17, concat("expected major version ", planMajor, " but got ", plan.major));
  if (plan.catalogue != catalogueVersion())
    return refuse(17,
                  concat("expected version ", catalogueVersion(), " of the kernel catalogue but got ", plan.catalogue));
  if (plan.digest.size() != digestBytes)
    return refuse(17, concat("expected a digest of ", digestBytes, " bytes but got ", plan.digest.size()));
  const Digest digest = canonicalDigest(plan);
  if (!std::equal(digest.begin(), digest.end(), plan.digest.begin()))
    return refuse(17, "expected digest " + toHex(digest) + " of its canonical bytes but it names " + digestText(plan));
  return {};
}

} // namespace check

namespace {

using Outcome = CheckReport::Outcome;

constexpr std::string_view titles[propertyCount] = {
    "well-formed",
    "live buffers do not overlap",
    "no race",
    "gathered units are read between gather and release",
    "collectives agree",
    "no deadlock",
    "each gradient is reduced once",
    "shards partition each tensor",
    "it computes the unsharded program",
    "each parameter is updated once",
    "event discipline",
    "step boundary",
    "order of reductions",
    "randomness does not depend on layout",
    "complete state",
    "not vacuous",
    "the same plan everywhere",
};

struct Stage {
  check::Verdict (*decide)(const plan::PlanT &);
  /// The properties that are proved if this stage accepts the plan, and all stages before it did.
  std::vector<int> properties;
  Outcome outcome = Outcome::proved;
};

const std::vector<Stage> &stages() {
  static const std::vector<Stage> all = {
      {check::wellFormedTables, {}},
      {check::wellFormedProgram, {}},
      {check::wellFormedCode, {}},
      {check::inputsAreRecorded, {1}},
      {check::sameEverywhere, {17}},
      {check::collectivesAgree, {5}},
      {check::noDeadlock, {6}},
      {check::shardsPartition, {}},
      {check::declarationsHold, {}},
      {check::operandsDisjoint, {}},
      {check::lifespansDisjoint, {}},
      {check::updatedOnce, {10}},
      {check::simulate, {2, 3, 4, 8, 11, 12}},
      {check::replicasAgree, {7}, Outcome::provedInPart},
  };
  return all;
}

/// True if the plan has anything that the property is about.
bool applies(const plan::PlanT &plan, int property) {
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
  default:
    return true;
  }
}

} // namespace

std::string_view propertyTitle(int number) { return titles[number - 1]; }

std::string_view outcomeName(Outcome outcome) {
  constexpr std::string_view names[] = {"proved",         "proved in part", "refused",
                                        "not applicable", "not checked",    "not reached"};
  return names[std::size_t(outcome)];
}

Status checkPlan(const plan::PlanT &plan, CheckReport *report) {
  CheckReport own;
  CheckReport &result = report ? *report : own;
  result.outcomes.fill(Outcome::notReached);
  for (int number : {9, 13, 14, 15, 16})
    result[number] = Outcome::notChecked;
  for (const Stage &stage : stages()) {
    if (check::Verdict verdict = stage.decide(plan)) {
      result[verdict->property] = Outcome::refused;
      Status status =
          refusedError(concat("P", verdict->property, " ", propertyTitle(verdict->property), ": ", verdict->message));
      for (std::string &note : verdict->notes)
        status.addNote(std::move(note));
      return status;
    }
    for (int number : stage.properties)
      result[number] = applies(plan, number) ? stage.outcome : Outcome::notApplicable;
  }
  return Status::ok();
}

} // namespace sluice
