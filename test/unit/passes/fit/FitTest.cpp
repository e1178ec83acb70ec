//===- FitTest.cpp - GPUs, settings, assertions and the choice of the best --------------===//
#include "passes/driver/fit/FitResult.h"
#include "passes/driver/fit/TorchCalls.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

std::vector<std::size_t> positions(const FitResult &result) {
  std::vector<std::size_t> rows;
  for (const BestRow &each : result.best)
    rows.push_back(each.row);
  return rows;
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

TEST(Gpus, NamesOfHostsHaveAsManyAsTheRanksNeed) {
  const Result<Gpus> gpus = readGpus("8xh100-8x4", 64, folder);
  ASSERT_TRUE(gpus.isOk()) << gpus.status().message();
  EXPECT_FALSE(gpus->machine->times.hosts);
  EXPECT_EQ(gpus->machine->times.hostDevices, 8u);
}

TEST(Gpus, UnknownMemoryOfTheProcessIsNamed) {
  EXPECT_TRUE(readGpus("8xh100-sxm-80gb", 0, folder)->unknownProcessBytes().empty());
  const Result<Gpus> gpus = readGpus("8xa100-sxm-80gb", 0, folder);
  ASSERT_TRUE(gpus.isOk());
  EXPECT_EQ(gpus->unknownProcessBytes(), (std::vector<std::string>{"context_bytes", "library_bytes"}));
  EXPECT_EQ(gpus->processBytes(), 0u);
  FitResult result;
  result.gpus = *gpus;
  EXPECT_NE(
      result.toText().find("\nthe limit is without context_bytes and library_bytes: the machine file does not have "
                           "them\n"),
      std::string::npos)
      << result.toText();
  EXPECT_EQ(result.toJson()["gpus"]["unknown"].size(), 2u);
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
  EXPECT_EQ(parseAssertion("mfu<=1")->bound, 1);
  for (const char *text :
       {"", "peak", "peak<=", "peak==1GiB", "step<1", "mfu<-1%", "mfu<=40", "speed>1", "tokens_per_s>1s"})
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

std::vector<FitSetting> settingsFor(FitFramework framework, const std::string &set, Status *status = nullptr) {
  FitRequest request;
  request.framework = framework;
  request.settings = {set};
  Gpus gpus;
  gpus.world = 2;
  gpus.hostDevices = 2;
  Result<std::vector<FitSetting>> settings = settingsOf(request, gpus, false);
  if (status)
    *status = settings.status();
  return settings.isOk() ? *settings : std::vector<FitSetting>();
}

TEST(Settings, KeysOfSetAreRecognizedInEachForm) {
  for (const char *set : {"recompute.policy=block", "recompute.policy = \"block\""}) {
    const std::vector<FitSetting> settings = settingsFor(FitFramework::sluice, set);
    ASSERT_EQ(settings.size(), 1u) << set;
    EXPECT_EQ(settings[0].recompute, "") << set;
  }
  const std::vector<FitSetting> mesh = settingsFor(FitFramework::sluice, "mesh.replicate = 2");
  ASSERT_EQ(mesh.size(), 3u);
  EXPECT_EQ(mesh[0].mesh.text(), "replicate=2");
}

TEST(Settings, CallsOfPyTorchHaveAllKeys) {
  for (const char *set : {"recompute.policy=block", "recompute.save=[\"attention\"]", "precision.compute=bf16",
                          "memory.offload=[\"parameters\"]", "precision.reduce=bf16", "gradient.clip_norm=1.0",
                          "sharding.reshard_after_forward=false", "mesh.tensor=2", "optimizer.in_backward=true"}) {
    Status status;
    settingsFor(FitFramework::pytorch, set, &status);
    EXPECT_EQ(status.code(), StatusCode::usage) << set;
    EXPECT_NE(status.message().find(" cannot be combined with --for pytorch"), std::string::npos) << status.message();
  }
  EXPECT_EQ(settingsFor(FitFramework::pytorch, "optimizer.name=sgd").size(), 3u);
  EXPECT_EQ(settingsFor(FitFramework::pytorch, "mesh.replicate=2").size(), 3u);
}

TEST(Settings, MeshesOfExpertsAreRefused) {
  Status status;
  settingsFor(FitFramework::sluice, "mesh.expert=2", &status);
  EXPECT_EQ(status.message(), "--set mesh.expert, expected 1 but got 2");
  EXPECT_EQ(status.code(), StatusCode::usage);
  Recipe carried;
  ASSERT_TRUE(carried.addSetting("mesh.expert=2").isOk());
  EXPECT_EQ(checkModelRecipe({}, carried).code(), StatusCode::input);
}

TEST(Settings, RecipesHaveAllAxesAndTheUsersKeys) {
  FitSetting setting = {{1, 1, 2}, 1, "none", "none", "bf16"};
  const std::vector<std::string> recipe = setting.recipe({});
  for (const char *own : {"mesh.replicate=1", "mesh.shard=1", "mesh.tensor=2", "sharding.tensor=megatron"})
    EXPECT_EQ(std::ranges::count(recipe, own), 1) << own;
  Recipe given;
  ASSERT_TRUE(given.addSetting("sharding.tensor=[]").isOk());
  EXPECT_EQ(std::ranges::count(setting.recipe(given), "sharding.tensor=megatron"), 0);
}

TEST(Result, BestIsFastThenRoomyThenSmall) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 1, 95, 1000), rowOf("selective", 2, 80, 990), rowOf("block", 1, 30, 500)};
  result.chooseBest();
  using Roles = std::vector<std::string>;
  ASSERT_EQ(positions(result), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(result.best[0].roles, Roles{"fastest"});
  EXPECT_EQ(result.best[1].roles, Roles{"headroom"});
  EXPECT_EQ(result.best[2].roles, Roles{"smallest"});
  result.assertions = {*parseAssertion("peak<=50B")};
  result.chooseBest();
  EXPECT_EQ(positions(result), (std::vector<std::size_t>{2}));
  EXPECT_EQ(result.best[0].roles, (Roles{"fastest", "headroom", "smallest"}));
  EXPECT_EQ(result.toJson()["rows"][2]["roles"].size(), 3u);
  EXPECT_NE(result.toText().find("fastest, headroom, smallest  shard=8"), std::string::npos) << result.toText();
  EXPECT_TRUE(result.status().isOk());
  result.assertions = {*parseAssertion("peak<=10B")};
  result.chooseBest();
  EXPECT_EQ(result.status().code(), StatusCode::budget);
}

TEST(Result, MissingTimesHaveTheirReason) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 1, 50, 0)};
  result.assertions = {*parseAssertion("step<1s")};
  EXPECT_EQ(result.status().notes(), std::vector<std::string>{"no row that fits has a value of 'step'"});
  result.rows[0].timeStatus = Status(StatusCode::input, "more ranks than devices");
  EXPECT_EQ(result.status().notes(),
            std::vector<std::string>{"no row that fits has a value of 'step': more ranks than devices"});
  EXPECT_EQ(result.toJson()["rows"][0]["time_error"], "more ranks than devices");
  EXPECT_NE(result.toText().find("no time: mesh shard=8, 1 row, "), std::string::npos);
  result.unknown = {"launch_seconds"};
  EXPECT_EQ(result.status().notes(),
            std::vector<std::string>{"no row that fits has a value of 'step': the machine file has no launch_seconds"});
}

TEST(Result, RowsThatTheModelDoesNotStateAreNoNumber) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 0, 50, 0)};
  EXPECT_EQ(result.rows[0].setting.text(), "mesh shard=8, recompute none, offload none, precision bf16");
  EXPECT_TRUE(result.toJson()["rows"][0]["rows"].is_null());
  EXPECT_NE(result.toText().find("shard=8  -     none"), std::string::npos) << result.toText();
}

TEST(Result, WithoutTimesTheFirstSettingWithMostRows) {
  FitResult result;
  result.limit = 100;
  result.rows = {rowOf("none", 1, 50, 0), rowOf("none", 2, 70, 0), rowOf("block", 8, 70, 0)};
  result.chooseBest();
  EXPECT_EQ(positions(result), (std::vector<std::size_t>{1, 0}));
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
