//===- SkewTest.cpp - delays anywhere change no bit ------------------------------------===//
//
// Plans run in this process under a DelayInjector: no delay, a delay before one kind of instruction (gathers,
// reductions, compute, updates, copies) or before all of them, on one rank or on all; for every behaviour that a recipe
// can request.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/plan/Reader.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace sluice::numeric {
namespace {

/// Sleeps before instructions that a predicate selects.
class Sleeper : public StepInjector {
public:
  explicit Sleeper(std::function<bool(std::uint32_t)> chosen) : chosen(std::move(chosen)) {}
  void beforeInStep(std::uint32_t instruction) override {
    if (chosen(instruction)) {
      ++count;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  std::atomic<int> count{0};

private:
  std::function<bool(std::uint32_t)> chosen;
};

TEST(Skew, DelaysChangeNoBit) {
  auto file = readCheckedPlan(tinyPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  Outcome base = runSteps(file->plan, nullptr);
  ASSERT_TRUE(base.status.isOk()) << base.status.message();
  auto inRange = [&](std::uint32_t i) { return i < places.instructions.size(); };
  auto gather = [&](std::uint32_t i) { return inRange(i) && places.isCollective(i, plan::CollectiveKind::all_gather); };
  auto reduce = [&](std::uint32_t i) {
    return inRange(i) && places.isCollective(i, plan::CollectiveKind::reduce_scatter);
  };
  auto afterForward = [&](std::uint32_t i) {
    return inRange(i) && places.instructions[i]->phase == plan::Phase::loss &&
           places.instructions[i]->operation.AsLaunch();
  };
  auto update = [&](std::uint32_t i) {
    return inRange(i) && places.instructions[i]->phase == plan::Phase::update && i % 8 == 0;
  };
  std::vector<std::function<bool(std::uint32_t)>> chosen = {gather, reduce, afterForward, update, [&](std::uint32_t i) {
                                                              return gather(i) || reduce(i) || afterForward(i) ||
                                                                     update(i);
                                                            }};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    SCOPED_TRACE(i);
    Sleeper sleeper(chosen[i]);
    Outcome delayed = runSteps(file->plan, &sleeper);
    ASSERT_TRUE(delayed.status.isOk()) << delayed.status.message();
    EXPECT_GT(sleeper.count, 0);
    EXPECT_EQ(std::memcmp(base.bytes.data(), delayed.bytes.data(), base.bytes.size()), 0);
  }
}

/// Sleeps before every second instruction that a predicate over entry point and instruction selects, so that different
/// ranks are late.
class Stumbler : public StepInjector {
public:
  explicit Stumbler(std::function<bool(int, std::uint32_t)> chosen) : chosen(std::move(chosen)) {}
  void beforeInStep(std::uint32_t instruction) override {
    if (chosen(entry, instruction) && ++count % 2)
      std::this_thread::sleep_for(std::chrono::microseconds(700));
  }
  std::atomic<int> count{0};

private:
  std::function<bool(int, std::uint32_t)> chosen;
};

struct Behaviour {
  const char *name;
  const char *model;
  const char *recipe;
  const char *entries = "train_step";
};

constexpr char linears[] = "zoo linear-mlps --set count=3 --set dim=8";
constexpr char transformer[] = "zoo transformer --set layers=3 --set dropout=0";
constexpr char untied[] = "zoo transformer --set layers=3 --set dropout=0 --set tied=false";

const Behaviour behaviours[] = {
    {"Kept", transformer, "mesh.shard = 4\nsharding.reshard_after_forward = false\n"},
    {"KeptInPieces", transformer, "mesh.shard = 4\nsharding.reshard_after_forward = 2\ngradient.microbatches = 2\n"},
    {"ReleasedBeforeTheBackward", transformer,
     "mesh.shard = 2\nsharding.reshard_after_forward = false\nsharding.reshard_before_backward = true\n"},
    {"KeptOverMicrobatches", linears,
     "mesh.shard = 2\ngradient.microbatches = 3\nsharding.reshard_after_forward = false\n"
     "sharding.reshard_after_backward = \"last\"\n"},
    {"NothingSharded", linears, "mesh.shard = 2\nmesh.replicate = 2\nsharding.strategy = \"no_shard\"\n"},
    {"Replicas", linears, "mesh.replicate = 2\nmesh.shard = 2\ngradient.microbatches = 3\ngradient.sync = \"every\"\n"},
    {"ReplicasAtTheLast", linears,
     "mesh.replicate = 2\nmesh.shard = 2\ngradient.microbatches = 3\ngradient.sync = \"reduce_scatter_only\"\n"},
    {"Regimes", linears, "mesh.shard = 2\ngradient.microbatches = 4\ngradient.sync = [true, false, false, true]\n"},
    {"RegimesByUnit", linears,
     "mesh.shard = 2\ngradient.microbatches = 3\n[gradient.sync]\n\"1\" = [true, false, true]\n\"*\" = \"last\"\n"},
    {"ByElements", transformer, "mesh.shard = 3\nsharding.dim = \"flat\"\n"},
    {"LargestDim", transformer, "mesh.shard = 3\nsharding.dim = \"largest\"\nsharding.reshard_after_forward = true\n"},
    {"WholeBesideSharded", linears, "mesh.shard = 2\nmesh.replicate = 2\nsharding.replicated = [\"1.*\"]\n"},
    {"UnitsOfSeveralBlocks", untied,
     "mesh.shard = 2\n[sharding.units]\na = [\"layers.0\", \"layers.2\"]\ne = [\"tok_embeddings*\"]\nnone = []\n"},
    {"NestedUnitsAndRecompute", "zoo nested-recompute --set layers=2 --set tied=false",
     "mesh.shard = 2\nsharding.reshard_after_forward = true\nrecompute.policy = \"marked\"\n[sharding.units]\nL0 = "
     "\"layers.0\"\n"
     "L1 = \"layers.1\"\nw0 = \"layers.0.feed_forward.w1.*\"\nw1 = \"layers.1.feed_forward.w1.*\"\n"},
    {"Recompute", transformer, "mesh.shard = 2\nrecompute.policy = \"block\"\n"},
    {"NarrowTypes", linears,
     "mesh.replicate = 2\nmesh.shard = 2\nprecision.compute = \"bf16\"\ngradient.microbatches = 2\n"},
    {"HalvesAndAScale", linears,
     "mesh.shard = 2\nprecision.compute = \"f16\"\nprecision.reduce = \"f16\"\nprecision.loss_scale = 8.0\n"},
    {"OnlySums", linears, "mesh.replicate = 2\nmesh.shard = 2\ngradient.force_sum = true\n"},
    {"Clipped", linears, "mesh.replicate = 2\nmesh.shard = 2\ngradient.clip_norm = 0.01\ngradient.clip_type = inf\n"},
    {"FarAhead", transformer,
     "mesh.shard = 2\nsharding.reshard_after_forward = true\nschedule.forward_prefetch = 3\nschedule.backward_prefetch "
     "= 3\n"
     "schedule.reduce_buffers = 2\n"},
    {"NeverAhead", transformer,
     "mesh.shard = 2\nsharding.reshard_after_forward = true\nschedule.forward_prefetch = 0\nschedule.backward_prefetch "
     "= 0\n"},
    {"UsedTwice", "zoo multi-forward", "mesh.shard = 2\nsharding.reshard_after_forward = true\n"},
    {"ForwardTwice", "zoo two-forwards --set layers=2", "mesh.shard = 2\nsharding.reshard_after_forward = false\n"},
    {"TwoLosses", "zoo two-losses", "mesh.shard = 2\n"},
    {"InHostMemory", transformer,
     "mesh.shard = 2\nsharding.reshard_after_forward = true\nmemory.offload = [\"parameters\", \"optimizer\"]\n"},
    {"InUnpinnedHostMemory", transformer,
     "mesh.shard = 2\nsharding.reshard_after_forward = true\nmemory.pinned = false\nprecision.compute = \"bf16\"\n"
     "memory.offload = [\"parameters\", \"optimizer\"]\n"},
    {"SumsInHostMemory", linears,
     "mesh.replicate = 2\nmesh.shard = 2\ngradient.microbatches = 3\ngradient.sync = "
     "\"every\"\nschedule.reduce_buffers = 2\n"
     "memory.offload = [\"parameters\", \"optimizer\"]\n"},
    {"ParametersInHostMemory", linears, "mesh.shard = 2\nmemory.offload = [\"parameters\"]\n"},
    {"StatesInHostMemory", linears, "mesh.shard = 2\nmemory.offload = [\"optimizer\"]\n"},
    {"ActivationsInHostMemory", transformer,
     "mesh.shard = 2\ngradient.microbatches = 2\nmemory.offload = [\"activations\"]\n"},
    {"BlockInputsInHostMemory", transformer,
     "mesh.shard = 2\nrecompute.policy = \"block\"\nmemory.offload = [\"parameters\", \"optimizer\", "
     "\"activations\"]\n"},
    {"NothingShardedInHostMemory", linears,
     "mesh.shard = 2\nsharding.strategy = \"no_shard\"\nmemory.offload = [\"parameters\", \"optimizer\"]\n"},
    {"TwoEntryPoints", "zoo mlp-sequence --set count=3 --set dim=8", "mesh.shard = 2\n", "train_step,train_first"},
    {"TensorAxis", "zoo mlp-stack --set dim=8",
     "mesh.replicate = 2\nmesh.shard = 2\nmesh.tensor = 2\n[sharding.tensor]\n\"*.in_proj.*\" = "
     "\"column\"\n\"*.out_proj.*\" = \"row\"\n"},
};

class SkewOf : public testing::TestWithParam<Behaviour> {};

/// Delays before every collective and copy, before all compute, and before every instruction.
TEST_P(SkewOf, DelaysChangeNoBit) {
  const Behaviour &behaviour = GetParam();
  auto file = readCheckedPlan(compilePlan(std::string("skew-") + behaviour.name, behaviour.model, behaviour.recipe));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  StepsOptions options;
  options.entries.clear();
  std::stringstream names(behaviour.entries);
  for (std::string name; std::getline(names, name, ',');)
    options.entries.push_back(name);
  std::map<int, std::vector<const plan::InstructionT *>> instructions;
  for (const std::string &name : options.entries)
    instructions[findEntry(file->plan, name)] = Places(file->plan, name).instructions;
  auto kind = [&](int entry, std::uint32_t i) {
    const auto &list = instructions.at(entry);
    return i < list.size() ? list[i]->operation.type : plan::Operation::NONE;
  };
  auto moves = [&](int entry, std::uint32_t i) {
    return kind(entry, i) == plan::Operation::Collective || kind(entry, i) == plan::Operation::Copy;
  };
  auto computes = [&](int entry, std::uint32_t i) { return kind(entry, i) == plan::Operation::Launch; };
  auto all = [](int, std::uint32_t) { return true; };
  Outcome base = runSteps(file->plan, nullptr, options);
  ASSERT_TRUE(base.status.isOk()) << base.status.message();
  ASSERT_FALSE(base.bytes.empty());
  int number = 0;
  for (const std::function<bool(int, std::uint32_t)> &chosen :
       {std::function<bool(int, std::uint32_t)>(moves), {computes}, {all}}) {
    SCOPED_TRACE(number++);
    Stumbler stumbler(chosen);
    Outcome delayed = runSteps(file->plan, &stumbler, options);
    ASSERT_TRUE(delayed.status.isOk()) << delayed.status.message();
    EXPECT_GT(stumbler.count, 10);
    ASSERT_EQ(base.bytes.size(), delayed.bytes.size());
    EXPECT_EQ(std::memcmp(base.bytes.data(), delayed.bytes.data(), base.bytes.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Behaviours, SkewOf, testing::ValuesIn(behaviours),
                         [](const auto &info) { return std::string(info.param.name); });

/// The tests above assume that delays change the results if compute does not wait.
TEST(Skew, DelaysRevealMissingWaits) {
  auto file = readCheckedPlan(tinyPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Outcome base = runSteps(file->plan, nullptr);
  ASSERT_TRUE(base.status.isOk()) << base.status.message();
  plan::EntryT &entry = *file->plan.entries[static_cast<std::size_t>(findEntry(file->plan, "train_step"))];
  int dropped = 0;
  for (auto &section : entry.sections)
    for (auto &instruction : section->instructions)
      if (instruction->operation.AsWait() && file->plan.streams[instruction->stream]->name == "compute") {
        // No stream waits for this one.
        plan::RecordT record;
        record.event = entry.events;
        instruction->operation.Set(std::move(record));
        ++dropped;
      }
  ASSERT_GT(dropped, 8);
  ++entry.events;
  Places places(file->plan);
  Sleeper sleeper([&](std::uint32_t i) {
    return i < places.instructions.size() && places.isCollective(i, plan::CollectiveKind::all_gather);
  });
  Outcome delayed = runSteps(file->plan, &sleeper);
  ASSERT_TRUE(delayed.status.isOk()) << delayed.status.message();
  ASSERT_EQ(base.bytes.size(), delayed.bytes.size());
  EXPECT_NE(std::memcmp(base.bytes.data(), delayed.bytes.data(), base.bytes.size()), 0);
}

/// Steps that are issued without waiting: a gather of the next step waits for the update of its parameters,
/// for any delay, and all other work is ordered too.
TEST(Skew, StepsAreOrderedWithoutTheHost) {
  for (const char *recipe :
       {"mesh.shard = 2\n", "mesh.shard = 2\nschedule.forward_prefetch = 3\nsharding.reshard_after_forward = true\n",
        "mesh.replicate = 2\nmesh.shard = 2\nsharding.reshard_after_forward = false\n",
        "mesh.shard = 2\nprecision.compute = \"bf16\"\ngradient.microbatches = 3\n",
        "mesh.shard = 2\nmemory.offload = [\"parameters\", \"optimizer\"]\n"}) {
    SCOPED_TRACE(recipe);
    auto file = readCheckedPlan(compilePlan("skew-steps", transformer, recipe));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    Places places(file->plan);
    // All on the inputs of the first step: the host's writes would not be ordered with issued work.
    StepsOptions options;
    options.steps = 4;
    options.waits = false;
    Outcome base = runSteps(file->plan, nullptr, options);
    ASSERT_TRUE(base.status.isOk()) << base.status.message();
    auto updates = [&](std::uint32_t i) {
      return i < places.instructions.size() && places.instructions[i]->phase == plan::Phase::update &&
             places.instructions[i]->operation.AsLaunch();
    };
    Sleeper sleeper(updates);
    Outcome delayed = runSteps(file->plan, &sleeper, options);
    ASSERT_TRUE(delayed.status.isOk()) << delayed.status.message();
    EXPECT_GT(sleeper.count, 8);
    ASSERT_EQ(base.bytes.size(), delayed.bytes.size());
    EXPECT_EQ(std::memcmp(base.bytes.data(), delayed.bytes.data(), base.bytes.size()), 0);
    // Inputs are overwritten as soon as they are read, so each step has different inputs.
    StepsOptions overlapping;
    overlapping.steps = 4;
    StepsOptions separate = overlapping;
    overlapping.overlaps = true;
    Sleeper late(updates);
    Outcome overlapped = runSteps(file->plan, &late, overlapping);
    ASSERT_TRUE(overlapped.status.isOk()) << overlapped.status.message();
    Outcome expected = runSteps(file->plan, nullptr, separate);
    ASSERT_EQ(overlapped.bytes.size(), expected.bytes.size());
    EXPECT_EQ(std::memcmp(overlapped.bytes.data(), expected.bytes.data(), expected.bytes.size()), 0);
    // The results are those of steps that the host waits for.
    StepsOptions waiting = options;
    waiting.sameInputs = waiting.waits = true;
    Outcome waited = runSteps(file->plan, nullptr, waiting);
    EXPECT_EQ(std::memcmp(base.bytes.data(), waited.bytes.data(), base.bytes.size()), 0);
  }
}

/// Delays the last update of each step until every rank has reached the first gather of the next one.
class Gate : public StepInjector {
public:
  /// `gathersInStep`: how often a step issues the gather.
  Gate(std::uint32_t gather, std::uint32_t update, int gathersInStep, int ranks, int steps)
      : gather(gather), update(update), gathersInStep(gathersInStep), ranks(ranks), steps(steps) {}
  void beforeInStep(std::uint32_t instruction) override {
    std::unique_lock lock(mutex);
    if (instruction == gather) {
      ++gathers;
      changed.notify_all();
    } else if (instruction == update) {
      const int step = updates++ / ranks;
      if (step + 1 < steps)
        passed += changed.wait_for(lock, std::chrono::seconds(20),
                                   [&] { return gathers >= ranks * (gathersInStep * (step + 1) + 1); });
    }
  }
  int passed = 0;

private:
  const std::uint32_t gather, update;
  const int gathersInStep, ranks, steps;
  std::mutex mutex;
  std::condition_variable changed;
  int gathers = 0, updates = 0;
};

/// The first gather of a step begins while the previous step still updates parameters that it does not gather.
TEST(Skew, StepsOverlap) {
  for (const char *recipe : {"mesh.shard = 2\n", "mesh.shard = 2\nprecision.compute = \"bf16\"\n",
                             "mesh.shard = 2\ngradient.microbatches = 2\ngradient.clip_norm = 1.0\n",
                             "mesh.shard = 2\nmemory.offload = [\"parameters\", \"optimizer\"]\n"}) {
    SCOPED_TRACE(recipe);
    auto file = readCheckedPlan(compilePlan("skew-overlap", transformer, recipe));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    Places places(file->plan);
    std::uint32_t gather = 0, update = 0;
    for (std::uint32_t i = 0; i < places.instructions.size(); ++i) {
      if (places.isCollective(i, plan::CollectiveKind::all_gather) && gather == 0)
        gather = i;
      if (places.instructions[i]->phase == plan::Phase::update && places.instructions[i]->operation.AsLaunch())
        update = i;
    }
    StepsOptions options;
    options.steps = 3;
    Outcome base = runSteps(file->plan, nullptr, options);
    for (bool waits : {false, true}) {
      SCOPED_TRACE(waits);
      StepsOptions following = options;
      following.waits = following.overlaps = waits;
      const auto repeat = static_cast<int>(
          file->plan.entries[static_cast<std::size_t>(findEntry(file->plan, "train_step"))]->sections[0]->repeat);
      Gate gate(gather, update, repeat, 2, options.steps);
      Outcome outcome = runSteps(file->plan, &gate, following);
      ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
      EXPECT_EQ(gate.passed, 2 * (options.steps - 1));
      if (waits) {
        EXPECT_EQ(std::memcmp(base.bytes.data(), outcome.bytes.data(), base.bytes.size()), 0);
      }
    }
  }
}

} // namespace
} // namespace sluice::numeric
