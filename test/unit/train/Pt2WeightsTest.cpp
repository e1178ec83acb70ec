//===- Pt2WeightsTest.cpp - weights in archives of torch.export --------------------===//
#include "runtime/train/Pt2Weights.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Weights.h"
#include "test/unit/ZipBuilder.h"
#include "test/unit/train/Fixture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A tensor of the list, as JSON.
struct Given {
  std::string name;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  std::string storage = "weight_0";
  int dtype = 7;
  std::string role = "true", pickled = "false";
  int layout = 7;

  std::string json() const {
    const auto integers = [](const std::vector<std::int64_t> &values) {
      std::vector<std::string> texts;
      for (std::int64_t value : values)
        texts.push_back(fmt::format(R"({{"as_int": {}}})", value));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    };
    return fmt::format(R"("{}": {{"path_name": "{}", "is_param": {}, "use_pickle": {}, "tensor_meta": )"
                       R"({{"dtype": {}, "sizes": {}, "strides": {}, "storage_offset": {{"as_int": {}}}, )"
                       R"("layout": {}}}}})",
                       name, storage, role, pickled, dtype, integers(sizes), integers(strides), offset, layout);
  }
};

class Pt2Files : public ::testing::Test {
protected:
  TemporaryFolder folder;
  const std::string program = "m/models/model.json", config = "m/data/weights/model_weights_config.json";

  std::string listOf(const std::vector<Given> &given) {
    std::vector<std::string> texts;
    for (const Given &each : given)
      texts.push_back(each.json());
    return fmt::format(R"({{"config": {{{}}}}})", fmt::join(texts, ", "));
  }
  /// An archive with storages of the floats 0 to 11, of 100 and 101, and of none.
  std::string write(const std::string &list, const std::string &name = "m.pt2") {
    return folder.write(name, archiveOf({{program, "{}"},
                                         {"m/byteorder", "little"},
                                         {config, list},
                                         {"m/data/weights/weight_0", bytesOf(iota(12, 0))},
                                         {"m/data/weights/weight_1", bytesOf(iota(2, 100))},
                                         {"m/data/weights/weight_2", ""}}));
  }
  std::string write(const std::vector<Given> &given) { return write(listOf(given)); }

  std::vector<float> valuesOf(const Checkpoint &file, const std::string &name, std::uint64_t first = 0,
                              std::uint64_t count = UINT64_MAX) {
    const CheckpointTensor *tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    if (!tensor)
      return {};
    std::vector<float> values(std::min(count, tensor->elements() - first));
    std::vector<std::byte> room;
    const Status status = tensor->readAs(first, std::span(values), room);
    EXPECT_TRUE(status.isOk()) << status.message();
    return values;
  }
  void refuses(const std::string &path, bool isDamage, const std::string &text) {
    const Status status = Checkpoint::open(path).status();
    expectError(status, StatusCode::refused, text);
    EXPECT_EQ(status.isDamage(), isDamage) << status.message();
  }
  /// An archive with one parameter.
  void refusesTensor(const Given &given, bool isDamage, const std::string &text) {
    refuses(write({given}), isDamage, text);
  }
};

using Values = std::vector<float>;

TEST_F(Pt2Files, TensorsAreReadInRowMajorOrder) {
  const Result<Checkpoint> file = Checkpoint::open(write({{"dense", {3, 4}, {4, 1}},
                                                          {"transposed", {4, 3}, {1, 4}},
                                                          {"offset", {2, 3}, {3, 1}, 6},
                                                          {"gaps", {2, 2}, {6, 2}, 1},
                                                          {"expanded", {2, 2}, {0, 1}, 10},
                                                          {"single", {1, 2, 1}, {99, 1, 7}, 3},
                                                          {"scalar", {}, {}, 11},
                                                          {"empty", {0, 5}, {5, 1}, 0, "weight_2"},
                                                          {"other", {2}, {1}, 0, "weight_1"}}));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  EXPECT_TRUE(file->isArchive());
  EXPECT_EQ(file->tensors().size(), 9u);
  EXPECT_EQ(valuesOf(*file, "dense"), iota(12, 0));
  EXPECT_EQ(valuesOf(*file, "dense", 5, 2), (Values{5, 6}));
  EXPECT_EQ(valuesOf(*file, "transposed"), (Values{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  // Ranges that begin and end within a row, and another tensor between them.
  EXPECT_EQ(valuesOf(*file, "transposed", 2, 5), (Values{8, 1, 5, 9, 2}));
  EXPECT_EQ(valuesOf(*file, "gaps"), (Values{1, 3, 7, 9}));
  EXPECT_EQ(valuesOf(*file, "transposed", 11), (Values{11}));
  EXPECT_EQ(valuesOf(*file, "transposed", 12), Values{});
  EXPECT_EQ(valuesOf(*file, "offset"), iota(6, 6));
  EXPECT_EQ(valuesOf(*file, "expanded"), (Values{10, 11, 10, 11}));
  EXPECT_EQ(valuesOf(*file, "single"), (Values{3, 4}));
  EXPECT_EQ(valuesOf(*file, "scalar"), Values{11});
  EXPECT_EQ(valuesOf(*file, "empty"), Values{});
  EXPECT_EQ(valuesOf(*file, "other"), (Values{100, 101}));
  std::vector<float> values(2);
  std::vector<std::byte> room;
  EXPECT_EQ(file->find("transposed")->readAs(11, std::span(values), room).code(), StatusCode::internal);
}

TEST_F(Pt2Files, AnyNameAndOtherTypes) {
  const std::string list = listOf({{"half", {2, 2}, {1, 2}, 0, "weight_1", 13}, {"wide", {1}, {1}, 1, "weight_0", 8}});
  const Result<Checkpoint> file = Checkpoint::open(write(list, "weights"));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  EXPECT_EQ(file->find("half")->entry->dtype, "BF16");
  // 100 and 101 are 0x42c80000 and 0x42ca0000.
  EXPECT_EQ(valuesOf(*file, "half"), (Values{0, 0, 100, 101}));
  EXPECT_EQ(file->find("wide")->entry->dtype, "F64");
}

TEST_F(Pt2Files, ShardsTiesAndBuffers) {
  PlanBuilder builder({{"shard", 2}});
  builder.parameter("w", {4, 3}, 0, {0}).aliases = {"head"};
  builder.parameter("b", {2});
  FakeRanks ranks(std::move(builder.plan));
  std::vector<Given> given = {{"w", {4, 3}, {1, 4}},
                              {"head", {4, 3}, {1, 4}},
                              {"b", {2}, {1}, 0, "weight_1"},
                              {"mask", {3, 3}, {3, 1}, 0, "weight_0", 7, "false"},
                              {"pickled", {3}, {1}, 0, "weight_0", 7, "false", "true"},
                              {"complex", {1}, {1}, 0, "weight_0", 10, "false"},
                              {"sparse", {1}, {1}, 0, "weight_0", 7, "false", "false", 0},
                              {"absent", {1}, {1}, 0, "weight_9", 7, "false"}};
  const Result<std::vector<DType>> loaded = loadWeights(ranks, write(given));
  ASSERT_TRUE(loaded.isOk()) << loaded.status().message();
  EXPECT_EQ(*loaded, (std::vector<DType>{DType::f32, DType::f32}));
  EXPECT_EQ(ranks.values<float>(0, 0), (Values{0, 4, 8, 1, 5, 9}));
  EXPECT_EQ(ranks.values<float>(1, 0), (Values{2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(ranks.values<float>(1, 1), (Values{100, 101}));
  given[1].strides = {3, 1};
  expectError(loadWeights(ranks, write(given)).status(), StatusCode::refused,
              "tensors 'w' and 'head' are one parameter of this plan, expected equal values");
  given[1] = {"unused", {1}, {1}};
  const Status status = loadWeights(ranks, write(given)).status();
  expectError(status, StatusCode::refused, "tensor 'unused' is extra, expected only the plan's parameters");
  ASSERT_EQ(status.notes().size(), 1u);
  EXPECT_NE(status.notes()[0].find("sluice-import export --weights FILE"), std::string::npos);
}

// State of a plan that is no parameter is a buffer of the module.
TEST_F(Pt2Files, BufferThatIsState) {
  PlanBuilder builder({{"shard", 1}});
  builder.parameter("b", {2});
  auto variable = std::make_unique<plan::VariableT>();
  variable->name = "mean";
  variable->buffer = builder.buffer(12);
  builder.plan.buffers[variable->buffer]->shape = {3};
  builder.plan.buffers[variable->buffer]->dtype = plan::DType::f32;
  builder.plan.variables.push_back(std::move(variable));
  FakeRanks ranks(std::move(builder.plan));
  std::vector<Given> given = {{"b", {2}, {1}, 0, "weight_1"}, {"mean", {3}, {4}, 1, "weight_0", 7, "false"}};
  const Status status = loadWeights(ranks, write(given)).status();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(ranks.values<float>(0, 1), (Values{1, 5, 9}));
  given[1].pickled = "true";
  expectError(loadWeights(ranks, write(given)).status(), StatusCode::refused, "tensor 'mean' is missing");
}

TEST_F(Pt2Files, OnlyTheRangesOfTheRankAreRead) {
  if (bytesRead() == 0)
    GTEST_SKIP() << "this system does not count what a process reads";
  constexpr std::int64_t rows = 1024, columns = 512;
  PlanBuilder builder({{"shard", 8}});
  builder.parameter("w", {rows, columns}, 0, {0});
  OneRank ranks(std::move(builder.plan));
  const std::string path =
      folder.write("large", archiveOf({{program, "{}"},
                                       {"m/byteorder", "little"},
                                       {config, listOf({{"w", {rows, columns}, {columns, 1}}})},
                                       {"m/data/weights/weight_0", bytesOf(iota(rows * columns, 0))}}));
  const std::uint64_t before = bytesRead();
  const Status status = loadWeights(ranks, path).status();
  const std::uint64_t read = bytesRead() - before;
  ASSERT_TRUE(status.isOk()) << status.message();
  constexpr std::uint64_t share = rows * columns * 4 / 8;
  EXPECT_GE(read, share);
  // The end of the archive is searched for its directory.
  EXPECT_LE(read, share + (128 << 10)) << "more than the rank's share and the directory";
  EXPECT_EQ(ranks.values<float>(2, 0).front(), static_cast<float>(2 * rows / 8 * columns));
}

TEST_F(Pt2Files, TensorsThatAreRefused) {
  refusesTensor({"w", {2}, {1}, 0, "weight_0", 7, "true", "true"}, false, "tensor 'w' is pickled, and pickled tensors");
  refusesTensor({"w", {2}, {1}, 0, "weight_0", 7, "true", "false", 1}, false,
                "tensor 'w' is sparse, and sparse tensors");
  refusesTensor({"w", {1}, {1}, 0, "weight_0", 10}, false,
                "'w', expected a dtype such as F32 or BF16 but got complex64");
  for (int dtype : {-1, 0, 14, 30})
    refusesTensor({"w", {1}, {1}, 0, "weight_0", dtype}, false,
                  fmt::format("but got number {} of torch.export", dtype));
  refusesTensor({"w", {1}, {1}, 0, "weight_9"}, false, "tensor 'w' has no bytes in the archive");
  refusesTensor({"w", {1}, {1}, 0, "weight_2"}, false, "tensor 'w' has no bytes in the archive");
}

TEST_F(Pt2Files, RangesOutsideTheStorage) {
  constexpr std::int64_t large = std::int64_t(1) << 62;
  const std::string beyond = "tensor 'w' reaches beyond the 48 bytes of its storage";
  refusesTensor({"w", {13}, {1}}, true, beyond);
  refusesTensor({"w", {1}, {1}, 12}, true, beyond);
  refusesTensor({"w", {}, {}, large}, true, beyond);
  refusesTensor({"w", {3, 4}, {5, 1}}, true, beyond);
  refusesTensor({"w", {2, 2}, {large, large}}, true, beyond);
  refusesTensor({"w", {5}, {large}}, true, beyond);
  refusesTensor({"w", {large / 2}, {1}}, true,
                "'w', expected a size of less than 2^63 bytes but got shape [2305843009213693952]");
  refusesTensor({"w", {large, 4}, {0, 0}}, true, "expected a size of less than 2^63 bytes");
  // A buffer too: the list is wrong.
  refusesTensor({"w", {13}, {1}, 0, "weight_0", 7, "false"}, true, beyond);
}

TEST_F(Pt2Files, WrongLists) {
  const std::string needs = "tensor 'w' needs a dtype, a storage_offset, and as many sizes as strides of at least 0";
  refusesTensor({"w", {2}, {1, 1}}, true, needs);
  refusesTensor({"w", {-1}, {1}}, true, needs);
  refusesTensor({"w", {1}, {-1}}, true, needs);
  refusesTensor({"w", {1}, {1}, -1}, true, needs);
  refuses(write(R"({"config": {"w": {"path_name": "weight_0", "is_param": true, "tensor_meta": 3}}})"), true, needs);
  refuses(write(R"({"config": {"w": {"path_name": "weight_0", "is_param": true}}})"), false, "'w' is pickled");
  refuses(write(R"({"config": {"w": {"path_name": 3}}})"), true, "tensor 'w' has no path_name in its list");
  refuses(write(R"({"config": {"w": 3}})"), true, "tensor 'w' has no path_name in its list");
  for (const char *list : {"", "[]", "{}", R"({"config": []})"})
    refuses(write(list), true, "'m/data/weights/model_weights_config.json' is not a JSON object with 'config'");
  const std::string one = Given{"w", {1}, {1}}.json();
  refuses(write(fmt::format(R"({{"config": {{{}, {}}}}})", one, one)), true, "has the key 'w' twice");
}

TEST_F(Pt2Files, OtherArchives) {
  refuses(folder.write("a.pt2", "no archive"), true, "not a zip archive");
  refuses(folder.write("b", archiveOf({{"m/data.pkl", "x"}})), false,
          "zip archive, expected one entry 'models/model.json', as torch.export.save writes it, but got 0");
  refuses(folder.write("c", archiveOf({{program, "{}"}, {"n/models/model.json", "{}"}})), false, "but got 2");
  refuses(folder.write("d", archiveOf({{program, "{}"}, {"m/byteorder", "big"}})), false,
          "byte order, expected 'little' but got 'big'");
  refuses(folder.write("e", archiveOf({{program, "{}"}, {"m/byteorder", "little"}})), false,
          "archive without 'm/data/weights/model_weights_config.json'");
  std::string changed = contentOf(write({{"w", {1}, {1}}}));
  changed[changed.find("\"config\"") + 1] = 'k';
  refuses(folder.write("f", changed), true, "the checksum of 'm/data/weights/model_weights_config.json' is wrong");
}

} // namespace
