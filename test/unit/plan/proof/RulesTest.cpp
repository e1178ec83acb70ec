//===- RulesTest.cpp - rules for parts, sums, rows of ranks, averages and initial values (P9) ---===//
//
// For each rule a compiled plan where it holds, and a wrong variant that is refused.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"
#include "test/unit/plan/proof/SpoiledPlan.h"

namespace sluice::test {
namespace {

std::string family(const std::string &name) {
  return "hf " SLUICE_SOURCE_DIR "/test/reference/families/" + name + "/config.json --batch 2 --sequence 16";
}

const Recipe ruleRecipes[] = {
    {"PartOfAHead", family("gpt-neox"), "--set mesh.shard=2"},
    {"ReshapedParts", family("stablelm"), "--set mesh.shard=2"},
    {"SumPerUpdate", family("phi3"), "--set mesh.shard=2 --set optimizer.in_backward=true"},
    {"NormsOfParts", family("stablelm-parallel"), "--set mesh.shard=3 --set 'memory.offload=[\"optimizer\"]'"},
    {"ZeroRow", family("opt"), "--set mesh.shard=2"},
    {"SumsPerPass", "zoo two-forwards --set layers=2",
     "--set mesh.shard=2 --set gradient.reduce_per_pass=true --set gradient.microbatches=2"},
    {"Averages", "zoo conv --set height=16 --set width=16 --set stem=4 --set hidden=6",
     "--set mesh.shard=2 --set statistics.sync=last --set gradient.microbatches=3"},
    {"RowsOfRanks", "test/unit/plan/proof/Inputs/pairs.mlir", "--set mesh.shard=2"},
    {"RowsOfReplicas", "test/unit/plan/proof/Inputs/pairs.mlir",
     "--set mesh.replicate=2 --set gradient.microbatches=2"},
    {"SumOfRanks", "zoo reduce-model", "--set mesh.shard=2"},
};

const Recipe &ruleRecipe(std::string_view name) { return *std::ranges::find(ruleRecipes, name, &Recipe::name); }

class Rule : public testing::TestWithParam<Recipe> {};

TEST_P(Rule, Holds) { expectProved(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Proof, Rule, testing::ValuesIn(ruleRecipes),
                         [](const auto &info) { return std::string(info.param.name); });

using enum plan::CollectiveKind;

/// The first collective of the model itself.
plan::CollectiveT &collectiveOfModel(plan::PlanT &plan, plan::CollectiveKind kind) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::CollectiveT *own = at.operation.AsCollective();
            return own && own->kind == kind && at.unit < 0;
          }).operation.AsCollective();
}

/// The first copy launch that reads a part of a wider tensor: the part of a head that is not rotated.
plan::LaunchT &copyOfAPart(plan::PlanT &plan) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::LaunchT *own = at.operation.AsLaunch();
            return own && plan.kernels[own->kernel] == "copy" && own->inputs[0]->offset != 0;
          }).operation.AsLaunch();
}

const Wrong wrongRules[] = {
    {"OtherPartOfAHead", "PartOfAHead", 9, "holds other elements",
     [](plan::PlanT &plan) { copyOfAPart(plan).inputs[0]->offset += 48; }},
    {"OtherZeroRow", "ZeroRow", 9, "has other numbers than its initializer",
     [](plan::PlanT &plan) {
       for (const auto &instruction : plan.entries[std::size_t(findEntry(plan, "init"))]->sections[0]->instructions)
         if (plan::LaunchT *launch = instruction->operation.AsLaunch())
           for (const auto &attribute : launch->attributes)
             if (attribute->name == "zeros" && !attribute->list.empty())
               attribute->list[1] += 1;
     }},
    {"ZerosWithoutARow", "ZeroRow", 9, "has other numbers than its initializer",
     [](plan::PlanT &plan) {
       for (const auto &parameter : plan.parameters)
         parameter->initializer->zero_row = -1;
     }},
    {"OnePassTwice", "SumsPerPass", 9, "holds",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = *find(plan, [&](const plan::InstructionT &at) {
                                  const plan::LaunchT *own = at.operation.AsLaunch();
                                  return own && plan.kernels[own->kernel] == "add" && at.when == plan::When::last;
                                }).operation.AsLaunch();
       *launch.inputs[1] = plan::ViewT(*launch.inputs[0]);
     }},
    {"SumOfStatistics", "Averages", 9, "expected the mean over the ranks along 'shard'",
     [](plan::PlanT &plan) {
       for (const auto &instruction : plan.entries[0]->sections[0]->instructions)
         if (plan::CollectiveT *own = instruction->operation.AsCollective(); own && own->kind == all_reduce)
           own->op = plan::ReduceOp::sum;
     }},
    {"UndeclaredAverage", "Averages", 9, "running statistics",
     [](plan::PlanT &plan) {
       for (const auto &variable : plan.variables)
         variable->averaged = false;
     }},
    {"MeanOfRows", "RowsOfRanks", 9, "times",
     [](plan::PlanT &plan) { collectiveOfModel(plan, reduce_scatter).op = plan::ReduceOp::mean; }},
    {"MeanOfRanks", "SumOfRanks", 7, "times",
     [](plan::PlanT &plan) {
       plan::CollectiveT &own = collectiveOfModel(plan, all_reduce);
       own.op = own.op == plan::ReduceOp::mean ? plan::ReduceOp::sum : plan::ReduceOp::mean;
     }},
};

class WrongRule : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRule, IsRefused) { expectRefused(ruleRecipe(GetParam().recipe), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Proof, WrongRule, testing::ValuesIn(wrongRules),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sluice::test
