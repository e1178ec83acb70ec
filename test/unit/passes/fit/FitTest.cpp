//===- FitTest.cpp - GPUs, settings, assertions and the choice of the best --------------===//
#include "passes/driver/fit/FitResult.h"
#include "passes/driver/fit/TorchCalls.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

const std::string folder = SLUICE_MACHINES_FOLDER;

FitRow rowOf(std::string recompute, std::int64_t rows, std::uint64_t peak, double tokens) {
  FitRow row;
  row.setting = {{1, 8, 1}, rows, std::move(recompute), "none", "bf16"};
  row.peak = peak;
  row.fits = true;
  if (tokens > 0)
    row.tokensPerSecond = tokens;
  return row;
}

TEST(Gpus, NamesHaveTheCollectivesOfTheirHosts) {
  const Result<Gpus> gpus = readGpus("8xh100-sxm-80gb", 64, folder);
  ASSERT_TRUE(gpus.isOk()) << gpus.status().message();
  EXPECT_EQ(gpus->world, 64);
  EXPECT_EQ(gpus->hostDevices, 8);
  EXPECT_EQ(gpus->name, "NVIDIA H100 SXM 80 GB");
  EXPECT_FALSE(gpus->machine->times.collectives.empty());
  EXPECT_FALSE(gpus->machine->times.hosts);
}

TEST(Gpus, BytesHaveNoMachine) {
  const Result<Gpus> gpus = readGpus("4x24GiB", 0, folder);
  ASSERT_TRUE(gpus.isOk());
  EXPECT_EQ(gpus->memory, std::uint64_t(24) << 30);
  EXPECT_FALSE(gpus->machine);
  for (const char *text : {"", "x", "8x", "0x24GiB", "8", "ax24GiB"})
    EXPECT_EQ(readGpus(text, 0, folder).status().code(), StatusCode::usage) << text;
}

TEST(Assertion, ValuesHaveUnits) {
  EXPECT_EQ(parseAssertion("peak <= 2KiB")->bound, 2048);
  EXPECT_EQ(parseAssertion("step<250ms")->bound, 0.25);
  EXPECT_EQ(parseAssertion("mfu>=40%")->bound, 0.4);
  EXPECT_EQ(parseAssertion("mfu>0.4")->bound, 0.4);
  EXPECT_TRUE(parseAssertion("step<=1s")->holds(1));
  EXPECT_FALSE(parseAssertion("step<1s")->holds(1));
  for (const char *text : {"", "peak", "peak<=", "peak==1GiB", "step<1", "mfu<-1%", "speed>1", "tokens_per_s>1s"})
    EXPECT_EQ(parseAssertion(text).status().code(), StatusCode::usage) << text;
}

TEST(Settings, LastResortHasOffloadAndTensorParallelism) {
  FitRequest request;
  Gpus gpus;
  gpus.world = 16;
  gpus.hostDevices = 8;
  const Result<std::vector<FitSetting>> first = settingsOf(request, gpus, false),
                                        last = settingsOf(request, gpus, true);
  ASSERT_TRUE(first.isOk() && last.isOk());
  EXPECT_EQ(first->size(), 6u);
  EXPECT_EQ(first->front().text(), "mesh shard=16, 1 row, recompute none, offload none, precision bf16");
  EXPECT_EQ(first->back().mesh.text(), "replicate=2 x shard=8");
  EXPECT_EQ(last->back().mesh.text(), "shard=2 x tensor=8");
  EXPECT_EQ(last->back().offload, "parameters");
  request.framework = FitFramework::pytorch;
  EXPECT_EQ(settingsOf(request, gpus, true)->size(), 2u);
}

TEST(Result, BestIsFastThenRoomyThenSmall) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 1, 95, 1000), rowOf("selective", 2, 80, 990), rowOf("block", 1, 30, 500)};
  result.chooseBest();
  EXPECT_EQ(result.best, (std::vector<std::size_t>{0, 1, 2}));
  result.assertions = {*parseAssertion("peak<=50B")};
  result.chooseBest();
  EXPECT_EQ(result.best, (std::vector<std::size_t>{2}));
  EXPECT_TRUE(result.status().isOk());
  result.assertions = {*parseAssertion("peak<=10B")};
  result.chooseBest();
  EXPECT_EQ(result.status().code(), StatusCode::budget);
}

TEST(Result, WithoutTimesTheFirstSettingWithMostRows) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 1, 50, 0), rowOf("none", 2, 70, 0), rowOf("block", 8, 70, 0)};
  result.chooseBest();
  EXPECT_EQ(result.best, (std::vector<std::size_t>{1, 0}));
}

TEST(TorchCalls, UnitsOfAListAreOneLoop) {
  FitRow row = rowOf("block", 1, 1, 0);
  row.units = {"", "model.layers.0", "model.layers.1", "head"};
  const std::string calls = torchCalls(row);
  EXPECT_NE(calls.find(R"(for path in [f"model.layers.{i}" for i in range(2)] + ["head"]:)"), std::string::npos)
      << calls;
  EXPECT_NE(calls.find("module = checkpoint_wrapper(module)\n"), std::string::npos);
  EXPECT_NE(calls.find("init_device_mesh(\"cuda\", (8,))"), std::string::npos);
}

} // namespace
} // namespace sluice::test
