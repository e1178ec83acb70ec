//===- NonFiniteTest.cpp - NaN and infinity in each instruction of a step ---------------------===//
//
// An observer writes NaN or infinity into the output of one instruction. Either the guard suppresses the update on all
// ranks and the search names the instruction, or the arithmetic drops the value and all bits are those of the
// undisturbed step. The guard of a rank is computed from sums over all ranks. A value that no later collective carries
// to the other ranks is one that all of them compute or get from the host, and it is replaced on all of them.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/executor/NonFinite.h"
#include "runtime/executor/Poison.h"
#include "runtime/executor/RankGroup.h"
#include "runtime/kernel/cpu/Walk.h"
#include "runtime/plan/Reader.h"
#include "test/numeric/Training.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace sluice::numeric {
namespace {

/// The value that the observers of all ranks write; they change nothing while `index` is negative.
struct Planted {
  std::int64_t index = -1;
  /// Of the instruction's outputs.
  std::size_t output = 0;
  std::uint32_t repetition = 0;
  /// -1: all ranks.
  int rank = -1;
  double value = NAN;
};

class Planting final : public InstructionObserver {
public:
  Planting(const plan::PlanT &plan, int rank, const RankMemory &memory, const Planted &planted)
      : rank(rank), planted(planted), binder(plan, rank), places(plan),
        entry(static_cast<std::uint32_t>(findEntry(plan, "train_step"))) {
    binder.arenas = memory.arenas;
  }

  Status afterInstruction(const ObservedInstruction &at) override {
    if (at.entry != entry || planted.index != at.index || planted.repetition != at.repetition || !at.isIssued ||
        (planted.rank >= 0 && planted.rank != rank))
      return {};
    std::size_t output = 0;
    Status status;
    forEachView(*places.instructions[at.index], [&](const plan::ViewT &view, bool isWrite) {
      if (!isWrite || output++ != planted.output)
        return;
      Result<BoundView> bound = binder.bind(view, at.repetition + 1);
      if (!bound.isOk()) {
        status = bound.takeStatus();
        return;
      }
      Operand &operand = bound->operand;
      operand.data = bound->at(at.repetition);
      std::int64_t middle = operand.elements() / 2;
      cpu::walk<1>(operand.rank, operand.extent, {operand.strides}, [&](const auto &offset) {
        if (middle-- == 0)
          cpu::store(operand, offset[0], planted.value);
      });
    });
    return status;
  }

private:
  const int rank;
  const Planted &planted;
  Binder binder;
  const Places places;
  const std::uint32_t entry;
};

/// True if collectives before the guard transfer the output of an instruction of `rank`, or a value computed from it,
/// to all ranks.
bool reachesAllRanks(const plan::PlanT &plan, const plan::EntryT &entry, std::uint64_t position, int rank) {
  const auto membersOf = [&](int member, const std::vector<std::uint32_t> &axes) {
    const std::vector<int> members = groupMembers(plan, static_cast<std::uint32_t>(member), axes);
    return std::set<int>(members.begin(), members.end());
  };
  std::vector<bool> isReached(plan.buffers.size());
  std::set<int> ranks = {rank};
  bool isPastGuard = false;
  forEachIssued(entry, [&](const IssuedInstruction &issued) {
    if (issued.position < position || isPastGuard)
      return;
    const plan::InstructionT &instruction = *issued.instruction;
    isPastGuard = operationName(plan, instruction) == "launch all_finite";
    bool reads = issued.position == position;
    forEachView(instruction,
                [&](const plan::ViewT &view, bool isWrite) { reads = reads || (!isWrite && isReached[view.buffer]); });
    const plan::CollectiveT *collective = instruction.operation.AsCollective();
    if (collective && reads && issued.position > position)
      for (int each : std::set<int>(ranks))
        ranks.merge(membersOf(each, collective->axes));
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      if (isWrite && (reads || viewBytes(view) == plan.buffers[view.buffer]->bytes))
        isReached[view.buffer] = reads;
    });
  });
  return ranks.size() == meshSize(plan);
}

struct Case {
  const char *name;
  const char *model;
  const char *recipe;
};

const Case cases[] = {
    {"OneRank", "zoo linear-relu-linear", "gradient.microbatches = 2\ngradient.clip_norm = 0.5\n"},
    {"TwoRanks", "zoo linear-relu-linear", "mesh.shard = 2\ngradient.microbatches = 2\ngradient.clip_norm = 0.5\n"},
    {"TwoRanksWithoutClipping", "zoo linear-relu-linear", "mesh.shard = 2\n"},
    {"TwoRanksF16", "zoo linear-relu-linear",
     "mesh.shard = 2\ngradient.microbatches = 2\nprecision.compute = \"f16\"\nprecision.loss_scale = \"dynamic\"\n"},
    {"InHostMemory", "zoo linear-relu-linear",
     "mesh.shard = 2\ngradient.microbatches = 2\nmemory.offload = [\"parameters\", \"optimizer\"]\n"},
    {"Hybrid", "zoo linear-relu-linear", "mesh.replicate = 2\nmesh.shard = 2\nsharding.dim = \"largest\"\n"},
    {"Flat", "zoo linear-relu-linear", "mesh.shard = 3\nsharding.dim = \"flat\"\nprecision.compute = \"bf16\"\n"},
    {"Replicated", "zoo linear-relu-linear", "mesh.replicate = 2\nsharding.strategy = \"no_shard\"\n"},
};

class NonFiniteIn : public testing::TestWithParam<Case> {
protected:
  /// The persistent buffers, by rank and index in Plan.buffers.
  using State = std::vector<std::vector<std::vector<std::byte>>>;

  void SetUp() override {
    const Case &tested = GetParam();
    auto file = readCheckedPlan(compilePlan(std::string("nonfinite-") + tested.name, tested.model, tested.recipe));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    plan = std::move(file->plan);
    ExecutorOptions options;
    options.observe = [this](const plan::PlanT &plan, int rank, const RankMemory &memory) {
      return std::make_unique<Planting>(plan, rank, memory, planted);
    };
    auto created = RankGroup::create(plan, options);
    ASSERT_TRUE(created.isOk()) << created.status().message();
    group = std::move(*created);
    ASSERT_TRUE(group->runEntry("init").isOk());
    ASSERT_TRUE(runStep(1).isOk());
    before = state();
    ASSERT_TRUE(runStep(2).isOk());
    after = state();
    ASSERT_NE(before, after);
  }

  Status runStep(std::int64_t step) {
    for (int rank = 0; rank < group->size(); ++rank)
      SLUICE_RETURN_IF_ERROR(writeInputs(group->executor(rank), "train_step", step));
    return group->runEntry("train_step");
  }

  State state() {
    State bytes(static_cast<std::size_t>(group->size()));
    for (int rank = 0; rank < group->size(); ++rank)
      for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
        if (plan.buffers[b]->entry == -1) {
          auto &buffer = bytes[static_cast<std::size_t>(rank)].emplace_back(plan.buffers[b]->bytes);
          EXPECT_TRUE(group->executor(rank).read(b, 0, buffer).isOk());
        }
    return bytes;
  }

  void restore(const State &bytes) {
    for (int rank = 0; rank < group->size(); ++rank) {
      auto buffer = bytes[static_cast<std::size_t>(rank)].begin();
      for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
        if (plan.buffers[b]->entry == -1) {
          EXPECT_TRUE(group->executor(rank).write(b, 0, *buffer++).isOk());
        }
    }
  }

  /// The guard of each rank after a step.
  std::vector<int> guards() {
    std::vector<int> values;
    for (int rank = 0; rank < group->size(); ++rank)
      values.push_back(*group->executor(rank).output("train_step", "guard")->as<std::uint8_t>());
    return values;
  }

  /// What the ranks find in the step, the first of it first.
  std::vector<NonFinite> search() {
    std::vector<std::optional<NonFinite>> found(static_cast<std::size_t>(group->size()));
    const Status status = group->forEachRank([&](Executor &executor) -> Status {
      SLUICE_ASSIGN_OR_RETURN(found[static_cast<std::size_t>(executor.rank())], executor.findNonFinite("train_step"));
      return {};
    });
    EXPECT_TRUE(status.isOk()) << status.message();
    std::vector<NonFinite> list;
    for (const auto &each : found)
      if (each)
        list.push_back(*each);
    std::ranges::stable_sort(list, {}, &NonFinite::position);
    return list;
  }

  /// Runs step 2 with the planted value; true if it was dropped.
  bool isDropped(const std::string &what, const std::string &name) {
    restore(before);
    const Status status = runStep(2);
    EXPECT_TRUE(status.isOk()) << what << ": " << status.message();
    const std::vector<int> values = guards();
    if (values[0] != 0) {
      EXPECT_EQ(values, std::vector<int>(values.size(), 1)) << what;
      EXPECT_TRUE(state() == after) << what << ": dropped, but the step has other bits";
      return true;
    }
    EXPECT_EQ(values, std::vector<int>(values.size(), 0)) << what;
    EXPECT_TRUE(state() == before) << what << ": the step changed parameters or states";
    const std::vector<NonFinite> found = search();
    EXPECT_TRUE(state() == before) << what << ": the search changed parameters or states";
    if (found.empty()) {
      ADD_FAILURE() << what << ": nothing was found";
      return false;
    }
    EXPECT_NE(found[0].text.find(name), std::string::npos) << what << ": " << found[0].text;
    return false;
  }

  plan::PlanT plan;
  Planted planted;
  std::unique_ptr<RankGroup> group;
  State before, after;
};

/// True for a value that the step drops: padding, a copy for the host, and what a ReLU was not active for.
bool mayDrop(const plan::PlanT &plan, const Places &places, const plan::InstructionT &instruction,
             std::uint32_t buffer) {
  if (instruction.operation.AsFill() || plan.buffers[buffer]->space == plan::Space::host)
    return true;
  return std::ranges::any_of(places.instructions, [&](const plan::InstructionT *each) {
    return operationName(plan, *each) == "launch relu_grad" && each->operation.AsLaunch()->inputs[0]->buffer == buffer;
  });
}

TEST_P(NonFiniteIn, EveryInstruction) {
  const Places places(plan);
  const plan::EntryT &entry = *plan.entries[static_cast<std::size_t>(findEntry(plan, "train_step"))];
  std::size_t tested = 0, dropped = 0;
  forEachIssued(entry, [&](const IssuedInstruction &issued) {
    const std::uint32_t repeat = entry.sections[issued.section]->repeat;
    std::uint32_t next = issued.repetition + 1;
    while (next < repeat && !isIssued(*issued.instruction, next, repeat))
      ++next;
    // Of an instruction that is issued repeatedly, the last time.
    if (next < repeat)
      return;
    const std::string operation = operationName(plan, *issued.instruction);
    std::size_t output = 0;
    forEachView(*issued.instruction, [&](const plan::ViewT &view, bool isWrite) {
      if (!isWrite)
        return;
      const std::size_t current = output++;
      const std::string buffer = plan.buffers[view.buffer]->name;
      // Updates read the guard.
      if (!isFloat(baseType(view.dtype)) || operation == "launch adamw" || plan.buffers[view.buffer]->entry == -1)
        return;
      const bool isCommon = !reachesAllRanks(plan, entry, issued.position, 0);
      for (double value : {double(NAN), double(INFINITY)})
        for (int rank = isCommon ? -1 : 0; rank < (isCommon ? 0 : group->size()); ++rank) {
          planted = {issued.index, current, issued.repetition, rank, value};
          const std::string what = std::to_string(value) + " in '" + buffer + "' by instruction " +
                                   std::to_string(issued.index) + " (" + operation + ") on rank " +
                                   std::to_string(rank);
          ++tested;
          if (isDropped(what, "rank " + std::to_string(std::max(rank, 0)) + ", train_step, instruction " +
                                  std::to_string(issued.index) + " (" + operation)) {
            EXPECT_TRUE(mayDrop(plan, places, *issued.instruction, view.buffer)) << what;
            ++dropped;
          }
          planted.index = -1;
        }
    });
  });
  EXPECT_GT(tested, 40u);
  EXPECT_GT(dropped, 0u);
  // The executor is as before.
  restore(before);
  ASSERT_TRUE(runStep(2).isOk());
  EXPECT_TRUE(state() == after);
}

INSTANTIATE_TEST_SUITE_P(Plans, NonFiniteIn, testing::ValuesIn(cases),
                         [](const auto &tested) { return std::string(tested.param.name); });

/// Searches, then overwrites the bytes that are no longer live.
class SearchAndPoison final : public InstructionObserver {
public:
  SearchAndPoison(const plan::PlanT &plan, int rank, const RankMemory &memory)
      : search(plan, rank, memory), poison(poisonObserver()(plan, rank, memory)) {}
  Status beforeEntry(std::uint32_t entry) override {
    SLUICE_RETURN_IF_ERROR(poison->beforeEntry(entry));
    SLUICE_RETURN_IF_ERROR(search.beforeEntry(entry));
    return look();
  }
  Status afterInstruction(const ObservedInstruction &instruction) override {
    SLUICE_RETURN_IF_ERROR(search.afterInstruction(instruction));
    SLUICE_RETURN_IF_ERROR(look());
    return poison->afterInstruction(instruction);
  }

private:
  Status look() const { return search.found() ? failedError(search.found()->text) : Status::ok(); }

  NonFiniteSearch search;
  std::unique_ptr<InstructionObserver> poison;
};

class HealthyStep : public testing::TestWithParam<Case> {};

// Tests that masks, padding and bytes that nothing has written are not reported.
TEST_P(HealthyStep, HasNoFinding) {
  std::string model = GetParam().model;
  if (model.starts_with("hf "))
    model = "hf " + referenceFolder() + "/" + model.substr(3);
  auto file = readCheckedPlan(compilePlan(std::string("healthy-") + GetParam().name, model, GetParam().recipe));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  StepsOptions options;
  options.observe = [](const plan::PlanT &plan, int rank, const RankMemory &memory) {
    return std::make_unique<SearchAndPoison>(plan, rank, memory);
  };
  const Outcome outcome = runSteps(file->plan, nullptr, options);
  EXPECT_TRUE(outcome.status.isOk()) << outcome.status.message();
}

const Case healthy[] = {
    {"Transformer", "zoo transformer --set dropout=0.1", "mesh.shard = 3\ngradient.microbatches = 2\n"},
    {"TransformerTensor", "zoo transformer --set loss=cross-entropy",
     "mesh.tensor = 2\n[sharding.tensor]\n\"*.feed_forward.w1.*\" = \"column\"\n\"*.feed_forward.w2.*\" = \"row\"\n"},
    {"Conv", "zoo conv --set stem=6 --set hidden=9 --set height=12 --set width=13", "mesh.shard = 2\n"},
    {"Experts", "zoo moe --set batch=4", "mesh.shard = 2\nmesh.expert = 2\nsharding.expert = [\"*.experts.*\"]\n"},
    {"Resharded", "zoo multi-forward", "mesh.shard = 4\nsharding.reshard_after_forward = 2\n"},
    {"Flat", "zoo mlp-stack", "mesh.shard = 3\nsharding.dim = \"flat\"\nprecision.compute = \"bf16\"\n"},
    {"HalfInHostMemory", "zoo linear-relu-linear",
     "mesh.shard = 2\nprecision.compute = \"f16\"\nprecision.loss_scale = 8.0\nmemory.offload = [\"parameters\", "
     "\"optimizer\"]\n"},
    {"Llama", "hf llama-tiny/config.json --batch 2 --sequence 16",
     "mesh.tensor = 3\nsharding.tensor = \"megatron\"\nsharding.sequence = true\nprecision.compute = \"bf16\"\n"},
};
INSTANTIATE_TEST_SUITE_P(Plans, HealthyStep, testing::ValuesIn(healthy),
                         [](const auto &tested) { return std::string(tested.param.name); });

} // namespace
} // namespace sluice::numeric
