//===- ExecutorRanksTest.cpp - a plan file, opened and run as sluice-train does ------===//
#include "runtime/plan/Checker.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/Weights.h"
#include "test/unit/executor/RunAlone.h"
#include "test/unit/train/Fixture.h"

#include <chrono>
#include <future>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Quiet : TrainObserver {
  std::vector<StepReport> steps;
  RunSummary summary;
  void onStep(const StepReport &report) override { steps.push_back(report); }
  void onSummary(const RunSummary &given) override { summary = given; }
};

class ExecutorRanksTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  /// Two ranks that each hold a row of a frozen 'w'; the loss of a step is twice the learning rate.
  std::string write(std::uint32_t threads = 2) {
    PlanBuilder test({2});
    plan::PlanT &plan = test.plan;
    plan.target->threads = threads;
    plan.mesh[0]->name = "shard";
    plan.data_axes = {0};
    plan.learning_rate = std::make_unique<plan::LearningRateT>();
    plan.learning_rate->peak = 1e-3;
    plan.config = "{}";
    std::uint32_t compute = test.stream("compute");
    std::uint32_t weight = test.buffer("w", {1, 4});
    plan.buffers[weight]->class_ = plan::BufferClass::parameter;
    plan.arenas[0]->persistent = 16;
    plan.units.push_back(std::make_unique<plan::UnitT>());
    plan.units[0]->name = "root";
    plan.units[0]->parameters = {0};
    plan::ParameterT &parameter = test.parameter("w", {2, 4}, {0}, weight);
    parameter.frozen = true;
    parameter.initializer = std::make_unique<plan::InitializerT>();

    std::uint32_t first = static_cast<std::uint32_t>(plan.buffers.size());
    std::uint32_t rate = test.buffer("lr", {}), loss = test.buffer("loss", {});
    std::uint32_t hostRate = test.buffer("host.lr", {}, plan::DType::f32, plan::Space::host);
    std::uint32_t hostLoss = test.buffer("host.loss", {}, plan::DType::f32, plan::Space::host);
    plan::EntryT &entry = test.entry("train_step", 0);
    test.section();
    test.port(entry.inputs, "lr", test.view(hostRate));
    test.port(entry.outputs, "loss", test.view(hostLoss));
    test.copy(compute, test.view(hostRate), test.view(rate));
    test.launch(compute, "add", {test.view(rate), test.view(rate)}, {test.view(loss)});
    test.copy(compute, test.view(loss), test.view(hostLoss));
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      plan::BufferT &buffer = *plan.buffers[i];
      buffer.entry = i < first ? -1 : 0;
      if (i >= first)
        buffer.end = 3;
      plan.arenas[static_cast<std::size_t>(buffer.space)]->peak_live += buffer.bytes;
    }
    std::vector<std::uint8_t> bytes = serializePlan(plan);
    return folder.write("small.plan", std::string(bytes.begin(), bytes.end()));
  }

  std::unique_ptr<Ranks> open(RanksOptions options = {}) {
    Result<std::unique_ptr<Ranks>> ranks = openRanks(write(), options);
    if (!ranks.isOk()) {
      ADD_FAILURE() << ranks.status().message()
                    << (ranks.status().notes().empty() ? "" : "\n" + ranks.status().notes()[0]);
      return nullptr;
    }
    return std::move(*ranks);
  }
};

// Tests that ranks in separate processes agree to stop without waiting for each other: a rank gets the agreement of the
// previous call, immediately, while a different rank is late.
TEST_F(ExecutorRanksTest, AgreeWithoutWaitingForALateRank) {
  const std::string path = write();
  const std::shared_ptr<World> world = createLocalWorld(2);
  // Rank 1 calls only after rank 0 has returned.
  std::promise<void> returned;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      RanksOptions options;
      options.world = world;
      options.rank = rank;
      auto ranks = openRanks(path, options);
      ASSERT_TRUE(ranks.isOk()) << ranks.status().message();
      if (rank == 1) {
        EXPECT_EQ(returned.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
      }
      // Only rank 1 requests a stop, in its first call.
      auto first = (*ranks)->agreeLater(rank == 1);
      if (rank == 0)
        returned.set_value();
      ASSERT_TRUE(first.isOk());
      EXPECT_FALSE(*first);
      auto second = (*ranks)->agreeLater(false);
      ASSERT_TRUE(second.isOk()) << second.status().message();
      EXPECT_TRUE(*second);
      auto third = (*ranks)->agreeLater(false);
      ASSERT_TRUE(third.isOk());
      EXPECT_FALSE(*third);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Tests that a rank allocates no memory for a request that its plan has no bytes for.
TEST_F(ExecutorRanksTest, RefusesRequestsOutsideOfThePlan) {
  const std::string path = write();
  for (const auto &[buffer, bytes] : {std::pair(1000u, std::uint64_t(4)), std::pair(0u, std::uint64_t(1) << 50)}) {
    const std::shared_ptr<World> world = createLocalWorld(2);
    const auto run = [&, buffer = buffer, bytes = bytes](int rank) {
      RanksOptions options;
      options.world = world;
      options.rank = rank;
      auto ranks = openRanks(path, options);
      ASSERT_TRUE(ranks.isOk()) << ranks.status().message();
      // Nothing is written to the bytes, because rank 1 sends none.
      std::byte byte{};
      const Status status = (*ranks)->onRoot([&] { return (*ranks)->read(1, buffer, 0, std::span(&byte, bytes)); });
      world->abort(status);
      const std::string text = "rank 0 requests " + std::to_string(bytes) + " bytes of buffer " +
                               std::to_string(buffer) + ", which the plan does not have";
      EXPECT_EQ(status.message(), text);
    };
    std::thread other(run, 1);
    run(0);
    other.join();
  }
}

TEST_F(ExecutorRanksTest, TrainsAndCountsRequestedMemory) {
  std::unique_ptr<Ranks> ranks = open();
  ASSERT_NE(ranks, nullptr);
  EXPECT_EQ(ranks->size(), 2);
  Quiet observer;
  TrainOptions options;
  options.steps = 3;
  Status status = train(*ranks, options, observer);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(observer.steps.size(), 3u);
  EXPECT_FLOAT_EQ(static_cast<float>(observer.steps[2].loss), 2e-3f);
  EXPECT_EQ(observer.summary.predictedPeak, observer.summary.measuredPeak);
  EXPECT_EQ(observer.summary.measuredPeak["device"], 192u);
}

TEST_F(ExecutorRanksTest, WeightsRoundTripThroughShards) {
  std::unique_ptr<Ranks> ranks = open();
  ASSERT_NE(ranks, nullptr);
  std::vector<float> row{1, 2, 3, 4};
  for (int rank = 0; rank < 2; ++rank, row = {5, 6, 7, 8})
    ASSERT_TRUE(ranks->write(rank, 0, 0, std::as_bytes(std::span(row))).isOk());
  ASSERT_TRUE(saveWeights(*ranks, folder.path("out")).isOk());
  std::unique_ptr<Ranks> other = open();
  ASSERT_TRUE(loadWeights(*other, folder.path("out")).isOk());
  ASSERT_TRUE(other->read(1, 0, 0, std::as_writable_bytes(std::span(row))).isOk());
  EXPECT_EQ(row, (std::vector<float>{5, 6, 7, 8}));
  std::vector<float> tooMuch(5);
  expectError(other->read(1, 0, 0, std::as_writable_bytes(std::span(tooMuch))), StatusCode::refused,
              "end of a range in buffer 'w', expected at most 16 but got 20");
}

TEST_F(ExecutorRanksTest, TraceHasEveryInstructionOfEveryRank) {
  std::unique_ptr<Ranks> ranks = open({.trace = true});
  ASSERT_NE(ranks, nullptr);
  ASSERT_TRUE(ranks->run("train_step").isOk());
  std::vector<Span> spans = ranks->takeTrace();
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_EQ(spans[1].name, "launch add");
  EXPECT_EQ(spans[1].stream, "compute");
  EXPECT_EQ(spans[5].rank, 1);
  for (const Span &span : spans)
    EXPECT_TRUE(span.begin >= 0 && span.end >= span.begin);
  EXPECT_TRUE(ranks->takeTrace().empty());
}

// A plan whose bytes are sound, with a digest that fits, and that would go wrong when it runs: the loader proves it
// first.
TEST_F(ExecutorRanksTest, UnsafePlansAreRefusedAtLoad) {
  auto refuses = [&](const std::function<void(plan::PlanT &)> &spoil, const std::string &text) {
    Result<PlanFile> good = readPlan(write());
    ASSERT_TRUE(good.isOk());
    spoil(good->plan);
    std::vector<std::uint8_t> bytes = serializePlan(good->plan);
    Result<std::unique_ptr<Ranks>> ranks =
        openRanks(folder.write("unsafe.plan", std::string(bytes.begin(), bytes.end())), {});
    expectError(ranks.status(), StatusCode::refused, text);
    EXPECT_FALSE(ranks.status().notes().empty()) << "expected a counterexample";
  };
  refuses([](plan::PlanT &plan) { plan.buffers[1]->offset = plan.buffers[2]->offset; },
          "P2 live buffers do not overlap: buffers 'lr' and 'loss' live at once and share bytes");
  refuses(
      [](plan::PlanT &plan) {
        auto other = std::make_unique<plan::StreamT>();
        other->name = "other";
        plan.streams.push_back(std::move(other));
        plan.entries[0]->sections[0]->instructions[1]->stream = 1;
      },
      "P3 no race: instruction 1 (launch add on stream 'other') of 'train_step' reads buffer 'lr' without waiting for");
}

TEST_F(ExecutorRanksTest, MoreMemoryThanTheMachineHasIsRefused) {
  auto file = readCheckedPlan(write());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  const plan::PlanT &plan = file->plan;
  const std::uint64_t needed = *predictedProcess(plan, 2);
  EXPECT_TRUE(checkFitsMachine(plan, 2, needed, false).isOk());
  EXPECT_TRUE(checkFitsMachine(plan, 1, needed - 1, false).isOk());
  EXPECT_TRUE(checkFitsMachine(plan, 2, 0, false).isOk());
  // Two ranks, each with a block of 1 MiB and one page for 16 persistent bytes.
  EXPECT_EQ(checkFitsMachine(plan, 2, needed, true).code(), StatusCode::refused);
  EXPECT_TRUE(checkFitsMachine(plan, 2, needed + 2 * ((1 << 20) + 4096), true).isOk());
  const Status status = checkFitsMachine(plan, 2, needed - 1, false);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_NE(status.message().find("memory of the 2 ranks in this process, expected at most this machine's"),
            std::string::npos)
      << status.message();
  EXPECT_GT(machineMemory(), 64u << 20);
}

// Tests that the memory of checkpoints is requested at the start, and has what persists when it is copied.
TEST_F(ExecutorRanksTest, CopiesItsState) {
  auto without = open(), ranks = open({.writesCheckpoints = true});
  ASSERT_TRUE(without && ranks);
  EXPECT_TRUE(without->checkpointMemory(0).empty());
  const CheckpointMemory memory = checkpointMemory(ranks->plan(), 0);
  EXPECT_EQ(memory.copy, 16u);
  EXPECT_EQ(ranks->requestedBytes(plan::Space::host),
            without->requestedBytes(plan::Space::host) + memory.copy + checkpointBlock);
  const std::vector<float> first = {1, 2, 3, 4}, second = {5, 6, 7, 8};
  for (int rank = 0; rank < 2; ++rank)
    ASSERT_TRUE(ranks->write(rank, 0, 0, std::as_bytes(std::span(rank == 0 ? first : second))).isOk());
  ASSERT_TRUE(ranks->copyState().isOk());
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(ranks->write(rank, 0, 0, std::as_bytes(std::span(rank == 0 ? second : first))).isOk());
    const std::span<std::byte> copied = ranks->checkpointMemory(rank);
    ASSERT_EQ(copied.size(), memory.bytes());
    EXPECT_EQ(std::memcmp(copied.data() + memory.block, (rank == 0 ? first : second).data(), 16), 0);
  }
}

TEST_F(ExecutorRanksTest, Refusals) {
  expectError(openRanks(write(), {.threads = 3}).status(), StatusCode::usage,
              "3 threads per rank, but the plan's 'target.threads' is 2");
  std::string bytes = contentOf(write());
  bytes[bytes.size() / 2] ^= 1;
  expectError(openRanks(folder.write("bad.plan", bytes), {}).status(), StatusCode::refused, "");
  expectError(openRanks(folder.path("none.plan"), {}).status(), StatusCode::input, "cannot read");
}

} // namespace
