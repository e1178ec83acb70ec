//===- DamageTest.cpp - a damaged checkpoint is refused --------------------------------===//
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/RunCheckpoints.h"
#include "test/unit/checkpoint/Fixture.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

class Damage : public ::testing::Test {
protected:
  TemporaryFolder folder;
  std::string path;

  void SetUp() override { path = save(Layout::rows, 1); }
  std::string save(Layout layout, int step) {
    FakeRanks ranks = filledRanks(layout, step);
    EXPECT_TRUE(saveNow(ranks, folder.path("."), stateOf(ranks, static_cast<std::uint64_t>(step))).isOk());
    return stepPath(folder.path("."), static_cast<std::uint64_t>(step));
  }
  Status read() const {
    Result<CheckpointReader> reader = CheckpointReader::open(path);
    return reader.isOk() ? reader->verify() : reader.takeStatus();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    for (const auto &each : fs::directory_iterator(path))
      paths.push_back(each.path().string());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  static void write(const std::string &file, const std::string &bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::string file(const std::string &name) const { return path + "/" + name; }
  /// Writes a changed index with the digest of its bytes.
  void changeIndex(const std::function<void(CheckpointIndex &)> &change) {
    const std::string name = file(std::string(checkpointIndexName));
    Result<CheckpointIndex> index = parseIndex(name, contentOf(name));
    ASSERT_TRUE(index.isOk());
    change(*index);
    write(name, formatIndex(*index));
  }
};

// Tests that no byte can change: a bit of each byte of each file, and each file cut off at each byte.
TEST_F(Damage, OfAnyByteIsRefused) {
  path = save(Layout::columns, 2);
  ASSERT_TRUE(read().isOk());
  std::size_t count = 0;
  for (const std::string &name : files()) {
    const std::string good = contentOf(name);
    std::fstream stream(name, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::size_t at, char value) {
      stream.seekp(static_cast<std::streamoff>(at)).put(value).flush();
    };
    for (std::size_t i = 0; i < good.size(); ++i) {
      put(i, static_cast<char>(good[i] ^ (1 << (i % 8))));
      const Status status = read();
      ASSERT_EQ(static_cast<int>(status.code()), static_cast<int>(StatusCode::refused)) << name << " byte " << i;
      ASSERT_NE(status.message().find(name), std::string::npos) << status.message();
      put(i, good[i]);
    }
    ASSERT_TRUE(read().isOk());
    for (std::size_t length = good.size(); length-- > 0;) {
      fs::resize_file(name, length);
      ASSERT_EQ(static_cast<int>(read().code()), static_cast<int>(StatusCode::refused)) << name << " cut at " << length;
    }
    write(name, good);
    count += good.size();
  }
  ASSERT_TRUE(read().isOk());
  EXPECT_GT(count, 5000u);
}

// Tests the load of a run: whichever byte of the newest checkpoint was changed, the run has the values of the one
// before.
TEST_F(Damage, OfAnyByteIsPassedOver) {
  path = save(Layout::columns, 2);
  const FakeRanks first = filledRanks(Layout::rows, 1), second = filledRanks(Layout::rows, 2);
  CheckpointOptions options;
  options.folder = folder.path(".");
  TrainOptions train;
  train.data = {"data"};
  /// The step from which a run of 4 ranks continues.
  const auto load = [&]() -> std::uint64_t {
    FakeRanks ranks(modelPlan(Layout::rows).plan);
    RunCheckpoints run(options, train);
    const Result<bool> opened = run.open(ranks);
    const Result<TrainProgress> loaded = opened.isOk() && *opened ? run.load(ranks) : opened.status();
    EXPECT_TRUE(loaded.isOk()) << loaded.status().message();
    if (!loaded.isOk())
      return 0;
    // Of two ranks, whose variables four ranks have.
    for (const PlanTensor &tensor : planTensors(ranks.plan()))
      for (int rank = 0; rank < (tensor.parameter ? 4 : 0); ++rank)
        EXPECT_EQ(ranks.values<float>(rank, tensor.buffer),
                  (loaded->step == 1 ? first : second).values<float>(rank, tensor.buffer));
    return loaded->step;
  };
  ASSERT_EQ(load(), 2u);
  for (const std::string &name : files()) {
    const std::string good = contentOf(name);
    // Every seventh byte, so that each bit of some is changed: OfAnyByteIsRefused reads as this load does.
    for (std::size_t i = 0; i < good.size(); i += 7) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      write(name, bad);
      ASSERT_EQ(load(), 1u) << name << " byte " << i;
      fs::rename(path + std::string(damagedSuffix), path);
      write(name, good);
    }
  }
  ASSERT_EQ(load(), 2u);
}

// Tests that the message of a changed tensor names it and its bytes.
TEST_F(Damage, NamesTheTensor) {
  const std::string shard = file("shard-00002-model-00001-of-00001.safetensors");
  std::string bytes = contentOf(shard);
  bytes.back() ^= 1;
  write(shard, bytes);
  expectError(read(), StatusCode::refused, shard + "': tensor 'rank1.norm.mean' at bytes ");
  bytes.back() ^= 1;
  bytes[20] ^= 1;
  write(shard, bytes);
  expectError(read(), StatusCode::refused, "outside of its tensors, digest of the file, expected ");
}

// Tests shards that are missing, too many, or from another step.
TEST_F(Damage, OfShardsIsRefused) {
  const std::string second = save(Layout::rows, 2), name = "shard-00001-model-00001-of-00001.safetensors";
  fs::copy_file(second + "/" + name, file(name), fs::copy_options::overwrite_existing);
  expectError(read(), StatusCode::refused, "tensor 'attn.fused' at bytes ");
  fs::remove(file(name));
  expectError(read(), StatusCode::refused, name + "' is missing");
  path = second;
  fs::copy_file(file(name), file("shard-00009-model-00001-of-00001.safetensors"));
  expectError(read(), StatusCode::refused, "' is not in the index of its checkpoint");
  fs::remove(file("shard-00009-model-00001-of-00001.safetensors"));
  ASSERT_TRUE(read().isOk());
  fs::resize_file(file(name), 100);
  expectError(read(), StatusCode::refused, ", expected ");
  path = save(Layout::rows, 3);
  fs::copy_file(second + "/state.json", file("state.json"), fs::copy_options::overwrite_existing);
  expectError(read(), StatusCode::refused, "bytes 0 to ");
}

// Tests that an index is written with its digest where it is read, whatever digests its files have.
TEST_F(Damage, OfNoFileIsLikeTheIndex) {
  changeIndex([](CheckpointIndex &index) { index.files[0].digest.assign(index.files[0].digest.size(), '0'); });
  const std::string name = file(std::string(checkpointIndexName));
  const Result<CheckpointIndex> index = parseIndex(name, contentOf(name));
  EXPECT_TRUE(index.isOk()) << index.status().message();
}

// Tests an index whose digest is right and whose content is not.
TEST_F(Damage, OfTheIndexIsRefused) {
  const std::string name = file(std::string(checkpointIndexName)), good = contentOf(name);
  changeIndex([](CheckpointIndex &index) { index.files[1].parts.clear(); });
  expectError(read(), StatusCode::refused, "the parts of tensor 'attn.fused' do not have each element of [6, 4] once");
  write(name, good);
  changeIndex([](CheckpointIndex &index) { index.files[0].parts[0].tensor = "unknown"; });
  expectError(read(), StatusCode::refused, "has a part of tensor 'unknown', which is not in the index");
  write(name, good);
  changeIndex([](CheckpointIndex &index) { index.files[0].parts[0].box.shape[0] += 1; });
  expectError(read(), StatusCode::refused, "bytes of tensor 'attn.fused', expected those of F32 [3, 4] but got 32");
  write(name, good);
  changeIndex([](CheckpointIndex &index) { index.files[0].name = "../outside"; });
  expectError(read(), StatusCode::refused, "' is not the index of a training checkpoint of version 1");
  write(name, good);
  changeIndex([](CheckpointIndex &index) { index.files.pop_back(); });
  expectError(read(), StatusCode::refused, "state.json' is not the state of a training checkpoint");
  write(name, good);
  std::string bad = good;
  bad.replace(bad.find("attn"), 4, "ATTN");
  write(name, bad);
  expectError(read(), StatusCode::refused, "digest of the index, expected ");
  write(name, "{}");
  expectError(read(), StatusCode::refused, "' is not the index of a training checkpoint of version 1");
  fs::resize_file(name, (std::uint64_t(1) << 30) + 1);
  expectError(read(), StatusCode::refused, ", expected at most 1073741824 bytes but got 1073741825");
}

// Tests a state whose digest is right and whose content is not.
TEST_F(Damage, OfTheStateIsRefused) {
  const auto good = nlohmann::json::parse(contentOf(file("state.json")));
  for (const auto &[key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    expectError(parseState("state.json", bad.dump()).status(), StatusCode::refused,
                "'state.json' is not the state of a training checkpoint of version 1");
    bad[key] = {{"nested", 1}};
    EXPECT_FALSE(parseState("state.json", bad.dump()).isOk()) << key;
  }
  EXPECT_FALSE(parseState("state.json", "[1]").isOk());
  for (const char *rows : {"7", "[-1]", "[\"7\"]"}) {
    nlohmann::json bad = good;
    bad["rows_read"] = nlohmann::json::parse(rows);
    EXPECT_FALSE(parseState("state.json", bad.dump()).isOk()) << rows;
  }
}

} // namespace
