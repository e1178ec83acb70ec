//===- RulesTest.cpp - consistency of the interfaces of each op ----------------------===//
//
// The program under test is test/dialect/model/round-trip.mlir, which has every op of the dialect.
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialect/model/Programs.h"

#include <set>

using namespace mlir;

namespace sluice::model::test {
namespace {

std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

TEST(ModelRules, EveryOpIsInTheRoundTripTest) {
  Programs programs;
  auto module = programs.parseAll();
  std::set<StringRef> seen;
  module->walk([&](Operation *op) { seen.insert(op->getName().getStringRef()); });
  for (RegisteredOperationName name : programs.context.getRegisteredOperationsByDialect("model"))
    EXPECT_TRUE(seen.count(name.getStringRef())) << name.getStringRef().str() << " is missing";
}

TEST(ModelRules, EveryComputeOpImplementsEveryInterface) {
  Programs programs;
  auto module = programs.parseAll();
  module->walk([&](Operation *op) {
    if (!isa<KernelOpInterface>(op))
      return;
    EXPECT_TRUE(isa<VjpOpInterface>(op)) << describe(op);
    EXPECT_TRUE(isa<ShardingRuleOpInterface>(op)) << describe(op);
    EXPECT_TRUE(isa<CostOpInterface>(op)) << describe(op);
    EXPECT_TRUE(isa<PrecisionOpInterface>(op)) << describe(op);
  });
}

TEST(ModelRules, KernelCallsFitTheCatalogue) {
  Programs programs;
  auto module = programs.parseAll();
  module->walk([&](KernelOpInterface op) {
    KernelCall call = op.getKernelCall();
    const KernelRecord &record = kernelRecord(call.kernel);
    const Attributes attributes = launchAttributes(call.attributes);
    const OperandCounts counts = expectedOperands(record, attributes, call.inputs.size(), op->getNumResults());
    EXPECT_TRUE(counts.isAtLeast ? call.inputs.size() >= counts.inputs : call.inputs.size() == counts.inputs)
        << describe(op);
    // A split is a view; if it cannot be, each part is a separate copy.
    if (!isa<ViewOpInterface>(op.getOperation())) {
      EXPECT_EQ(counts.outputs, op->getNumResults()) << describe(op);
    }
    EXPECT_EQ("", attributeProblem(record, attributes)) << describe(op);
    for (NamedAttribute attribute : call.attributes)
      EXPECT_TRUE((isa<IntegerAttr, FloatAttr, DenseI64ArrayAttr>(attribute.getValue()))) << describe(op);
    for (const AliasPairs &pairs : {call.mayAlias(op->getResults()), call.mustAlias(op->getResults())})
      for (auto [input, output] : pairs) {
        ASSERT_LT(input, call.inputs.size()) << describe(op);
        ASSERT_LT(output, op->getNumResults()) << describe(op);
        EXPECT_EQ(call.inputs[input].getType(), op->getResult(output).getType()) << describe(op);
      }
  });
}

TEST(ModelRules, UpdatesReuseTheMemoryOfParameterAndStates) {
  Programs programs;
  auto module = programs.parseAll();
  auto updated = [](auto op) { return op.getKernelCall().mustAlias(op->getResults()); };
  EXPECT_EQ((AliasPairs{{0, 0}, {2, 1}, {3, 2}}), updated(programs.first<AdamwOp>(*module)));
  EXPECT_EQ((AliasPairs{{0, 0}}), updated(programs.first<SgdOp>(*module)));
  // Of each parameter of a list.
  SgdOp last;
  module->walk([&](SgdOp op) { last = op; });
  EXPECT_EQ((AliasPairs{{0, 0}, {2, 1}}), updated(last));
}

// The extents of a dim's factors multiply to the dim's extent; only a repeated dim has no factor.
TEST(ModelRules, FactorsMultiplyToExtents) {
  Programs programs;
  auto module = programs.parseAll();
  module->walk([&](ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    ASSERT_EQ(op->getNumOperands(), rule.operands.size()) << describe(op);
    ASSERT_EQ(op->getNumResults(), rule.results.size()) << describe(op);
    auto check = [&](Value value, const TensorFactors &factors) {
      ASSERT_EQ(shapeOf(value).size(), factors.size()) << describe(op) << rule.str();
      for (size_t d = 0; d < factors.size(); ++d) {
        int64_t product = 1;
        for (unsigned factor : factors[d])
          product *= rule.factors[factor].size;
        EXPECT_EQ(shapeOf(value)[d], product) << describe(op) << rule.str();
      }
    };
    for (size_t i = 0; i < rule.operands.size(); ++i)
      check(op->getOperand(i), rule.operands[i]);
    for (size_t i = 0; i < rule.results.size(); ++i)
      check(op->getResult(i), rule.results[i]);
  });
}

// A factor that may be sharded and that no result has needs a reduction.
TEST(ModelRules, ReducedFactorsCombine) {
  Programs programs;
  auto module = programs.parseAll();
  module->walk([&](ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    std::set<unsigned> kept;
    for (const TensorFactors &result : rule.results)
      for (const auto &dim : result)
        kept.insert(dim.begin(), dim.end());
    for (unsigned f = 0; f < rule.factors.size(); ++f)
      if (!kept.count(f) && !rule.factors[f].replicated) {
        EXPECT_NE(PartialReduction::none, rule.reduction) << describe(op) << rule.str();
      }
  });
}

TEST(ModelRules, ElementwiseRuleRepeatsBroadcastDims) {
  EXPECT_EQ("([1, j], [i, j], []) -> ([i, j]) {i=3, j=4}", elementwiseRule({{1, 4}, {3, 4}, {}}, {{3, 4}}).str());
}

} // namespace
} // namespace sluice::model::test
