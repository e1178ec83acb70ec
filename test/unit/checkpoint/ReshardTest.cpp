//===- ReshardTest.cpp - checkpoints of one layout in plans of another ----------------===//
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Load.h"
#include "test/unit/checkpoint/Fixture.h"

#include <nlohmann/json.hpp>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

class Reshard : public ::testing::Test {
protected:
  TemporaryFolder folder;

  std::string save(const FakeRanks &ranks, std::uint64_t step) {
    const Status status = saveNow(ranks, folder.path("."), stateOf(ranks, step));
    EXPECT_TRUE(status.isOk()) << status.message();
    return stepPath(folder.path("."), step);
  }
  void differs(plan::PlanT plan, const std::string &text) {
    const FakeRanks saved = filledRanks(Layout::rows, 1);
    Result<CheckpointReader> reader = CheckpointReader::open(save(saved, 1));
    ASSERT_TRUE(reader.isOk()) << reader.status().message();
    expectError(checkModel(*reader, plan), StatusCode::refused, text);
  }
};

// Tests that a checkpoint of any layout has the same tensors in a plan of any other, and zeros in their padding.
TEST_F(Reshard, FromAnyLayoutToAnyOther) {
  for (int from = 0; from < static_cast<int>(Layout::count); ++from) {
    const FakeRanks saved = filledRanks(static_cast<Layout>(from), 3);
    const std::string path = save(saved, static_cast<std::uint64_t>(from) + 1);
    for (int to = 0; to < static_cast<int>(Layout::count); ++to) {
      Result<CheckpointReader> reader = CheckpointReader::open(path);
      ASSERT_TRUE(reader.isOk()) << reader.status().message();
      FakeRanks loaded(modelPlan(static_cast<Layout>(to)).plan), expected = filledRanks(static_cast<Layout>(to), 3);
      ASSERT_TRUE(checkModel(*reader, loaded.plan()).isOk());
      ASSERT_TRUE(loadTensors(loaded, *reader, /*isCopied=*/false).isOk());
      // A variable of a rank that was not saved is that of an earlier rank.
      for (const PlanTensor &tensor : planTensors(loaded.plan()))
        if (tensor.rank >= saved.size()) {
          const int source = tensor.rank % saved.size();
          const std::vector<float> values = saved.values<float>(source, tensor.buffer);
          ASSERT_TRUE(expected.write(tensor.rank, tensor.buffer, 0, std::as_bytes(std::span(values))).isOk());
        }
      EXPECT_TRUE(isSame(loaded, expected)) << "from layout " << from << " to " << to;
    }
  }
}

/// Ranks on a thread each.
struct ThreadedRanks final : FakeRanks {
  using FakeRanks::FakeRanks;
  Status forEachRank(const std::function<void(int)> &function) const override {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back(function, rank);
    return Status::ok();
  }
};

// Tests tensors of several blocks that ranks load at the same time, in files that a rank verifies and in those of which
// it reads a part.
TEST_F(Reshard, LongTensors) {
  const auto plan = [](Layout layout) {
    PlanBuilder builder({{"shard", layout == Layout::oneRank ? 1u
                                   : layout == Layout::flat  ? 3u
                                                             : 2u},
                         {"tensor", layout == Layout::parts ? 2u : 1u}});
    addParameter(builder, "long", {501, 701}, layout, 3, {"exp_avg"});
    for (const auto &arena : builder.plan.arenas)
      arena->persistent = arena->bytes;
    return std::move(builder.plan);
  };
  for (int from = 0; from < static_cast<int>(Layout::count); ++from) {
    FakeRanks saved(plan(static_cast<Layout>(from)));
    fill(saved, 2);
    const std::string path = save(saved, static_cast<std::uint64_t>(from) + 1);
    for (int to = 0; to < static_cast<int>(Layout::count); ++to)
      for (bool isCopied : {false, true}) {
        Result<CheckpointReader> reader = CheckpointReader::open(path);
        ASSERT_TRUE(reader.isOk()) << reader.status().message();
        ThreadedRanks loaded(plan(static_cast<Layout>(to)));
        FakeRanks expected(plan(static_cast<Layout>(to)));
        fill(expected, 2);
        const Status status = loadTensors(loaded, *reader, isCopied);
        ASSERT_TRUE(status.isOk()) << status.message();
        EXPECT_TRUE(isSame(loaded, expected)) << "from layout " << from << " to " << to;
      }
  }
}

// Tests that ranks copy and write only what no earlier rank has.
TEST_F(Reshard, CopiesWhatItWrites) {
  const plan::PlanT replicated = modelPlan(Layout::replicated).plan;
  // A variable of three elements, after the block.
  EXPECT_EQ(checkpointMemory(replicated, 1).copy, 12u);
  EXPECT_GT(checkpointMemory(replicated, 0).copy, 1000u);
  for (Layout layout :
       {Layout::oneRank, Layout::rows, Layout::columns, Layout::flat, Layout::parts, Layout::replicated}) {
    const plan::PlanT plan = modelPlan(layout).plan;
    std::uint64_t pages = 0;
    for (std::uint32_t rank = 0; rank < meshSize(plan); ++rank) {
      const CheckpointMemory memory = checkpointMemory(plan, rank);
      EXPECT_LE(memory.bytes(), checkpointMemory(plan, 0).bytes());
      pages += (memory.bytes() + 4095) / 4096 * 4096;
    }
    EXPECT_EQ(checkpointPages(plan, meshSize(plan), 4096), pages);
  }
}

// Tests that the files are those that PyTorch's reader expects: one box of a tensor in a file, with its offsets.
TEST_F(Reshard, HasThePartsOfPyTorch) {
  const std::string path = save(filledRanks(Layout::parts, 1), 1);
  Result<CheckpointReader> reader = CheckpointReader::open(path);
  ASSERT_TRUE(reader.isOk());
  std::vector<std::string> names;
  for (const IndexFile &file : reader->index().files) {
    names.push_back(file.name);
    if (file.parts.empty())
      continue;
    const std::string bytes = contentOf(path + "/" + file.name);
    const auto header = nlohmann::json::parse(bytes.substr(8, *reinterpret_cast<const std::uint64_t *>(bytes.data())));
    const auto sharding = nlohmann::json::parse(header["__metadata__"]["DCP_SHARDING_INFO"].get<std::string>());
    for (const IndexPart &part : file.parts) {
      EXPECT_EQ(sharding[part.tensor]["saved_offsets"].get<Extents>(), part.box.offset);
      EXPECT_EQ(header[part.tensor]["shape"].get<Extents>(), part.box.shape);
    }
    EXPECT_EQ(sharding.size(), file.parts.size());
  }
  // The first rank has a row of each of two segments of the fused parameter.
  EXPECT_EQ(std::ranges::count(names, "shard-00001-model-00002-of-00002.safetensors"), 1);
}

// Tests that state.json returns every number of the run.
TEST_F(Reshard, KeepsTheState) {
  const FakeRanks ranks = filledRanks(Layout::oneRank, 1);
  TrainingState state = stateOf(ranks, 12);
  state.progress.evaluationLoss = 0.1;
  state.seed = 18446744073709551615u;
  state.shuffled = true;
  state.rowsPerStep = 4;
  const Result<TrainingState> read = parseState("state.json", formatState(state));
  ASSERT_TRUE(read.isOk()) << read.status().message();
  EXPECT_EQ(formatState(*read), formatState(state));
  EXPECT_EQ(read->progress.lossScale.value(), 1024);
  EXPECT_EQ(read->progress.lossScale.unchangedSteps(), 7u);
  EXPECT_TRUE(read->progress.rowsRead.empty());
  state.progress.rowsRead = {48, 7};
  EXPECT_EQ(parseState("state.json", formatState(state))->progress.rowsRead, (std::vector<std::uint64_t>{48, 7}));
}

// Tests that another model or optimizer is refused by its first difference.
TEST_F(Reshard, RefusesAnotherModel) {
  differs(modelPlan(Layout::rows, {"momentum"}).plan,
          "tensor 'optimizer.state.attn.fused.momentum' of the plan (F32 [6, 4]) is missing in the checkpoint");
  differs(modelPlan(Layout::rows, {"exp_avg"}).plan,
          "tensor 'optimizer.state.attn.fused.exp_avg_sq' (F32 [6, 4]) is in the checkpoint but not in the plan");
  PlanBuilder longer = modelPlan(Layout::rows);
  longer.plan.parameters[3]->shape = {8};
  differs(std::move(longer.plan), "tensor 'bias', expected F32 [8] as in the plan but got F32 [7]");
}

} // namespace
