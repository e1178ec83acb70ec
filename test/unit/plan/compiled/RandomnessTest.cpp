//===- RandomnessTest.cpp - P14 of compiled plans with dropout -------------------------------===//
#include "test/unit/plan/CompiledPlan.h"
#include "test/unit/plan/compiled/PlanEdits.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"
#include "runtime/plan/check/Check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::test {
namespace {

const Recipe withDropout = {
    "Dropout", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 16 --dropout 0.1",
    "--set mesh.shard=2 --set recompute.policy=block"};

plan::AttributeT *keyOf(std::vector<std::unique_ptr<plan::AttributeT>> &attributes) {
  for (const auto &attribute : attributes)
    if (attribute->name == "key")
      return attribute.get();
  return nullptr;
}

class Dropout : public testing::Test {
protected:
  plan::PlanT plan = compile(withDropout);
  CheckReport report;

  plan::LaunchT &first() {
    const Located found = findInstruction(
        plan, [&](const Located &at) { return at.launch() && plan.kernels[at.launch()->kernel] == "dropout"; });
    return *found.launch();
  }
  Status check() {
    serializePlan(plan);
    return checkPlan(plan, &report);
  }
  void expectRefused(const std::string &message, int property = 14) {
    const Status status = check();
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(report.refused(), property) << status.message();
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
};

TEST_F(Dropout, IsProved) {
  ASSERT_TRUE(check().isOk());
  EXPECT_EQ(report[14], report[9] == CheckReport::Outcome::proved ? CheckReport::Outcome::proved
                                                                  : CheckReport::Outcome::provedInPart);
}

TEST_F(Dropout, KeyOfAnotherOp) {
  keyOf(first().attributes)->integer += 1000;
  expectRefused("expected 'key' = ", 9);
}

TEST_F(Dropout, SeedIsTheStep) {
  first().inputs[1] = std::make_unique<plan::ViewT>(*first().inputs[2]);
  expectRefused("as seed, which is not the input 'seed'");
}

/// Well-formed views of a scalar have no offset; the check does not rely on that.
TEST_F(Dropout, SeedIsNoInput) {
  first().inputs[1]->offset += 8;
  check::Findings findings;
  const check::Verdict refusal = check::randomValuesAreKeyed(plan, findings);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("as seed, which is not the input 'seed'"), std::string::npos) << refusal->message;
}

TEST_F(Dropout, RowIsTheStep) {
  first().inputs[3] = std::make_unique<plan::ViewT>(*first().inputs[2]);
  expectRefused("as row, which is not the input 'row'");
}

TEST_F(Dropout, ElementsOfALargerTensor) {
  plan::ViewT &output = *first().outputs[0];
  auto valid = std::make_unique<plan::ValidT>();
  valid->axes = plan.data_axes;
  valid->chunk = output.shape[0];
  valid->total = output.shape[0] * std::int64_t(meshSize(plan));
  output.valid.push_back(std::move(valid));
  expectRefused("the valid extent of result 0 is not that of its shard", 9);
}

/// The id is a hint: the proof finds the op by its operands.
TEST_F(Dropout, IsProvedWithoutAnId) {
  first().output_values[0] = 0;
  ASSERT_TRUE(check().isOk());
  EXPECT_EQ(report[14], CheckReport::Outcome::proved);
}

TEST_F(Dropout, TwoOpsWithOneKeyAreNotProved) {
  std::set<std::int64_t> keys;
  for (const auto &kind : plan.program->kinds)
    if (kind->op == "model.dropout")
      keys.insert(keyOf(kind->attributes)->integer);
  ASSERT_GE(keys.size(), 2u);
  const std::int64_t one = *keys.begin(), other = *std::next(keys.begin());
  const auto replace = [&](auto &attributes) {
    if (plan::AttributeT *key = keyOf(attributes); key && key->integer == other)
      key->integer = one;
  };
  for (const auto &kind : plan.program->kinds)
    if (kind->op == "model.dropout")
      replace(kind->attributes);
  for (const Located &at : trainStep(plan))
    if (at.launch() && plan.kernels[at.launch()->kernel] == "dropout")
      replace(at.launch()->attributes);
  ASSERT_TRUE(check().isOk());
  EXPECT_EQ(report[14], CheckReport::Outcome::notProved);
  EXPECT_NE(report.properties[13].reason.find("two ops of 'train_step' draw random values with the key"),
            std::string::npos);
}

} // namespace
} // namespace sluice::test
