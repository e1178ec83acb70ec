//===- ProofTest.cpp - compiled plans are proved, and wrong variants of them refused (P7, P9) ---===//
#include "runtime/plan/check/Check.h"
#include "test/unit/plan/proof/SpoiledPlan.h"

namespace sluice::test {
namespace {

const Recipe recipes[] = {
    {"OneRank", "zoo mlp", ""},
    {"FullShard", "zoo transformer", "--set mesh.shard=4"},
    {"Uneven", "zoo linear-relu-linear", "--set mesh.shard=4 --set gradient.clip_norm=1.0"},
    {"Accumulation", "zoo linear-relu-linear", "--set mesh.shard=2 --set gradient.microbatches=5"},
    {"ReducedEachTime", "zoo mlp", "--set mesh.shard=2 --set gradient.microbatches=40 --set gradient.sync=every"},
    {"Replicas", "zoo mlp",
     "--set mesh.shard=2 --set mesh.replicate=2 --set gradient.microbatches=3 --set gradient.sync=reduce_scatter_only"},
    {"LargestNorm", "zoo mlp", "--set mesh.shard=2 --set gradient.clip_norm=1.0 --set gradient.clip_type=inf"},
    {"Bf16", "zoo transformer", "--set mesh.shard=2 --set precision.compute=bf16"},
    {"LossScale", "zoo mlp",
     "--set mesh.shard=2 --set precision.compute=f16 --set precision.loss_scale=dynamic --set gradient.microbatches=2"},
    {"Recompute", "zoo transformer", "--set mesh.shard=2 --set recompute.policy=block"},
    {"HostMemory", "zoo mlp-stack", "--set mesh.shard=2 --set 'memory.offload=[\"parameters\", \"optimizer\"]'"},
    {"HostUnits", "zoo transformer",
     "--set mesh.shard=2 --set gradient.clip_norm=1.0 --set 'memory.offload={root=[\"parameters\", \"optimizer\"]}'"},
    {"Flat", "zoo linear-relu-linear", "--set mesh.shard=4 --set sharding.dim=flat"},
    {"InBackward", "zoo mlp", "--set mesh.shard=2 --set optimizer.in_backward=true"},
    {"Divisor", "zoo mlp", "--set mesh.shard=2 --set gradient.divide=3"},
    {"RankLosses", "zoo mlp", "--set mesh.shard=2 --set loss.per_rank=true"},
    {"TensorParallel", "zoo mlp-stack",
     "--set mesh.shard=2 --set mesh.tensor=2 --set gradient.clip_norm=1.0 --set gradient.microbatches=2 --set "
     "'sharding.tensor={\"*.in_proj.*\"=\"column\", \"*.out_proj.*\"=\"row\"}'"},
    {"UnevenParts", "zoo mlp-stack --set dim=5",
     "--set mesh.shard=2 --set mesh.tensor=2 --set gradient.clip_norm=1.0 --set "
     "'sharding.tensor={\"*.in_proj.*\"=\"column\", \"*.out_proj.*\"=\"row\"}'"},
    {"Vocabulary", "zoo transformer --set dropout=0 --set loss=cross-entropy",
     "--set mesh.shard=2 --set mesh.tensor=2 --set 'sharding.tensor={\"tok_embeddings.weight\"=\"row\", "
     "\"*.wq.weight\"=\"column\", \"*.wk.weight\"=\"column\", \"*.wv.weight\"=\"column\", "
     "\"*.wo.weight\"=\"row\", \"*.w1.*\"=\"column\", \"*.w2.weight\"=\"row\"}'"},
    {"Experts", "zoo moe --set batch=4",
     "--set mesh.expert=2 --set mesh.shard=2 --set 'sharding.expert=[\"*.experts.*\"]'"},
    {"BatchNorm", "zoo conv --set height=32 --set width=32 --set stem=8 --set hidden=8", "--set mesh.shard=2"},
};

const Recipe &recipeOf(std::string_view name) { return *std::ranges::find(recipes, name, &Recipe::name); }

class Proved : public testing::TestWithParam<Recipe> {};

TEST_P(Proved, Plan) { expectProved(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Proof, Proved, testing::ValuesIn(recipes),
                         [](const auto &info) { return std::string(info.param.name); });

/// The first all_reduce over the axis, in issue order.
plan::CollectiveT &findReduction(plan::PlanT &plan, const std::string &axis) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::CollectiveT *own = at.operation.AsCollective();
            return own && own->kind == plan::CollectiveKind::all_reduce && own->axes.size() == 1 &&
                   plan.mesh[own->axes[0]]->name == axis;
          }).operation.AsCollective();
}

using enum plan::CollectiveKind;

const Wrong wrongs[] = {
    {"SumForMean", "FullShard", 7, "times 1, expected times 0.25",
     [](plan::PlanT &plan) { findCollective(plan, reduce_scatter).op = plan::ReduceOp::sum; }},
    {"ScaledSum", "FullShard", 7, "times 0.1, expected times 0.25",
     [](plan::PlanT &plan) {
       findCollective(plan, reduce_scatter).op = plan::ReduceOp::premul_sum;
       findCollective(plan, reduce_scatter).scale = 0.1;
     }},
    {"LossOfOneRank", "FullShard", 7, "by that of one rank",
     [](plan::PlanT &plan) {
       plan::CollectiveT &loss = findCollective(plan, all_reduce);
       loss.kind = broadcast;
       loss.op = plan::ReduceOp::none;
       loss.reduction = plan::ReductionClass::not_a_reduction;
     }},
    {"LargestGradient", "Replicas", 7, "takes the largest of the ranks' numbers",
     [](plan::PlanT &plan) {
       find(plan,
            [](const plan::InstructionT &at) {
              return at.operation.AsCollective() && at.operation.AsCollective()->kind == all_reduce && at.unit >= 0;
            })
           .operation.AsCollective()
           ->op = plan::ReduceOp::max;
     }},
    {"DivisorOfTheRecipe", "Divisor", 7, "expected times 0.5",
     [](plan::PlanT &plan) {
       for (auto &unit : plan.units)
         unit->gradient_divisor = 0;
     }},
    {"OnlyTheLastMicrobatch", "Replicas", 7, "misses micro-batch 0",
     [](plan::PlanT &plan) {
       forEachInstruction(*plan.entries[0], [&](const plan::InstructionT &at, std::uint32_t, std::uint32_t) {
         if (const plan::LaunchT *launch = at.operation.AsLaunch();
             launch && plan.kernels[launch->kernel] == "accumulate")
           launch->attributes[0]->integer = 1;
       });
     }},
    {"SameMicrobatch", "Accumulation", 9, "expected micro-batch 1",
     [](plan::PlanT &plan) {
       forEachInstruction(*plan.entries[0], [&](const plan::InstructionT &at, std::uint32_t, std::uint32_t) {
         if (const plan::CopyT *copy = at.operation.AsCopy())
           copy->source->repetition_stride = 0;
       });
     }},
    {"ExchangedOperands", "OneRank", 9, "operand 0 holds",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = findLaunch(plan, "relu_grad");
       std::swap(launch.inputs[0], launch.inputs[1]);
     }},
    {"OtherKernel", "OneRank", 9, "expected kernel 'relu'",
     [](plan::PlanT &plan) { useKernel(plan, findLaunch(plan, "relu"), "exp"); }},
    {"OtherNumber", "FullShard", 9, "expected 'epsilon' = 1e-05 but got 0.001",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "layer_norm"), "epsilon").number = 1e-3; }},
    {"OtherList", "FullShard", 9, "expected 'dims'",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "reduce_sum"), "dims").list = {0, 2}; }},
    {"DoubledSeed", "OneRank", 9, "holds",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "constant"), "value").number = 2; }},
    {"GradientLeftOut", "Uneven", 9, "a sum of powers of 3 values, expected value",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = findLaunch(plan, "power_sum");
       launch.inputs.pop_back();
       launch.input_values.pop_back();
     }},
    {"OtherNorm", "Uneven", 9, "expected",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "clip_coefficient"), "max_norm").number = 2; }},
    {"ExchangedMoments", "OneRank", 9, "operand 2 holds",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = findLaunch(plan, "adamw");
       std::swap(launch.inputs[2], launch.inputs[3]);
       std::swap(launch.outputs[1], launch.outputs[2]);
     }},
    {"OtherDecay", "OneRank", 9, "expected 'weight_decay'",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "adamw"), "weight_decay").number = 0.5; }},
    {"ExchangedOutputs", "OneRank", 9, "output 'loss' of 'train_step' holds",
     [](plan::PlanT &plan) { std::swap(plan.entries[0]->outputs[0]->view, plan.entries[0]->outputs[1]->view); }},
    {"LargestTerm", "TensorParallel", 9, "takes the largest of",
     [](plan::PlanT &plan) { findReduction(plan, "tensor").op = plan::ReduceOp::max; }},
    {"MeanOfTerms", "TensorParallel", 9, "expected kernel 'matmul'",
     [](plan::PlanT &plan) { findReduction(plan, "tensor").op = plan::ReduceOp::mean; }},
    {"RowsWithoutPosition", "Vocabulary", 9, "has no valid extent, which gives the position of its shard",
     [](plan::PlanT &plan) { findLaunch(plan, "embedding").inputs[0]->valid.clear(); }},
    {"GradientRowsWithoutPosition", "Vocabulary", 9, "expected result 0 of shape 8x16 but got 4x16",
     [](plan::PlanT &plan) { findLaunch(plan, "embedding_grad").outputs[0]->valid.clear(); }},
    {"OtherPartOfTheRandomNumbers", "TensorParallel", 9, "has other numbers than its initializer",
     [](plan::PlanT &plan) {
       for (auto &section : plan.entries[std::size_t(findEntry(plan, "init"))]->sections)
         for (auto &at : section->instructions)
           if (plan::LaunchT *launch = at->operation.AsLaunch();
               launch && plan.kernels[launch->kernel].starts_with("random_"))
             launch->outputs[0]->valid.clear();
     }},
    {"OtherKey", "FullShard", 9, "has other numbers than its initializer",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "random_normal", "init"), "key").integer += 1; }},
    {"ParameterWithoutInitializer", "OneRank", 9, "a tensor that has no initializer",
     [](plan::PlanT &plan) { plan.parameters[0]->initializer.reset(); }},
    {"VariableWithoutInitializer", "BatchNorm", 9, "a tensor that has no initializer",
     [](plan::PlanT &plan) { plan.variables[0]->initializer.reset(); }},
    // No op of the program is the exponential of the operand.
    {"UnknownLaunch", "OneRank", 9, "is not related to the unsharded program",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = findLaunch(plan, "relu");
       launch.output_values = {0};
       useKernel(plan, launch, "exp");
     }},
    {"KernelForARead", "OneRank", 9, "no kernel computes 'model.read'",
     [](plan::PlanT &plan) {
       plan::LaunchT &launch = findLaunch(plan, "relu");
       for (std::uint32_t op = 0; op < plan.program->op_kinds.size(); ++op)
         if (plan.program->kinds[plan.program->op_kinds[op]]->op == "model.read")
           launch.output_values = {plan.program->results[plan.program->result_ends[op] - 1]};
       useKernel(plan, launch, "sigmoid");
     }},
    {"UnknownUpdate", "OneRank", 9, "an update that is not related to the unsharded program",
     [](plan::PlanT &plan) { findLaunch(plan, "adamw").output_values.clear(); }},
    {"OtherInitialValue", "FullShard", 9, "has other numbers than its initializer",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "constant", "init"), "value").number = 3; }},
    {"UnknownContent", "Accumulation", 9, "is not known",
     [](plan::PlanT &plan) {
       find(plan,
            [](const plan::InstructionT &at) {
              return at.operation.AsCopy() && at.operation.AsCopy()->source->repetition_stride != 0;
            })
           .operation.AsCopy()
           ->source->repetition_stride /= 2;
     }},
};

class WrongPlan : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlan, IsRefused) { expectRefused(recipeOf(GetParam().recipe), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Proof, WrongPlan, testing::ValuesIn(wrongs),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Proof, EveryParameterIsInitialized) {
  plan::PlanT plan = compile(recipeOf("OneRank"));
  const std::uint32_t buffer = plan.parameters[1]->buffer;
  auto &instructions = plan.entries[std::size_t(findEntry(plan, "init"))]->sections[0]->instructions;
  std::erase_if(instructions, [&](const auto &at) {
    return at->operation.AsLaunch() && at->operation.AsLaunch()->outputs[0]->buffer == buffer;
  });
  check::Findings findings;
  const check::Verdict refusal = check::computesProgram(plan, findings);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("is not related to its initializer: is not known"), std::string::npos)
      << refusal->message;
}

/// Nothing but an output depends on the norm.
TEST(Proof, ANormOfOneRankIsRefused) {
  plan::PlanT plan = compile(recipeOf("InBackward"));
  std::size_t erased = 0;
  for (auto &section : plan.entries[0]->sections)
    erased += std::erase_if(section->instructions, [](const auto &at) {
      const plan::CollectiveT *own = at->operation.AsCollective();
      return own && own->kind == all_reduce && own->op == plan::ReduceOp::sum;
    });
  ASSERT_EQ(erased, 1u);
  check::Findings findings;
  const check::Verdict refusal = check::computesProgram(plan, findings);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->property, 9) << refusal->message;
  EXPECT_NE(refusal->message.find("'model.norm_root' of terms that are not reduced"), std::string::npos)
      << refusal->message;
}

/// The value ids are hints: a launch without one implements the op of its kernel on what its operands hold.
TEST(Proof, ALaunchWithoutIdsIsProved) {
  plan::PlanT plan = compile(recipeOf("OneRank"));
  findLaunch(plan, "relu").output_values = {0};
  serializePlan(plan);
  CheckReport report;
  EXPECT_TRUE(checkPlan(plan, &report).isOk());
  EXPECT_EQ(report[9], CheckReport::Outcome::proved) << report.properties[8].reason;
}

/// The cotangent is 1 for every element, whatever its shape.
TEST(Proof, APartOfAUniformValueIsNotProved) {
  plan::PlanT plan = compile(recipeOf("OneRank"));
  findLaunch(plan, "relu_grad").inputs[0]->shape[0] = 1;
  serializePlan(plan);
  CheckReport report;
  EXPECT_TRUE(checkPlan(plan, &report).isOk());
  EXPECT_EQ(report[9], CheckReport::Outcome::notProved);
  EXPECT_NE(report.properties[8].reason.find("a part of a uniform value"), std::string::npos)
      << report.properties[8].reason;
}

} // namespace
} // namespace sluice::test
