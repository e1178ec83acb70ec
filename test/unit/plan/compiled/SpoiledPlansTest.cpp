//===- SpoiledPlansTest.cpp - wrong variants of compiled plans are refused ---------------===//
//
// Plans of several models and recipes, each spoiled in the ways of the hand-written plan (../Bad*Test.cpp) that apply
// to it. Each variant is refused for the property that it violates.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/CompiledPlan.h"
#include "test/unit/plan/compiled/PlanEdits.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"
#include "runtime/plan/check/Check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

const Recipe recipes[] = {
    {"FullShard", "zoo transformer", "--set mesh.shard=4 --set gradient.clip_norm=1.0"},
    {"Uneven", "zoo linear-relu-linear", "--set mesh.shard=4"},
    {"Hybrid", "zoo mlp-stack", "--set mesh.replicate=2 --set mesh.shard=2"},
    {"Recompute", "zoo transformer", "--set mesh.shard=2 --set recompute.policy=block"},
    {"HostMemory", "zoo mlp-stack", "--set mesh.shard=2 --set 'memory.offload=[\"parameters\", \"optimizer\"]'"},
    {"HostUnits", "zoo transformer",
     "--set mesh.shard=2 --set 'memory.offload={root=[\"parameters\", \"optimizer\"]}'"},
    {"Accumulation", "zoo transformer", "--set mesh.shard=2 --set gradient.microbatches=4"},
    {"Tensor", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 16",
     "--set mesh.shard=2 --set mesh.tensor=2 --set sharding.tensor=megatron"},
    {"Experts", "zoo moe", "--set mesh.shard=2 --set mesh.expert=2 --set 'sharding.expert=[\"*.experts.*\"]'"},
    {"DynamicScale", "zoo mlp", "--set mesh.shard=2 --set precision.compute=f16 --set precision.loss_scale=dynamic"},
};

/// A parameter that the train step updates.
plan::ParameterT *trainedParameter(plan::PlanT &plan) {
  const auto found = std::ranges::find(plan.parameters, false, [](const auto &parameter) { return parameter->frozen; });
  return found == plan.parameters.end() ? nullptr : found->get();
}
bool updates(const plan::PlanT &plan, const Located &at) {
  return at.launch() && std::ranges::any_of(plan.parameters, [&](const auto &parameter) {
           return accesses(writesOf(*at.instruction), parameter->buffer);
         });
}
Located findCollective(plan::PlanT &plan, plan::CollectiveKind kind) {
  return findInstruction(plan, [&](const Located &at) { return at.collective(kind); });
}
/// The gather of a unit.
Located findGather(plan::PlanT &plan) {
  return findInstruction(plan,
                         [&](const Located &at) { return at.collective(all_gather) && at.instruction->unit >= 0; });
}
bool isTransient(const plan::BufferT &buffer, std::uint32_t entry) {
  return buffer.entry == std::int64_t(entry) && buffer.space == plan::Space::device && buffer.bytes > 0;
}

struct Kind {
  const char *name;
  /// Any of these.
  std::set<int> properties;
  /// Part of the message.
  const char *message;
  /// False: the plan has nothing to spoil.
  bool (*spoil)(plan::PlanT &);
  /// Recipes whose plans it applies to: empty for all but those of `notIn`.
  std::set<std::string> onlyIn = {}, notIn = {};

  bool appliesTo(const Recipe &recipe) const {
    return onlyIn.empty() ? !notIn.contains(recipe.name) : onlyIn.contains(recipe.name);
  }
};

const Kind kinds[] = {
    {"OperandBeyondBuffer",
     {1},
     "reaches beyond",
     [](plan::PlanT &plan) {
       const Located at = findInstruction(plan, [](const Located &one) { return one.launch(); });
       plan::ViewT &view = *at.launch()->inputs[0];
       view.offset += plan.buffers[view.buffer]->bytes;
       return true;
     }},
    {"BufferNotAligned",
     {1},
     "aligned to",
     [](plan::PlanT &plan) {
       plan.buffers.back()->offset += 4;
       return true;
     }},
    {"CopyOfAnotherShape",
     {1},
     "expected source and destination of a copy to have one shape and dtype",
     [](plan::PlanT &plan) {
       const Located at = findInstruction(plan, [](const Located &one) { return one.instruction->operation.AsCopy(); });
       at.instruction->operation.AsCopy()->destination->shape.push_back(1);
       return true;
     }},
    {"OperandMissing",
     {1},
     "inputs but got",
     [](plan::PlanT &plan) {
       const Located at = findInstruction(plan, [](const Located &one) { return one.launch(); });
       at.launch()->inputs.pop_back();
       at.launch()->input_values.clear();
       return true;
     }},
    {"NoWorkspace",
     {1},
     "bytes of workspace but got 0",
     [](plan::PlanT &plan) {
       const Located at =
           findInstruction(plan, [](const Located &one) { return one.launch() && one.launch()->workspace > 0; });
       if (at.instruction)
         at.launch()->workspace = 0;
       return at.instruction != nullptr;
     }},
    {"NoEvent",
     {1},
     "does not exist",
     [](plan::PlanT &plan) {
       const Located at = findInstruction(plan, [](const Located &one) { return one.instruction->operation.AsWait(); });
       at.instruction->operation.AsWait()->event = plan.entries[at.entry]->events;
       return true;
     }},
    {"LiveAtOnce",
     {2},
     "",
     [](plan::PlanT &plan) {
       const std::uint32_t entry = trainStep(plan)[0].entry;
       for (const auto &first : plan.buffers)
         for (const auto &second : plan.buffers)
           if (isTransient(*first, entry) && isTransient(*second, entry) && first->begin < second->begin &&
               second->end < first->end && first->bytes >= second->bytes) {
             second->offset = first->offset;
             return true;
           }
       return false;
     }},
    {"PeakTooLow",
     {2},
     "are live at instruction",
     [](plan::PlanT &plan) {
       --plan.arenas[0]->peak_live;
       return true;
     }},
    {"LifespanEndsEarly",
     {2},
     "outside its lifespan",
     [](plan::PlanT &plan) {
       for (const Located &at : trainStep(plan))
         for (const plan::ViewT *view : readsOf(*at.instruction))
           if (plan::BufferT &buffer = *plan.buffers[view->buffer];
               isTransient(buffer, at.entry) && buffer.end == at.issue + 1 && buffer.begin < at.issue) {
             --buffer.end;
             return true;
           }
       return false;
     }},
    {"NothingWritten",
     {2},
     "",
     [](plan::PlanT &plan) {
       const Located at = findInstruction(plan, [&](const Located &one) {
         return one.launch() && one.instruction->phase == plan::Phase::forward &&
                plan.buffers[one.launch()->outputs[0]->buffer]->class_ == plan::BufferClass::activation;
       });
       drop(plan, at);
       return true;
     }},
    {"ReductionNotAwaited",
     {2, 3},
     "without waiting for",
     [](plan::PlanT &plan) {
       const Located reduce = findCollective(plan, reduce_scatter);
       const auto all = trainStep(plan);
       // Records after the reduction on its stream no longer are.
       for (const Located &at : all)
         if (reduce.instruction && at.issue > reduce.issue && at.instruction->stream == reduce.instruction->stream)
           if (const plan::RecordT *record = at.instruction->operation.AsRecord()) {
             const std::uint32_t event = record->event;
             for (const Located &waiting : all)
               if (const plan::WaitT *wait = waiting.instruction->operation.AsWait(); wait && wait->event == event)
                 drop(plan, waiting);
           }
       return reduce.instruction != nullptr;
     }},
    {"NotGathered",
     {4},
     "before any gather of it",
     [](plan::PlanT &plan) {
       drop(plan, findGather(plan));
       return true;
     }},
    {"GatherNotAwaited",
     {4},
     "without waiting for",
     [](plan::PlanT &plan) {
       const Located gather = findGather(plan);
       for (const Located &at : trainStep(plan))
         if (at.instruction->stream != gather.instruction->stream && at.instruction->operation.AsWait())
           drop(plan, at);
       return true;
     }},
    {"NotReleased",
     {4, 12},
     "",
     [](plan::PlanT &plan) {
       drop(plan, findInstruction(plan, [](const Located &one) { return one.instruction->operation.AsRelease(); }));
       return true;
     }},
    {"GatheredCalledActivation",
     {4},
     "has a unit but is not gathered",
     [](plan::PlanT &plan) {
       (*std::ranges::find(plan.buffers, plan::BufferClass::gathered, [](const auto &buffer) {
         return buffer->class_;
       }))->class_ = plan::BufferClass::activation;
       return true;
     }},
    {"GatherOfAnotherUnit",
     {4, 8},
     "",
     [](plan::PlanT &plan) {
       plan::InstructionT &gather = *findGather(plan).instruction;
       gather.unit = gather.unit == 0 ? 1 : 0;
       return plan.units.size() > 1;
     },
     {},
     {"Uneven"}},
    {"CountsDisagree",
     {5},
     "expected counts of a all_gather",
     [](plan::PlanT &plan) {
       findCollective(plan, all_gather).collective()->segments[0]->destination->shape = {1};
       return true;
     }},
    {"AxisTwice",
     {5},
     "is named twice",
     [](plan::PlanT &plan) {
       std::vector<std::uint32_t> &axes = findCollective(plan, all_gather).collective()->axes;
       axes.push_back(axes[0]);
       return true;
     }},
    {"ReductionWithoutOp",
     {5},
     "cannot have reduction 'none'",
     [](plan::PlanT &plan) {
       const Located reduce = findInstruction(
           plan, [](const Located &one) { return one.collective(reduce_scatter) || one.collective(all_reduce); });
       reduce.collective()->op = plan::ReduceOp::none;
       return true;
     }},
    {"WaitForALaterRecord",
     {6},
     "wait for each other in a cycle",
     [](plan::PlanT &plan) {
       const auto all = trainStep(plan);
       for (const Located &first : all)
         for (const Located &later : all) {
           plan::WaitT *wait = first.instruction->operation.AsWait();
           const plan::RecordT *record = later.instruction->operation.AsRecord();
           if (wait && record && first.instruction->stream == later.instruction->stream && first.issue < later.issue &&
               first.section == later.section && first.instruction->when == later.instruction->when) {
             wait->event = record->event;
             wait->carried = false;
             return true;
           }
         }
       return false;
     }},
    {"NotReducedOverReplicas",
     {7},
     "the value may differ along 'replicate'",
     [](plan::PlanT &plan) {
       if (plan.mesh[0]->name != "replicate" || plan.mesh[0]->size == 1)
         return false;
       for (const Located &at : trainStep(plan))
         if (at.collective(all_reduce))
           drop(plan, at);
       return true;
     },
     {"Hybrid"}},
    {"NormOfOneRank",
     {7},
     "which must be equal on all ranks",
     [](plan::PlanT &plan) {
       const Located norm = findInstruction(plan, [&](const Located &one) {
         return one.collective(all_reduce) && one.instruction->phase == plan::Phase::update;
       });
       if (norm.instruction)
         drop(plan, norm);
       return norm.instruction != nullptr;
     }},
    {"ChunkTooLarge",
     {8},
     "expected chunks of",
     [](plan::PlanT &plan) {
       const auto sharded = std::ranges::find_if(plan.parameters, [](const auto &one) { return one->dim >= 0; });
       ++(*sharded)->chunk;
       return true;
     }},
    {"StateSharesShard",
     {8},
     "is also the shard of a different tensor",
     [](plan::PlanT &plan) {
       plan::ParameterT &parameter = *trainedParameter(plan);
       parameter.states[0]->buffer = parameter.buffer;
       return true;
     }},
    {"PaddingWritten",
     {8},
     "writes the padding of the shard",
     [](plan::PlanT &plan) {
       for (const auto &parameter : plan.parameters)
         if (check::isPadded(plan, *parameter))
           for (const Located &at : trainStep(plan))
             for (plan::ViewT *view : writesOf(*at.instruction))
               if (view->buffer == parameter->buffer) {
                 view->valid.clear();
                 return true;
               }
       return false;
     },
     {"Uneven"}},
    {"ClassOfAShard",
     {8, 15},
     "expected class parameter but got temporary",
     [](plan::PlanT &plan) {
       plan.buffers[plan.parameters[0]->buffer]->class_ = plan::BufferClass::temporary;
       return true;
     }},
    {"NotUpdated",
     {10},
     "expected 1 updates in a step of 'train_step' but got 0",
     [](plan::PlanT &plan) {
       drop(plan, findInstruction(plan, [&](const Located &one) { return updates(plan, one); }));
       return true;
     }},
    {"UpdatedTwice",
     {10},
     "expected 1 updates in a step of 'train_step' but got 2",
     [](plan::PlanT &plan) {
       const Located update = findInstruction(plan, [&](const Located &one) { return updates(plan, one); });
       plan::EntryT &entry = *plan.entries[update.entry];
       if (update.section == 0)
         return false;
       entry.sections[update.section]->repeat = 2;
       return true;
     }},
    {"FrozenForNoReason",
     {10},
     "is frozen, but a loss of the unsharded program depends on it",
     [](plan::PlanT &plan) {
       trainedParameter(plan)->frozen = true;
       return true;
     }},
    {"Excluded",
     {10},
     "is not frozen, but the unsharded program does not train it",
     [](plan::PlanT &plan) {
       trainedParameter(plan)->requires_grad = false;
       return true;
     }},
    {"NotRecorded",
     {11},
     "which has no earlier record in the step",
     [](plan::PlanT &plan) {
       const auto all = trainStep(plan);
       const Located waiting = findInstruction(plan, [](const Located &one) {
         const plan::WaitT *wait = one.instruction->operation.AsWait();
         return wait && !wait->carried;
       });
       for (const Located &at : all)
         if (const plan::RecordT *record = at.instruction->operation.AsRecord();
             record && record->event == waiting.instruction->operation.AsWait()->event)
           drop(plan, at);
       return true;
     }},
    {"OutputNotWritten",
     {12},
     "is not there at the end of the step",
     [](plan::PlanT &plan) {
       const std::uint32_t entry = trainStep(plan)[0].entry;
       const std::uint32_t loss = plan.entries[entry]->outputs[0]->view->buffer;
       drop(plan,
            findInstruction(plan, [&](const Located &one) { return accesses(writesOf(*one.instruction), loss); }));
       return true;
     }},
    {"AnotherDigest",
     {17},
     "expected digest",
     [](plan::PlanT &plan) {
       plan.digest[0] ^= 1;
       return true;
     }},
    {"AnotherCatalogue",
     {17},
     "of the kernel catalogue",
     [](plan::PlanT &plan) {
       ++plan.catalogue;
       return true;
     }},
};

class SpoiledPlans : public testing::TestWithParam<Recipe> {};

TEST_P(SpoiledPlans, AreRefused) {
  const plan::PlanT good = compile(GetParam());
  ASSERT_TRUE(checkPlan(good).isOk()) << checkPlan(good).message();
  for (const Kind &kind : kinds) {
    SCOPED_TRACE(kind.name);
    plan::PlanT bad(good);
    const bool applies = kind.spoil(bad);
    EXPECT_EQ(applies, kind.appliesTo(GetParam()));
    if (!applies)
      continue;
    // The digest is that of the spoiled plan, unless it is spoiled itself.
    if (!kind.properties.contains(17))
      serializePlan(bad);
    CheckReport report;
    const Status status = checkPlan(bad, &report);
    EXPECT_FALSE(status.isOk());
    EXPECT_TRUE(std::ranges::any_of(kind.properties, [&](int property) {
      return report[property] == CheckReport::Outcome::refused;
    })) << status.message();
    EXPECT_NE(status.message().find(kind.message), std::string::npos) << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled, SpoiledPlans, testing::ValuesIn(recipes),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sluice::test
