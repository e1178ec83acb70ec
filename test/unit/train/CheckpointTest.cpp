//===- CheckpointTest.cpp - one file, shards, and wrong indices --------------------===//
#include "runtime/train/Checkpoint.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

SafetensorsTensor tensor(const std::string &name, float value) {
  return {name, "F32", {2}, [value](const SafetensorsTensor::Sink &sink) {
            std::vector<float> values = {value, value + 0.5f};
            return sink(std::as_bytes(std::span(values)));
          }};
}

class CheckpointFiles : public ::testing::Test {
protected:
  TemporaryFolder folder;
  const std::string index = "model.safetensors.index.json";

  void SetUp() override {
    ASSERT_TRUE(writeSafetensors(folder.path("one"), {tensor("a", 1), tensor("b", 2)}).isOk());
    ASSERT_TRUE(writeSafetensors(folder.path("two"), {tensor("c", 3)}).isOk());
  }
  void refuses(const std::string &text, const std::string &message) {
    folder.write(index, text);
    expectError(Checkpoint::open(folder.path("")).status(), StatusCode::refused, message);
  }
};

TEST_F(CheckpointFiles, ShardsAreOneList) {
  folder.write(index, R"({"metadata": {}, "weight_map": {"a": "one", "b": "one", "c": "two"}})");
  Result<Checkpoint> opened = Checkpoint::open(folder.path(index));
  ASSERT_TRUE(opened.isOk()) << opened.status().message();
  ASSERT_EQ(opened->tensors().size(), 3u);
  std::vector<std::byte> room;
  std::vector<float> values(1);
  const CheckpointTensor *found = opened->find("c");
  ASSERT_NE(found, nullptr);
  ASSERT_TRUE(found->readAs(1, std::span(values), room).isOk());
  EXPECT_EQ(values[0], 3.5f);
  EXPECT_EQ(opened->find("d"), nullptr);
}

TEST_F(CheckpointFiles, WrongIndicesAreRefused) {
  refuses("[]", "index is not a JSON object with 'weight_map'");
  refuses("{", "index is not a JSON object with 'weight_map'");
  refuses(R"({"weight_map": {"a": "one", "a": "one"}})", "index has key 'a' twice");
  refuses(R"({"weight_map": {"a": "three"}})", "shard 'three' is missing in the folder of the index");
  refuses(R"({"weight_map": {"a": "../one"}})", "expected the name of a file in the folder of the index but got");
  refuses(R"({"weight_map": {"a": 3}})", "expected the name of a file in the folder of the index but got 3");
  refuses(R"({"weight_map": {"a": "two"}})", "tensor 'a' is missing in its shard 'two'");
}

// Nothing is read of an index that is too long for one: the file is a hole.
TEST_F(CheckpointFiles, IndexThatIsTooLong) {
  folder.write(index, "{}");
  std::filesystem::resize_file(folder.path(index), 100'000'001);
  expectError(Checkpoint::open(folder.path("")).status(), StatusCode::refused,
              ", expected at most 100000000 bytes but got 100000001");
}

TEST_F(CheckpointFiles, TensorInTwoShardsIsRefused) {
  ASSERT_TRUE(writeSafetensors(folder.path("two"), {tensor("a", 3), tensor("c", 3)}).isOk());
  refuses(R"({"weight_map": {"a": "one", "c": "two"}})", "tensor 'a' is in two shards,");
}

TEST_F(CheckpointFiles, FolderWithoutACheckpoint) {
  TemporaryFolder other;
  expectError(Checkpoint::open(other.path("")).status(), StatusCode::input,
              "checkpoint folder has neither model.safetensors nor model.safetensors.index.json");
}

TEST_F(CheckpointFiles, LargeCheckpointsAreWrittenInShards) {
  TemporaryFolder out;
  std::string path = out.path("");
  ASSERT_TRUE(writeCheckpoint(path, {tensor("c", 3), tensor("a", 1), tensor("b", 2)}, 16).isOk());
  EXPECT_EQ(contentOf(out.path("model.safetensors.index.json")),
            "{\n  \"metadata\": {\n    \"total_size\": 24\n  },\n  \"weight_map\": {\n"
            "    \"a\": \"model-00001-of-00002.safetensors\",\n    \"b\": \"model-00002-of-00002.safetensors\",\n"
            "    \"c\": \"model-00001-of-00002.safetensors\"\n  }\n}\n");
  Result<Checkpoint> opened = Checkpoint::open(path);
  ASSERT_TRUE(opened.isOk()) << opened.status().message();
  EXPECT_EQ(opened->tensors().size(), 3u);
  // One file takes the index's place.
  ASSERT_TRUE(writeCheckpoint(path, {tensor("a", 1)}).isOk());
  opened = Checkpoint::open(path);
  ASSERT_TRUE(opened.isOk()) << opened.status().message();
  EXPECT_EQ(opened->tensors().size(), 1u);
}

} // namespace
