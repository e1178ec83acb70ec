//===- SpoiledPlan.h - finds and changes instructions of compiled plans -------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_PROOF_SPOILEDPLAN_H
#define SLUICE_TEST_UNIT_PLAN_PROOF_SPOILEDPLAN_H

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"
#include "test/unit/plan/CompiledPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace sluice::test {

using Accept = std::function<bool(const plan::InstructionT &)>;

/// The first accepted instruction of an entry point.
inline plan::InstructionT &find(plan::PlanT &plan, const Accept &accept, const std::string &entry = "train_step") {
  plan::InstructionT *found = nullptr;
  forEachInstruction(*plan.entries[std::size_t(findEntry(plan, entry))],
                     [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
                       if (!found && accept(instruction))
                         found = const_cast<plan::InstructionT *>(&instruction);
                     });
  if (!found)
    throw std::runtime_error("no such instruction");
  return *found;
}
inline plan::LaunchT &findLaunch(plan::PlanT &plan, const std::string &kernel,
                                 const std::string &entry = "train_step") {
  return *find(
              plan,
              [&](const plan::InstructionT &at) {
                return at.operation.AsLaunch() && plan.kernels[at.operation.AsLaunch()->kernel] == kernel;
              },
              entry)
              .operation.AsLaunch();
}
inline plan::CollectiveT &findCollective(plan::PlanT &plan, plan::CollectiveKind kind) {
  return *find(plan, [&](const plan::InstructionT &at) {
            return at.operation.AsCollective() && at.operation.AsCollective()->kind == kind;
          }).operation.AsCollective();
}
inline plan::AttributeT &attributeOf(plan::LaunchT &launch, const std::string &name) {
  return **std::ranges::find_if(launch.attributes, [&](const auto &attribute) { return attribute->name == name; });
}
/// The launch uses a kernel that the plan does not name yet.
inline void useKernel(plan::PlanT &plan, plan::LaunchT &launch, const std::string &kernel) {
  plan.kernels.push_back(kernel);
  launch.kernel = std::uint32_t(plan.kernels.size() - 1);
}

struct Wrong {
  const char *name;
  const char *recipe;
  int property;
  /// Part of the message.
  const char *message;
  void (*spoil)(plan::PlanT &);
};
inline void PrintTo(const Wrong &wrong, std::ostream *out) { *out << wrong.name; }

/// The plan is proved.
inline void expectProved(const Recipe &recipe) {
  CheckReport report;
  const Status status = checkPlan(compile(recipe), &report);
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(report[9], CheckReport::Outcome::proved) << report.properties[8].reason;
  EXPECT_EQ(report[7], CheckReport::Outcome::proved);
}

/// The verdict on the plan of the recipe, spoiled.
inline Status checkSpoiled(const Recipe &recipe, const Wrong &wrong, CheckReport &report) {
  plan::PlanT plan = compile(recipe);
  wrong.spoil(plan);
  serializePlan(plan);
  return checkPlan(plan, &report);
}

/// The plan is refused for the property, with the message.
inline void expectRefused(const Recipe &recipe, const Wrong &wrong) {
  CheckReport report;
  const Status status = checkSpoiled(recipe, wrong, report);
  EXPECT_EQ(report.refused(), wrong.property) << status.message() << report.properties[8].reason;
  EXPECT_NE(status.message().find("P" + std::to_string(wrong.property) + " "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(wrong.message), std::string::npos) << status.message();
}

/// The property of the plan is neither refused nor proved, for the reason.
inline void expectNotProved(const Recipe &recipe, const Wrong &wrong) {
  CheckReport report;
  const Status status = checkSpoiled(recipe, wrong, report);
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(report[wrong.property], CheckReport::Outcome::notProved);
  const std::string &reason = report.properties[std::size_t(wrong.property - 1)].reason;
  EXPECT_NE(reason.find(wrong.message), std::string::npos) << reason;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_PROOF_SPOILEDPLAN_H
