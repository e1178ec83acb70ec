//===- RecordedTypesTest.cpp - types of values of the program (P15, P9) --------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// A parameter and a variable in f32, which the program reads in these types, and does not write.
std::string stateOf(plan::DType parameter, plan::DType variable) {
  ProofPlan plan;
  plan.unit("u");
  plan.parameter("w", {4}, {}, plan.buffer("w", {4}));
  plan.buffer("v", {4});
  plan.plan.buffers[1]->class_ = plan::BufferClass::state;
  plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
  plan.plan.variables[0]->name = "v";
  plan.plan.variables[0]->buffer = 1;
  plan.op("model.read", {}, {4}, {}, "w", parameter);
  plan.op("model.read", {}, {4}, {}, "v", variable);
  plan.end();
  check::Findings findings;
  const check::Verdict refusal = check::stateIsComplete(plan.plan, findings);
  return refusal ? refusal->message : "";
}

/// The step may compute with a parameter in another type than that in which it is kept.
TEST(RecordedTypes, OnlyAParameterIsReadInAnotherType) {
  EXPECT_EQ(stateOf(f32, f32), "");
  EXPECT_EQ(stateOf(plan::DType::bf16, f32), "");
  EXPECT_EQ(stateOf(f32, plan::DType::bf16), "'v', expected bf16[4] as in the unsharded program but got f32[4]");
}

/// A program of one op on reads of parameters.
std::string programOf(const std::string &op, const std::vector<Shape> &operands, const std::vector<Shape> &results,
                      std::vector<plan::AttributeT> attributes = {}, plan::DType dtype = f32) {
  ProofPlan plan({{"shard", 2}});
  Ids values, defined;
  for (const Shape &shape : operands)
    values.push_back(plan.op("model.read", {}, shape, {}, "w" + std::to_string(values.size())));
  for (const Shape &shape : results)
    defined.push_back(plan.value(shape, dtype));
  plan.define(op, values, defined, std::move(attributes));
  plan.end();
  return proofOf(plan);
}

struct ProgramOp {
  const char *op;
  std::vector<Shape> operands, results, wrong;
  std::vector<plan::AttributeT> attributes = {};
  const char *message = "its results do not have the extents of the view";
};

TEST(RecordedTypes, ExtentsAreThoseOfTheOp) {
  const std::vector<ProgramOp> ops = {
      {"model.reshape", {{2, 6}}, {{3, 4}}, {{3, 5}}},
      {"model.broadcast", {{2, 1}}, {{2, 6}}, {{3, 6}}},
      {"model.transpose", {{2, 6}}, {{6, 2}}, {{2, 6}}, {list("permutation", {1, 0})}},
      {"model.slice", {{6, 2}}, {{2, 2}}, {{3, 2}}, {list("start", {1, 0}), list("limit", {3, 2})}},
      {"model.split", {{6, 2}}, {{2, 2}, {4, 2}}, {{2, 2}, {5, 2}}, {integer("dim", 0)}},
      {"model.split", {{6, 2}}, {{6, 1}, {6, 1}}, {{6, 1}, {}}, {integer("dim", 1)}},
      {"model.scale", {{6, 2}}, {{6, 2}}, {{2, 6}}, {number("factor", 2)}},
      {"model.all_gather", {{6, 2}}, {{12, 2}}, {{6, 2}}},
      {"model.reduce_scatter", {{6, 2}}, {{3, 2}}, {{6, 2}}},
      {"model.cast",
       {{6, 2}},
       {{6, 2}},
       {{6, 3}},
       {},
       "kernel 'cast' input 0 extents, expected [6 or 1, 3 or 1] but got [6, 2]"},
      {"model.matmul",
       {{2, 3}, {3, 4}},
       {{2, 4}},
       {{2, 5}},
       {},
       "kernel 'matmul' input 1 extents, expected [3, 5] but got [3, 4]"},
      {"model.matmul",
       {{2, 3}, {3, 4}},
       {{2, 4}},
       {{2, 4}, {2, 4}},
       {},
       "kernel 'matmul' outputs, expected 1 but got 2"},
      {"model.reshape", {{2, 3}}, {{6}}, {{6}, {6}}, {}, "its results do not have the extents of the view"},
      {"model.scale", {{2}}, {{2}}, {{2}, {2}}, {}, "its results do not have the extents of the view"},
  };
  for (const ProgramOp &op : ops) {
    EXPECT_EQ(programOf(op.op, op.operands, op.results, op.attributes), "") << op.op;
    const std::string refused =
        "op " + std::to_string(op.operands.size()) + " of the unsharded program (" + op.op + "): ";
    EXPECT_EQ(programOf(op.op, op.operands, op.wrong, op.attributes), "P9: " + refused + op.message);
  }
}

TEST(RecordedTypes, ElementTypesAreThoseOfTheOp) {
  expectText(programOf("model.relu", {{4}}, {{4}}, {}, plan::DType::i64), "P9",
             "kernel 'relu' output 0 dtype, expected f32, f64, bf16 or f16 but got i64");
  EXPECT_EQ(programOf("model.relu", {{4}}, {{4}}, {}, plan::DType::bf16), "");
}

/// A value without uses has no id, and an op without a rule no types.
TEST(RecordedTypes, UnknownTypesAreNotCompared) {
  ProofPlan plan({{"shard", 2}});
  const std::uint32_t w = plan.op("model.read", {}, {4}, {}, "w");
  plan.define("model.relu", {w}, {0});
  plan.op("model.accumulate", {w}, {3});
  plan.end();
  EXPECT_EQ(proofOf(plan), "");
}

} // namespace
} // namespace sluice::test
