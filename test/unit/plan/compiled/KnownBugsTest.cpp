//===- KnownBugsTest.cpp - bugs that were found in other systems are refused as plans --------===//
//
// Bugs of distributed training that others published, each as a change of a compiled plan that a pass with this bug
// could make. docs/known-bugs.md lists them with their sources, and those that a plan cannot express.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/CompiledPlan.h"
#include "test/unit/plan/compiled/PlanEdits.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

const Recipe bugRecipes[] = {
    {"Data", "zoo transformer", "--set mesh.shard=2 --set gradient.microbatches=2 --set recompute.policy=block"},
    {"Replicas", "zoo mlp", "--set mesh.shard=2 --set mesh.replicate=2"},
    {"Tensor", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 16",
     "--set mesh.shard=2 --set mesh.tensor=2 --set sharding.tensor=megatron"},
    {"Sequence", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 16",
     "--set mesh.shard=2 --set mesh.tensor=2 --set sharding.tensor=megatron --set sharding.sequence=true"},
    {"Experts", "zoo moe", "--set mesh.shard=2 --set mesh.expert=2 --set 'sharding.expert=[\"*.experts.*\"]'"},
    {"HostPasses", "zoo two-forwards",
     "--set mesh.shard=2 --set gradient.reduce_per_pass=true --set 'memory.offload=[\"parameters\", \"optimizer\"]'"},
    {"LogSoftmax", "test/unit/plan/compiled/log-softmax.mlir", "--set mesh.shard=2"},
};

/// The first instruction that is wanted. Throws without one.
Located require(const plan::PlanT &plan, const std::function<bool(const Located &)> &wanted) {
  const Located found = findInstruction(plan, wanted);
  if (!found.instruction)
    throw std::runtime_error("the plan has no such instruction");
  return found;
}
bool isKernel(const plan::PlanT &plan, const Located &at, std::string_view kernel) {
  return at.launch() && plan.kernels[at.launch()->kernel] == kernel;
}
Located findKernel(const plan::PlanT &plan, std::string_view kernel, plan::Phase phase) {
  return findInstruction(
      plan, [&](const Located &at) { return isKernel(plan, at, kernel) && at.instruction->phase == phase; });
}
bool isOver(const plan::PlanT &plan, const plan::CollectiveT &collective, std::string_view axis) {
  return collective.axes.size() == 1 && plan.mesh[collective.axes[0]]->name == axis;
}
/// A collective of the kind over one axis, in the phase.
Located findOver(const plan::PlanT &plan, plan::CollectiveKind kind, std::string_view axis, plan::Phase phase) {
  return require(plan, [&](const Located &at) {
    return at.collective(kind) && isOver(plan, *at.collective(), axis) && at.instruction->phase == phase;
  });
}
Located findReduction(const plan::PlanT &plan) {
  return require(plan, [&](const Located &at) { return at.collective(reduce_scatter); });
}
plan::AttributeT &attributeOf(const Located &at, std::string_view name) {
  return **std::ranges::find(at.launch()->attributes, name, [](const auto &attribute) { return attribute->name; });
}
constexpr std::uint32_t anywhere = std::numeric_limits<std::uint32_t>::max();
/// The last instruction before `issue` that is wanted.
Located requireBefore(const plan::PlanT &plan, std::uint32_t issue,
                      const std::function<bool(const Located &)> &wanted) {
  Located last;
  for (const Located &at : trainStep(plan))
    if (at.issue < issue && wanted(at))
      last = at;
  if (!last.instruction)
    throw std::runtime_error("the plan has no such instruction");
  return last;
}
/// Adds a copy of the operand to the inputs of a launch.
void addInput(const Located &to, const Located &from, std::size_t input) {
  to.launch()->inputs.push_back(std::make_unique<plan::ViewT>(*from.launch()->inputs[input]));
  to.launch()->input_values.push_back(from.launch()->input_values[input]);
}
/// Another buffer of the type of the view, which an instruction before `issue` writes.
std::uint32_t otherBuffer(const plan::PlanT &plan, const plan::ViewT &view, std::uint32_t issue) {
  for (const Located &at : trainStep(plan))
    if (at.issue < issue && at.launch())
      for (const auto &written : at.launch()->outputs)
        if (written->buffer != view.buffer && written->shape == view.shape && written->dtype == view.dtype &&
            plan.buffers[written->buffer]->end > issue)
          return written->buffer;
  throw std::runtime_error("no other buffer");
}

struct Bug {
  const char *name, *recipe;
  std::set<int> properties;
  void (*make)(plan::PlanT &);
};
void PrintTo(const Bug &bug, std::ostream *out) { *out << bug.name; }

const Bug bugs[] = {
    // Collectives.
    {"AllReduceOfARowParallelProductIsMissing",
     "Tensor",
     {7, 9},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, all_reduce, "tensor", plan::Phase::forward)); }},
    {"AllReduceInTheBackwardIsMissing",
     "Tensor",
     {7, 9},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, all_reduce, "tensor", plan::Phase::backward)); }},
    {"AllReduceOfGradientsIsMissing",
     "Replicas",
     {7},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, all_reduce, "replicate", plan::Phase::backward)); }},
    {"CollectiveWithItsOutputIsMissing", "Data", {2}, [](plan::PlanT &plan) { drop(plan, findReduction(plan)); }},
    {"AllGatherForAllReduce",
     "Replicas",
     {1, 5},
     [](plan::PlanT &plan) {
       plan::CollectiveT &loss =
           *require(plan, [](const Located &at) { return at.collective(all_reduce); }).collective();
       loss.kind = all_gather;
       loss.op = plan::ReduceOp::none;
       loss.reduction = plan::ReductionClass::not_a_reduction;
     }},
    {"AllReduceForAllGather",
     "Data",
     {1, 5},
     [](plan::PlanT &plan) {
       plan::CollectiveT &gather =
           *require(plan, [](const Located &at) { return at.collective(all_gather); }).collective();
       gather.kind = all_reduce;
       gather.op = plan::ReduceOp::sum;
       gather.reduction = plan::ReductionClass::ordered;
     }},
    {"AllGatherForReduceScatter",
     "Data",
     {1, 5},
     [](plan::PlanT &plan) {
       plan::CollectiveT &reduction = *findReduction(plan).collective();
       reduction.kind = all_gather;
       reduction.op = plan::ReduceOp::none;
       reduction.reduction = plan::ReductionClass::not_a_reduction;
     }},
    {"GatherOfAColumnParallelProductIsMissing",
     "Sequence",
     {2},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, all_gather, "tensor", plan::Phase::forward)); }},
    {"GradientOfAReplicatedNormIsNotReduced",
     "Sequence",
     {2, 7, 9},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, all_reduce, "tensor", plan::Phase::backward)); }},
    {"OutputsOfExpertsAreNotReduced",
     "Experts",
     {2, 7, 9},
     [](plan::PlanT &plan) { drop(plan, findOver(plan, reduce_scatter, "expert", plan::Phase::forward)); }},
    {"BackwardOfASequenceGatherKeepsOneSlice",
     "Sequence",
     {9},
     [](plan::PlanT &plan) {
       const Located sum = findOver(plan, reduce_scatter, "tensor", plan::Phase::backward);
       plan::SegmentT &segment = *sum.collective()->segments[0];
       plan::CopyT copy;
       copy.source = std::make_unique<plan::ViewT>(*segment.destination);
       copy.source->buffer = segment.source->buffer;
       copy.source->offset = segment.source->offset;
       copy.destination = std::move(segment.destination);
       sum.instruction->operation.Set(std::move(copy));
     }},
    {"CopyIsReducedAndTheOriginalRead",
     "Tensor",
     {2, 7, 9},
     [](plan::PlanT &plan) {
       const Located at = requireBefore(plan, anywhere, [&](const Located &one) {
         return one.collective(all_reduce) && isOver(plan, *one.collective(), "tensor") &&
                one.instruction->phase == plan::Phase::forward;
       });
       plan::SegmentT &segment = *at.collective()->segments[0];
       segment.destination->buffer = otherBuffer(plan, *segment.destination, at.issue);
     }},
    // The logarithm of the sum of exponentials adds the terms of all columns: with gathered logits every rank has all
    // of
    // them, and the term of a rank is its logarithm minus the largest, zero.
    {"VocabularyParallelLossOfGatheredLogits",
     "Tensor",
     {7},
     [](plan::PlanT &plan) {
       const Located largest = require(plan, [](const Located &at) {
         return at.collective(all_reduce) && at.collective()->op == plan::ReduceOp::max;
       });
       const Located minus =
           require(plan, [&](const Located &at) { return at.issue > largest.issue && isKernel(plan, at, "subtract"); });
       minus.launch()->inputs[0]->buffer = minus.launch()->inputs[1]->buffer;
     }},
    {"ReplicatedGradientIsCountedTwiceInTheNorm",
     "Tensor",
     {9},
     [](plan::PlanT &plan) {
       // The sum over gradients that are equal on the ranks of 'tensor', and the sum that is added up over them.
       const Located equal = findKernel(plan, "power_sum", plan::Phase::update);
       const Located added =
           require(plan, [&](const Located &at) { return at.issue > equal.issue && isKernel(plan, at, "power_sum"); });
       addInput(added, equal, equal.launch()->inputs.size() - 1);
       equal.launch()->inputs.pop_back();
       equal.launch()->input_values.pop_back();
     }},
    {"BiasIsAddedByEachRank",
     "Tensor",
     {9},
     [](plan::PlanT &plan) {
       const auto isRowParallel = [&](const Located &at) {
         return at.collective(all_reduce) && isOver(plan, *at.collective(), "tensor") && at.issue > 0 &&
                isKernel(plan, requireBefore(plan, at.issue, [](const Located &one) { return one.launch(); }),
                         "matmul");
       };
       const Located sum = require(plan, isRowParallel);
       const Located product = requireBefore(plan, sum.issue, [](const Located &one) { return one.launch(); });
       const Located bias =
           require(plan, [&](const Located &at) { return at.issue > sum.issue && isKernel(plan, at, "add"); });
       addInput(product, bias, 1);
       attributeOf(product, "bias").integer = 1;
       plan::CopyT copy;
       copy.source = std::move(bias.launch()->inputs[0]);
       copy.destination = std::move(bias.launch()->outputs[0]);
       bias.instruction->operation.Set(std::move(copy));
     }},
    {"LogSoftmaxHasTheGradientOfTheIdentity",
     "LogSoftmax",
     {9},
     [](plan::PlanT &plan) {
       const auto isSum = [&](const Located &at) {
         return isKernel(plan, at, "add") && at.instruction->phase == plan::Phase::backward;
       };
       drop(plan, requireBefore(plan, anywhere, isSum));
     }},
    // Factors.
    {"GradientsAreNotDivided",
     "Data",
     {7},
     [](plan::PlanT &plan) { findReduction(plan).collective()->op = plan::ReduceOp::sum; }},
    {"LossIsScaledTwice",
     "Data",
     {7, 9},
     [](plan::PlanT &plan) {
       // The gradient of the loss, with which the backward begins.
       const Located at = require(plan, [&](const Located &one) {
         return isKernel(plan, one, "constant") && one.instruction->phase != plan::Phase::forward &&
                !one.instruction->recompute && attributeOf(one, "value").number == 1;
       });
       attributeOf(at, "value").number = 2;
     }},
    {"MicrobatchesAreNotDivided",
     "Data",
     {7},
     [](plan::PlanT &plan) {
       plan::CollectiveT &reduction = *findReduction(plan).collective();
       reduction.op = plan::ReduceOp::premul_sum;
       reduction.scale = 1;
     }},
    {"ScoresAreScaledDifferently",
     "Data",
     {9},
     [](plan::PlanT &plan) { attributeOf(findKernel(plan, "attention", plan::Phase::forward), "scale").number *= 2; }},
    // Computation.
    {"OtherConstant",
     "Data",
     {9},
     [](plan::PlanT &plan) {
       attributeOf(findKernel(plan, "layer_norm", plan::Phase::forward), "epsilon").number = 1;
     }},
    {"SumOfGradientsReadsAnotherTensor",
     "Data",
     {2, 9},
     [](plan::PlanT &plan) {
       const Located at = findKernel(plan, "add", plan::Phase::backward);
       plan::ViewT &view = *at.launch()->inputs[1];
       view.buffer = otherBuffer(plan, view, at.issue);
     }},
    {"GradientsAreExchanged",
     "Data",
     {1, 2, 9},
     [](plan::PlanT &plan) {
       auto &outputs = findKernel(plan, "layer_norm_grad", plan::Phase::backward).launch()->outputs;
       std::swap(outputs[1], outputs[2]);
     }},
    {"AttentionGradientReadsAnotherTensor",
     "Tensor",
     {2, 3, 9},
     [](plan::PlanT &plan) {
       auto &inputs = findKernel(plan, "attention_grad", plan::Phase::backward).launch()->inputs;
       std::swap(inputs[1], inputs[2]);
     }},
    {"RecomputationReadsAnotherInput",
     "Data",
     {2, 9},
     [](plan::PlanT &plan) {
       const Located at = findInstruction(
           plan, [&](const Located &one) { return one.instruction->recompute && isKernel(plan, one, "layer_norm"); });
       plan::ViewT &view = *at.launch()->inputs[0];
       view.buffer = otherBuffer(plan, view, at.issue);
     }},
    {"TiedWeightMissesAGradient",
     "Data",
     {2, 7, 9},
     [](plan::PlanT &plan) {
       // The gradient of the embedding is not added to that of the projection.
       plan::LaunchT &launch = *findKernel(plan, "embedding_grad", plan::Phase::backward).launch();
       std::erase_if(launch.attributes, [](const auto &attribute) { return attribute->name == "sum"; });
       launch.inputs.pop_back();
       launch.input_values.pop_back();
     }},
    {"WrongStrideOfALocalTensor",
     "Data",
     {1, 2, 9},
     [](plan::PlanT &plan) {
       const Located at = require(plan, [&](const Located &one) {
         if (!isKernel(plan, one, "matmul"))
           return false;
         const plan::ViewT &view = *one.launch()->inputs[0];
         return view.shape.size() == 2 && view.shape[0] > 1 && view.shape[1] > 1 && view.strides.empty();
       });
       // Columns are next to each other.
       plan::ViewT &view = *at.launch()->inputs[0];
       view.strides = {1, view.shape[0]};
     }},
    {"ShardOfAnotherDim",
     "Data",
     {1, 8},
     [](plan::PlanT &plan) {
       const auto found = std::ranges::find_if(plan.parameters, [](const auto &parameter) {
         return parameter->shape.size() == 2 && parameter->shape[0] == parameter->shape[1];
       });
       (*found)->dim = 1;
     }},
    // Updates and order.
    {"ParameterIsNotUpdated",
     "Data",
     {10},
     [](plan::PlanT &plan) { drop(plan, findKernel(plan, "adamw", plan::Phase::update)); }},
    {"GradientIsReadBeforeItsReduction",
     "Data",
     {3, 11},
     [](plan::PlanT &plan) {
       // The wait of the compute stream after the last reduction.
       const std::uint32_t compute = findKernel(plan, "adamw", plan::Phase::update).instruction->stream;
       Located last;
       for (const Located &at : trainStep(plan))
         if (at.instruction->operation.AsWait() && at.instruction->stream == compute)
           last = at;
       drop(plan, last);
     }},
    {"ReductionBeforeTheLastMicrobatch",
     "Data",
     {2, 3, 7},
     [](plan::PlanT &plan) { findReduction(plan).instruction->when = plan::When::first; }},
    {"ReductionDoesNotWaitForItsProducer",
     "Data",
     {3},
     [](plan::PlanT &plan) {
       const Located reduction = findReduction(plan);
       drop(plan, requireBefore(plan, reduction.issue, [&](const Located &at) {
              return at.instruction->operation.AsWait() && at.instruction->stream == reduction.instruction->stream;
            }));
     }},
    {"GradientOfThePreviousStepIsKept",
     "Data",
     {2},
     [](plan::PlanT &plan) {
       // The first micro-batch adds to the gradient, as the others do.
       const Located first = require(plan, [](const Located &at) {
         return at.launch() && at.instruction->when == plan::When::first &&
                at.instruction->phase == plan::Phase::backward;
       });
       const Located next = require(plan, [&](const Located &at) { return at.issue == first.issue + 1; });
       if (next.instruction->when != plan::When::not_first)
         throw std::runtime_error("no launch of the other micro-batches");
       next.instruction->when = plan::When::all;
       drop(plan, first);
     }},
    {"GradientOfTheFirstBackwardIsNotCopiedToTheHost",
     "HostPasses",
     {2},
     [](plan::PlanT &plan) {
       const auto isOffload = [&](const Located &at) {
         return at.instruction->operation.AsCopy() && at.instruction->phase == plan::Phase::backward &&
                plan.buffers[at.instruction->operation.AsCopy()->destination->buffer]->space == plan::Space::host;
       };
       const Located copy = require(plan, isOffload);
       plan::ViewT &source = *copy.instruction->operation.AsCopy()->source;
       // The sum of the two reductions.
       const Located sum = requireBefore(plan, copy.issue, [&](const Located &at) {
         return isKernel(plan, at, "add") && accesses(writesOf(*at.instruction), source.buffer);
       });
       const auto &inputs = sum.launch()->inputs;
       source.buffer = inputs[inputs[0]->buffer == source.buffer]->buffer;
     }},
    {"TwoReductionsWriteOneBuffer",
     "Data",
     {2, 7, 9, 10},
     [](plan::PlanT &plan) {
       auto &segments = findReduction(plan).collective()->segments;
       for (const auto &segment : segments)
         if (segment != segments.front() && segment->destination->shape == segments.front()->destination->shape) {
           segment->destination->buffer = segments.front()->destination->buffer;
           return;
         }
       throw std::runtime_error("no segment of the same shape");
     }},
    {"ActivationIsOverwrittenBeforeTheBackward",
     "Data",
     {2},
     [](plan::PlanT &plan) {
       const Located at = findKernel(plan, "layer_norm_grad", plan::Phase::backward);
       plan.buffers[at.launch()->inputs[1]->buffer]->end = at.issue;
     }},
    {"BackwardRunsBeforeItsForward",
     "Data",
     {2},
     [](plan::PlanT &plan) {
       const Located at = findKernel(plan, "layer_norm_grad", plan::Phase::backward);
       auto &list = plan.entries[at.entry]->sections[at.section]->instructions;
       const auto from = std::ranges::find_if(list, [&](const auto &one) { return one.get() == at.instruction; });
       std::rotate(list.begin(), from, from + 1);
     }},
};

class KnownBug : public testing::TestWithParam<Bug> {};

TEST_P(KnownBug, IsRefused) {
  plan::PlanT plan = compile(*std::ranges::find(bugRecipes, std::string_view(GetParam().recipe), &Recipe::name));
  ASSERT_TRUE(checkPlan(plan).isOk());
  GetParam().make(plan);
  serializePlan(plan);
  CheckReport report;
  const Status status = checkPlan(plan, &report);
  EXPECT_TRUE(GetParam().properties.contains(report.refused()))
      << "P" << report.refused() << ": " << status.message() << "; " << report.properties[8].reason;
}

INSTANTIATE_TEST_SUITE_P(Plans, KnownBug, testing::ValuesIn(bugs),
                         [](const auto &test) { return std::string(test.param.name); });

} // namespace
} // namespace sluice::test
