//===- SkewTest.cpp - delays anywhere change no bit; gathers and reductions overlap ---------===//
//
// The plan runs in this process under a DelayInjector: no delay, a delay before one kind of place (gathers, reductions,
// compute, updates) or before all of them, on one rank or on all. And with a collective held open until compute has gone
// on, the step still completes: a runtime that gathered or reduced synchronously would stall here.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Reader.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace sluice::numeric {
namespace {

const int layers = 4;

/// gpt2-tiny for two ranks, all units resharded, compiled once.
const std::string &planPath() {
  static const std::string path = [] {
    std::string model = scratchFolder() + "/skew.mlir", plan = scratchFolder() + "/skew.plan";
    std::string recipe = writeScratch("skew.toml", "mesh.shard = 2\ngradient.microbatches = 2\n"
                                                   "sharding.reshard_after_forward = true\n");
    CommandResult import = runCommand("sluice-import hf " + referenceFolder() +
                                      "/gpt2-tiny/config.json --batch 2 --sequence 16 -o " + model);
    EXPECT_EQ(import.code, 0) << import.err;
    CommandResult compile = runCommand("sluice-compile " + model + " --recipe " + recipe + " -o " + plan);
    EXPECT_EQ(compile.code, 0) << compile.err;
    return plan;
  }();
  return path;
}

/// Losses and every parameter after two steps, as bytes.
struct Outcome {
  Status status;
  std::vector<std::byte> bytes;
};

/// An injector that acts in train_step alone: the initial weights' instructions have numbers of their own.
class StepInjector : public DelayInjector {
public:
  std::atomic<bool> inStep{false};
  void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) final {
    if (inStep)
      beforeInStep(instruction);
  }

protected:
  virtual void beforeInStep(std::uint32_t instruction) = 0;
};

Outcome runTwoSteps(const plan::PlanT &plan, StepInjector *delays) {
  ExecutorOptions options;
  options.delays = delays;
  auto group = RankGroup::create(plan, options);
  if (!group.isOk())
    return {group.takeStatus(), {}};
  Outcome outcome;
  outcome.status = (*group)->runEntry("init");
  if (delays)
    delays->inStep = true;
  for (std::int64_t step = 1; step <= 2 && outcome.status.isOk(); ++step) {
    for (int rank = 0; rank < (*group)->size(); ++rank) {
      Executor &executor = (*group)->executor(rank);
      *executor.input("train_step", "lr")->as<float>() = 1e-3f;
      *executor.input("train_step", "step")->as<std::int64_t>() = step;
      for (const char *name : {"tokens", "targets"}) {
        auto port = executor.input("train_step", name);
        for (std::uint32_t repetition = 0; repetition < port->repetitions; ++repetition)
          for (std::uint64_t i = 0; i < port->bytes / 4; ++i)
            port->as<std::int32_t>(repetition)[i] =
                static_cast<std::int32_t>((i * 7 + repetition * 13 + static_cast<std::uint64_t>(rank) * 29 +
                                           static_cast<std::uint64_t>(step) * 31 + (name[1] == 'a' ? 3 : 0)) % 250);
      }
    }
    outcome.status = (*group)->runEntry("train_step");
  }
  auto append = [&](const void *data, std::size_t size) {
    const std::byte *first = static_cast<const std::byte *>(data);
    outcome.bytes.insert(outcome.bytes.end(), first, first + size);
  };
  for (int rank = 0; rank < (*group)->size(); ++rank) {
    Executor &executor = (*group)->executor(rank);
    append(executor.output("train_step", "loss")->at(), 4);
    append(executor.output("train_step", "grad_norm")->at(), 4);
    for (const ParameterMemory &parameter : executor.parameters())
      append(parameter.tensor.value.data, static_cast<std::size_t>(parameter.tensor.value.elements()) * 4);
  }
  return outcome;
}

/// Where instructions of train_step stand.
struct Places {
  const plan::PlanT &plan;
  std::vector<const plan::InstructionT *> instructions;

  explicit Places(const plan::PlanT &plan) : plan(plan) {
    for (const auto &entry : plan.entries)
      if (entry->name == "train_step")
        for (const auto &section : entry->sections)
          for (const auto &instruction : section->instructions)
            instructions.push_back(instruction.get());
  }
  bool isCollective(std::size_t i, plan::CollectiveKind kind) const {
    const auto *collective = instructions[i]->operation.AsCollective();
    return collective && collective->kind == kind;
  }
  std::string unit(std::size_t i) const {
    int unit = instructions[i]->unit;
    return unit < 0 ? "" : plan.units[static_cast<std::size_t>(unit)]->name;
  }
};

/// Sleeps before instructions that a predicate names.
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
  auto file = readCheckedPlan(planPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  Outcome base = runTwoSteps(file->plan, nullptr);
  ASSERT_TRUE(base.status.isOk()) << base.status.message();
  auto inRange = [&](std::uint32_t i) { return i < places.instructions.size(); };
  auto gather = [&](std::uint32_t i) { return inRange(i) && places.isCollective(i, plan::CollectiveKind::all_gather); };
  auto reduce = [&](std::uint32_t i) { return inRange(i) && places.isCollective(i, plan::CollectiveKind::reduce_scatter); };
  auto afterForward = [&](std::uint32_t i) {
    return inRange(i) && places.instructions[i]->phase == plan::Phase::loss && places.instructions[i]->operation.AsLaunch();
  };
  auto update = [&](std::uint32_t i) {
    return inRange(i) && places.instructions[i]->phase == plan::Phase::update && i % 8 == 0;
  };
  std::vector<std::function<bool(std::uint32_t)>> chosen = {gather, reduce, afterForward, update, [&](std::uint32_t i) {
                                                              return gather(i) || reduce(i) || afterForward(i) || update(i);
                                                            }};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    SCOPED_TRACE(i);
    Sleeper sleeper(chosen[i]);
    Outcome delayed = runTwoSteps(file->plan, &sleeper);
    ASSERT_TRUE(delayed.status.isOk()) << delayed.status.message();
    EXPECT_GT(sleeper.count, 0);
    EXPECT_EQ(std::memcmp(base.bytes.data(), delayed.bytes.data(), base.bytes.size()), 0);
  }
}

/// Holds one collective back until another instruction has been reached on another stream, for at most ten seconds.
class Gate : public StepInjector {
public:
  Gate(std::uint32_t held, std::uint32_t until) : held(held), until(until) {}
  void beforeInStep(std::uint32_t instruction) override {
    std::unique_lock lock(mutex);
    if (instruction == until) {
      reached = true;
      change.notify_all();
    }
    if (instruction == held && !reached) {
      waited = true;
      if (!change.wait_for(lock, std::chrono::seconds(10), [&] { return reached; }))
        stalled = true;
    }
  }
  bool waited = false, stalled = false;

private:
  std::uint32_t held, until;
  bool reached = false;
  std::mutex mutex;
  std::condition_variable change;
};

/// The last launch of a unit's scope in a phase.
std::uint32_t lastLaunch(const Places &places, plan::Phase phase, const std::string &unit) {
  std::uint32_t last = 0;
  bool inside = false;
  for (std::uint32_t i = 0; i < places.instructions.size(); ++i) {
    const plan::InstructionT *instruction = places.instructions[i];
    if (instruction->phase != phase)
      continue;
    if (instruction->operation.AsRelease() && places.unit(i) == unit)
      return last;
    if (instruction->operation.AsLaunch())
      last = i;
    inside = true;
  }
  EXPECT_TRUE(inside);
  return last;
}

std::uint32_t findCollective(const Places &places, plan::CollectiveKind kind, plan::Phase phase, const std::string &unit) {
  for (std::uint32_t i = 0; i < places.instructions.size(); ++i)
    if (places.isCollective(i, kind) && places.instructions[i]->phase == phase && places.unit(i) == unit)
      return i;
  ADD_FAILURE() << "no collective of " << unit;
  return 0;
}

TEST(Overlap, GathersRunBesideComputeOfTheUnitBefore) {
  auto file = readCheckedPlan(planPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = 0; layer + 1 < layers; ++layer) {
    std::string next = "h." + std::to_string(layer + 1);
    Gate gate(findCollective(places, plan::CollectiveKind::all_gather, plan::Phase::forward, next),
              lastLaunch(places, plan::Phase::forward, "h." + std::to_string(layer)));
    Outcome outcome = runTwoSteps(file->plan, &gate);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_FALSE(gate.stalled) << next;
  }
}

TEST(Overlap, ReductionsRunBesideTheBackwardOfTheUnitBefore) {
  auto file = readCheckedPlan(planPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = layers - 1; layer > 0; --layer) {
    std::string unit = "h." + std::to_string(layer);
    Gate gate(findCollective(places, plan::CollectiveKind::reduce_scatter, plan::Phase::backward, unit),
              lastLaunch(places, plan::Phase::backward, "h." + std::to_string(layer - 1)));
    Outcome outcome = runTwoSteps(file->plan, &gate);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_FALSE(gate.stalled) << unit;
  }
}

} // namespace
} // namespace sluice::numeric
