//===- MutantTest.cpp - kinds of mutants of the hand-written plan --------------------------===//
#include "test/unit/plan/HandPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"
#include "test/mutants/mutate/FieldMutants.h"
#include "test/mutants/mutate/Mutant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::test {
namespace {

const MutantKind &kindNamed(std::string_view name) {
  const auto &kinds = mutantKinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const MutantKind &kind) { return kind.name == name; });
  EXPECT_NE(found, kinds.end()) << name;
  return *found;
}

plan::PlanT goodPlan() {
  HandPlan hand;
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk());
  return hand.plan;
}

int refusedProperty(const plan::PlanT &plan) {
  CheckReport report;
  (void)checkPlan(plan, &report);
  return report.refused();
}

TEST(Mutant, KindsHaveNamesAndProperties) {
  std::set<std::string_view> names;
  for (const MutantKind &kind : mutantKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.summary.empty()) << kind.name;
    EXPECT_FALSE(kind.properties.empty()) << kind.name;
    for (int property : kind.properties)
      EXPECT_TRUE(property >= 1 && property <= propertyCount) << kind.name;
  }
  EXPECT_GE(names.size(), 90u);
}

TEST(Mutant, IsAFunctionOfTheSeed) {
  const plan::PlanT plan = goodPlan();
  std::size_t kinds = 0;
  for (const MutantKind &kind : mutantKinds()) {
    SCOPED_TRACE(kind.name);
    bool isMade = false;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::optional<plan::PlanT> first = makeMutant(plan, kind, seed), second = makeMutant(plan, kind, seed);
      ASSERT_EQ(first.has_value(), second.has_value());
      if (!first)
        continue;
      isMade = true;
      EXPECT_EQ(canonicalDigest(*first), canonicalDigest(*second));
      EXPECT_EQ(first->digest, second->digest);
      EXPECT_TRUE(canonicalDigest(*first) != canonicalDigest(plan) || first->digest != plan.digest);
      // The digest is refused only if it is what the kind changes.
      EXPECT_TRUE(std::ranges::count(kind.properties, 17) != 0 || refusedProperty(*first) != 17);
    }
    kinds += isMade;
  }
  // The others need a second axis or entry point, an optimizer with two states, ...: test/pipeline/mutants.py has them.
  EXPECT_GE(kinds, 80u);
}

/// A cast has a list of outputs, as an update has.
TEST(Mutant, CastsAreNoUpdates) {
  HandPlan hand;
  plan::LaunchT cast;
  cast.kernel = std::uint32_t(hand.plan.kernels.size());
  hand.plan.kernels.push_back("cast");
  cast.inputs.push_back(hand.view("shard.b"));
  cast.outputs.push_back(hand.view("shard.b"));
  hand.insertAfter("update b", std::move(cast));
  hand.seal();
  for (std::string_view name : {"drop-update", "update-other-gradient"}) {
    SCOPED_TRACE(name);
    int made = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      if (const std::optional<plan::PlanT> mutant = makeMutant(hand.plan, kindNamed(name), seed)) {
        ++made;
        EXPECT_TRUE(std::ranges::any_of(mutant->entries[0]->sections[1]->instructions, [&](const auto &each) {
          const plan::LaunchT *launch = each->operation.AsLaunch();
          return launch && mutant->kernels[launch->kernel] == "cast";
        }));
      }
    EXPECT_GT(made, 0);
  }
}

/// Changes that are wrong at each place of each plan.
TEST(Mutant, IsRefusedForItsProperty) {
  const plan::PlanT plan = goodPlan();
  const char *names[] = {"drop-all-updates",  "drop-gather",      "drop-update",    "major-version",    "misalign",
                         "offset-past-arena", "release-early",    "release-twice",  "repeat-update",    "shrink-buffer",
                         "shrink-peak",       "unknown-enum",     "unknown-kernel", "view-past-buffer", "wait-cycle",
                         "wrong-digest",      "catalogue-version"};
  for (const char *name : names) {
    SCOPED_TRACE(name);
    const MutantKind &kind = kindNamed(name);
    int made = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      if (const std::optional<plan::PlanT> mutant = makeMutant(plan, kind, seed)) {
        ++made;
        const int property = refusedProperty(*mutant);
        EXPECT_TRUE(std::count(kind.properties.begin(), kind.properties.end(), property)) << "P" << property;
      }
    EXPECT_GT(made, 0);
  }
}

TEST(FieldMutant, IsAFunctionOfTheSeed) {
  const plan::PlanT plan = goodPlan();
  const std::vector<std::string> fields = planFields(plan);
  EXPECT_GE(fields.size(), 120u);
  EXPECT_EQ(std::ranges::count(fields, "Plan.digest"), 0);
  for (const char *field : {"Plan.major", "Instruction.operation", "View.shape", "Parameter.initializer"})
    EXPECT_EQ(std::ranges::count(fields, field), 1) << field;
  for (const std::string &field : fields) {
    SCOPED_TRACE(field);
    bool isMade = false;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const std::optional<plan::PlanT> first = makeFieldMutant(plan, field, seed),
                                       second = makeFieldMutant(plan, field, seed);
      ASSERT_EQ(first.has_value(), second.has_value());
      if (!first)
        continue;
      isMade = true;
      EXPECT_EQ(first->digest, second->digest);
      EXPECT_NE(first->digest, plan.digest);
      // It is what a file has: a refusal is not for its digest.
      const Digest digest = canonicalDigest(*first);
      EXPECT_TRUE(std::ranges::equal(first->digest, digest));
    }
    EXPECT_TRUE(isMade);
  }
  EXPECT_FALSE(makeFieldMutant(plan, "View.colour", 0));
}

} // namespace
} // namespace sluice::test
