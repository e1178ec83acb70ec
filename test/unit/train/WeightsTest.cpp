//===- WeightsTest.cpp - loading shards from full tensors, and saving them ---------===//
#include "runtime/train/Weights.h"
#include "runtime/train/Checkpoint.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  std::string dtype = "F32";
};

Status writeFile(const std::string &path, const std::vector<Given> &given) {
  std::vector<SafetensorsTensor> tensors;
  for (const Given &tensor : given)
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, [&](const SafetensorsTensor::Sink &sink) {
                         return sink(std::as_bytes(std::span(tensor.values)));
                       }});
  return writeSafetensors(path, std::move(tensors));
}

class Weights : public ::testing::Test {
protected:
  TemporaryFolder folder;

  /// 2 x 4 ranks: `h.0.w` in 3 rows over 4 shards, `h.0.attn.c` by columns over both axes, `b` replicated.
  FakeRanks ranks() {
    PlanBuilder builder({{"replicate", 2}, {"shard", 4}});
    builder.parameter("h.0.w", {3, 2}, 0, {1}).aliases = {"head"};
    builder.parameter("h.0.attn.c", {2, 10}, 1, {0, 1});
    builder.parameter("b", {3});
    builder.plan.config = "{\n  \"model_type\": \"gpt2\"\n}";
    return FakeRanks(std::move(builder.plan));
  }
  std::vector<Given> tensors(const std::string &prefix = "") {
    return {{prefix + "h.0.w", {3, 2}, iota(6, 1)},
            {prefix + "h.0.attn.c", {2, 10}, iota(20, 100)},
            {prefix + "b", {3}, iota(3, 7)}};
  }
  void refuses(const std::vector<Given> &given, const std::string &text) {
    ASSERT_TRUE(writeFile(folder.path("w"), given).isOk());
    FakeRanks fake = ranks();
    expectError(loadWeights(fake, folder.path("w")).status(), StatusCode::refused, text);
    EXPECT_EQ(fake.values<std::uint8_t>(0, 0)[0], 0xee) << "memory was touched";
  }
};

TEST_F(Weights, EachRankGetsItsRowsAndZeroPadding) {
  ASSERT_TRUE(writeFile(folder.path("w"), tensors()).isOk());
  FakeRanks fake = ranks();
  Status status = loadWeights(fake, folder.path("w")).status();
  ASSERT_TRUE(status.isOk()) << status.message();
  using Values = std::vector<float>;
  for (int rank = 0; rank < 8; ++rank) {
    float row = static_cast<float>(rank % 4);
    EXPECT_EQ(fake.values<float>(rank, 0), row < 3 ? (Values{1 + 2 * row, 2 + 2 * row}) : (Values{0, 0})) << rank;
    EXPECT_EQ(fake.values<float>(rank, 2), (Values{7, 8, 9}));
  }
  // 10 columns over 8 ranks are chunks of 2, so rank 5 and later ones have only padding.
  EXPECT_EQ(fake.values<float>(1, 1), (Values{102, 103, 112, 113}));
  EXPECT_EQ(fake.values<float>(4, 1), (Values{108, 109, 118, 119}));
  EXPECT_EQ(fake.values<float>(5, 1), (Values{0, 0, 0, 0}));
}

TEST_F(Weights, SaveRoundTrips) {
  ASSERT_TRUE(writeFile(folder.path("w"), tensors()).isOk());
  FakeRanks fake = ranks();
  ASSERT_TRUE(loadWeights(fake, folder.path("w")).isOk());
  Status status = saveWeights(fake, folder.path("deep/out"));
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(contentOf(folder.path("deep/out/model.safetensors")), contentOf(folder.path("w")));
  EXPECT_EQ(contentOf(folder.path("deep/out/config.json")), "{\n  \"model_type\": \"gpt2\"\n}\n");
  EXPECT_EQ(folder.files(), 5u) << "no other file";
  FakeRanks again = ranks();
  ASSERT_TRUE(loadWeights(again, folder.path("deep/out")).isOk());
  EXPECT_EQ(again.values<float>(2, 0), (std::vector<float>{5, 6}));
}

TEST_F(Weights, PrefixHeadAndOldBuffersAreAccepted) {
  std::vector<Given> given = tensors("transformer.");
  given.push_back({"head", {3, 2}, iota(6, 1)});
  given.push_back({"transformer.h.0.attn.bias", {1, 1, 2, 2}, iota(4, 0)});
  given.push_back({"transformer.h.11.attn.masked_bias", {}, iota(1, 0)});
  given.push_back({"transformer.h.1.attention.bias", {1, 1, 2, 2}, iota(4, 0)});
  given.push_back({"transformer.h.1.attention.masked_bias", {}, iota(1, 0)});
  given.push_back({"transformer.h.11.attn.rotary_emb.inv_freq", {3}, iota(3, 0)});
  given.push_back({"transformer.rotary_emb.inv_freq", {3}, iota(3, 0)});
  ASSERT_TRUE(writeFile(folder.path("w"), given).isOk());
  FakeRanks fake = ranks();
  Status status = loadWeights(fake, folder.path("w")).status();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(fake.values<float>(1, 0), (std::vector<float>{3, 4}));
}

TEST_F(Weights, CheckpointOfTheInnerModuleHasNoPrefix) {
  std::vector<Given> given = tensors();
  given[0].name = "0.w";
  given[1].name = "0.attn.c";
  ASSERT_TRUE(writeFile(folder.path("w"), given).isOk());
  FakeRanks fake = ranks();
  Status status = loadWeights(fake, folder.path("w")).status();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(fake.values<float>(1, 0), (std::vector<float>{3, 4}));
}

TEST_F(Weights, NarrowTypesAreWidened) {
  // 1.5 and -2 in bf16, then in f16; 0.1 in f64 is rounded.
  PlanBuilder builder({{"shard", 1}});
  builder.parameter("a", {2});
  builder.parameter("b", {2});
  builder.parameter("c", {1});
  FakeRanks fake(std::move(builder.plan));
  std::vector<std::uint16_t> bf16 = {0x3fc0, 0xc000}, f16 = {0x3e00, 0xc000};
  std::vector<double> f64 = {0.1};
  auto tensor = [](const std::string &name, const std::string &dtype, std::vector<std::int64_t> shape,
                   const auto &values) {
    return SafetensorsTensor{name, dtype, std::move(shape), [&values](const SafetensorsTensor::Sink &sink) {
                               return sink(std::as_bytes(std::span(values)));
                             }};
  };
  ASSERT_TRUE(writeSafetensors(folder.path("w"), {tensor("a", "BF16", {2}, bf16), tensor("b", "F16", {2}, f16),
                                                  tensor("c", "F64", {1}, f64)})
                  .isOk());
  Status status = loadWeights(fake, folder.path("w")).status();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(fake.values<float>(0, 0), (std::vector<float>{1.5f, -2.f}));
  EXPECT_EQ(fake.values<float>(0, 1), (std::vector<float>{1.5f, -2.f}));
  EXPECT_EQ(fake.values<float>(0, 2), (std::vector<float>{0.1f}));
}

TEST_F(Weights, SavedConfigHasTheSavedDType) {
  PlanBuilder builder({{"shard", 1}});
  builder.parameter("a", {2});
  builder.plan.config = "{\"model_type\": \"x\", \"dtype\": \"bfloat16\"}";
  FakeRanks fake(std::move(builder.plan));
  ASSERT_TRUE(saveWeights(fake, folder.path("out")).isOk());
  EXPECT_EQ(contentOf(folder.path("out/config.json")), "{\n  \"model_type\": \"x\",\n  \"dtype\": \"float32\"\n}\n");
}

/// The dtypes of the tensors of a saved checkpoint by name, in order of name.
std::vector<std::string> savedTypes(const std::string &path) {
  Result<Checkpoint> file = Checkpoint::open(path);
  EXPECT_TRUE(file.isOk()) << file.status().message();
  std::vector<std::string> dtypes;
  if (file.isOk())
    for (const CheckpointTensor &tensor : file->tensors())
      dtypes.push_back(tensor.entry->dtype);
  return dtypes;
}

TEST_F(Weights, SavedInTheDTypeOfTheCheckpoint) {
  PlanBuilder builder({{"shard", 2}});
  for (const char *name : {"a", "b", "c"})
    builder.parameter(name, {4}, 0, {0});
  builder.plan.config = "{\"model_type\": \"x\", \"dtype\": \"float32\"}";
  FakeRanks fake(std::move(builder.plan));
  std::vector<std::uint16_t> bf16 = {0x3fc0, 0xc000, 0x0001, 0x7f7f}, f16 = {0x3e00, 0xc000, 0x0001, 0x7bff};
  std::vector<float> f32 = {0.1f, 1e-40f, -3, 4};
  const auto tensor = [](const std::string &name, const std::string &dtype, const auto &values) {
    return SafetensorsTensor{name, dtype, {4}, [&values](const SafetensorsTensor::Sink &sink) {
                               return sink(std::as_bytes(std::span(values)));
                             }};
  };
  ASSERT_TRUE(
      writeSafetensors(folder.path("w"), {tensor("a", "BF16", bf16), tensor("b", "F16", f16), tensor("c", "F32", f32)})
          .isOk());
  Result<std::vector<DType>> loaded = loadWeights(fake, folder.path("w"));
  ASSERT_TRUE(loaded.isOk()) << loaded.status().message();
  EXPECT_EQ(*loaded, (std::vector<DType>{DType::bf16, DType::f16, DType::f32}));
  SaveOptions options;
  options.loaded = *loaded;
  ASSERT_TRUE(saveWeights(fake, folder.path("same"), options).isOk());
  EXPECT_EQ(contentOf(folder.path("same/model.safetensors")), contentOf(folder.path("w")));
  options.dtype = DType::f32;
  ASSERT_TRUE(saveWeights(fake, folder.path("wide"), options).isOk());
  EXPECT_EQ(savedTypes(folder.path("wide")), (std::vector<std::string>{"F32", "F32", "F32"}));
  EXPECT_EQ(contentOf(folder.path("wide/config.json")), "{\"model_type\": \"x\", \"dtype\": \"float32\"}\n");
  options.dtype = DType::bf16;
  ASSERT_TRUE(saveWeights(fake, folder.path("narrow"), options).isOk());
  EXPECT_EQ(savedTypes(folder.path("narrow")), (std::vector<std::string>{"BF16", "BF16", "BF16"}));
  EXPECT_EQ(contentOf(folder.path("narrow/config.json")),
            "{\n  \"model_type\": \"x\",\n  \"dtype\": \"bfloat16\"\n}\n");
  // Without a checkpoint a parameter is saved as it is kept.
  ASSERT_TRUE(saveWeights(fake, folder.path("kept")).isOk());
  EXPECT_EQ(savedTypes(folder.path("kept")), (std::vector<std::string>{"F32", "F32", "F32"}));
}

TEST_F(Weights, SavedBF16IsRoundedToNearestEven) {
  PlanBuilder builder({{"shard", 1}});
  builder.parameter("a", {6});
  FakeRanks fake(std::move(builder.plan));
  // Halfway between two numbers, to the even one; on both sides of the middle; the largest f32 becomes infinity.
  const std::vector<std::uint32_t> bits = {0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x7f7fffff, 0x80000000};
  ASSERT_TRUE(fake.write(0, 0, 0, std::as_bytes(std::span(bits))).isOk());
  SaveOptions options;
  options.dtype = DType::bf16;
  ASSERT_TRUE(saveWeights(fake, folder.path("out"), options).isOk());
  const std::vector<std::uint16_t> expected = {0x3f80, 0x3f82, 0x3f80, 0x3f81, 0x7f80, 0x8000};
  EXPECT_TRUE(contentOf(folder.path("out/model.safetensors")).ends_with(bytesOf(expected)));
}

// Only a dtype that is asked for rounds parameters that are kept in f64.
TEST_F(Weights, F64IsKept) {
  PlanBuilder builder({{"shard", 1}});
  builder.parameter("a", {2});
  builder.plan.parameters[0]->dtype = plan::DType::f64;
  builder.plan.buffers[0]->bytes = 16;
  FakeRanks fake(std::move(builder.plan));
  SaveOptions options;
  options.loaded = {DType::bf16};
  ASSERT_TRUE(saveWeights(fake, folder.path("out"), options).isOk());
  EXPECT_EQ(savedTypes(folder.path("out")), std::vector<std::string>{"F64"});
  options.dtype = DType::f32;
  ASSERT_TRUE(saveWeights(fake, folder.path("out"), options).isOk());
  EXPECT_EQ(savedTypes(folder.path("out")), std::vector<std::string>{"F32"});
}

TEST_F(Weights, SavedInShards) {
  ASSERT_TRUE(writeFile(folder.path("w"), tensors()).isOk());
  FakeRanks fake = ranks();
  ASSERT_TRUE(loadWeights(fake, folder.path("w")).isOk());
  SaveOptions options;
  options.shardBytes = 100;
  ASSERT_TRUE(saveWeights(fake, folder.path("out"), options).isOk());
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/model-00002-of-00002.safetensors")));
  FakeRanks again = ranks();
  ASSERT_TRUE(loadWeights(again, folder.path("out")).isOk());
  EXPECT_EQ(again.values<float>(1, 1), fake.values<float>(1, 1));
}

TEST_F(Weights, Refusals) {
  std::vector<Given> given = tensors();
  given.pop_back();
  refuses(given, "tensor 'b' is missing, expected F32 [3]");
  given = tensors();
  given.push_back({"extra", {1}, {0}});
  refuses(given, "tensor 'extra' is extra, expected only the plan's parameters");
  given = tensors();
  given.push_back({"x.attn.bias", {1}, {0}});
  refuses(given, "tensor 'x.attn.bias' is extra");
  // Named like buffers, but without the shape of masks and frequencies: parameters of a different model.
  for (auto [name, shape] : {std::pair<const char *, std::vector<std::int64_t>>("h.0.attn.bias", {4}),
                             {"h.0.attn.bias", {1, 1, 2, 3}},
                             {"h.0.attn.masked_bias", {2}},
                             {"h.0.rotary_emb.inv_freq", {2, 2}}}) {
    given = tensors();
    std::size_t elements = 1;
    for (std::int64_t extent : shape)
      elements *= static_cast<std::size_t>(extent);
    given.push_back({name, shape, std::vector<float>(elements)});
    refuses(given, std::string("tensor '") + name + "' is extra, expected only the plan's parameters");
  }
  given = tensors();
  given[0].shape = {2, 3};
  refuses(given, "tensor 'h.0.w', expected shape [3, 2] but got [2, 3]");
  given = tensors();
  given[2].dtype = "I32";
  refuses(given, "tensor 'b', expected dtype F32, BF16, F16 or F64 but got I32");
  given = tensors();
  given.push_back({"head", {3, 2}, iota(6, 2)});
  refuses(given, "tensors 'h.0.w' and 'head' are one parameter of this plan, expected equal values");
  given = tensors();
  given.push_back({"head", {6}, iota(6, 1)});
  refuses(given, "tensor 'head', expected shape [3, 2] but got [6]");
}

// State that is no parameter is in the file too, one for each rank or one for all.
TEST_F(Weights, MissingState) {
  PlanBuilder builder({{"shard", 2}});
  builder.parameter("b", {3});
  auto variable = std::make_unique<plan::VariableT>();
  variable->name = "seen";
  variable->buffer = builder.buffer(4);
  builder.plan.buffers[variable->buffer]->shape = {1};
  builder.plan.buffers[variable->buffer]->dtype = plan::DType::f32;
  builder.plan.variables.push_back(std::move(variable));
  FakeRanks fake(std::move(builder.plan));
  ASSERT_TRUE(writeFile(folder.path("w"), {{"b", {3}, iota(3, 7)}}).isOk());
  expectError(loadWeights(fake, folder.path("w")).status(), StatusCode::refused,
              "tensor 'seen' is missing, expected it, or 'rank0.seen', with F32 [1]");
  ASSERT_TRUE(writeFile(folder.path("w"), {{"b", {3}, iota(3, 7)}, {"seen", {1}, {2}}}).isOk());
  EXPECT_TRUE(loadWeights(fake, folder.path("w")).isOk());
}

// Rows, columns, and a replicated tensor: each process reads only the part of its rank.
TEST_F(Weights, OnlyTheRangesOfTheRankAreRead) {
  if (bytesRead() == 0)
    GTEST_SKIP() << "this system does not count what a process reads";
  constexpr std::int64_t rows = 1024, columns = 2048;
  PlanBuilder builder({{"shard", 8}});
  builder.parameter("rows", {rows, columns}, 0, {0}).aliases = {"head"};
  builder.parameter("columns", {rows, columns}, 1, {0});
  builder.parameter("whole", {columns});
  OneRank ranks(std::move(builder.plan));
  std::vector<float> values = iota(rows * columns, 0), row = iota(columns, 0);
  ASSERT_TRUE(
      writeFile(folder.path("w"),
                {{"rows", {rows, columns}, values}, {"columns", {rows, columns}, values}, {"whole", {columns}, row}})
          .isOk());
  std::uint64_t before = bytesRead();
  Status status = loadWeights(ranks, folder.path("w")).status();
  std::uint64_t read = bytesRead() - before;
  ASSERT_TRUE(status.isOk()) << status.message();
  constexpr std::uint64_t share = 2 * rows * columns * 4 / 8 + columns * 4;
  EXPECT_GE(read, share);
  EXPECT_LE(read, share + (16 << 10)) << "more than the rank's share and the header";
  // Under two names the second is compared with the first, here too only the part of the rank.
  values.front() += 1;
  std::vector<float> head = iota(rows * columns, 0);
  std::vector<Given> tied = {{"rows", {rows, columns}, values},
                             {"head", {rows, columns}, head},
                             {"columns", {rows, columns}, values},
                             {"whole", {columns}, row}};
  ASSERT_TRUE(writeFile(folder.path("tied"), tied).isOk());
  before = bytesRead();
  status = loadWeights(ranks, folder.path("tied")).status();
  read = bytesRead() - before;
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_LE(read, 2 * share + (16 << 10)) << "more than the rank's share, its share of both names, and the header";
  tied[1].values[(3 * rows / 8 - 1) * columns] += 1;
  ASSERT_TRUE(writeFile(folder.path("tied"), tied).isOk());
  expectError(loadWeights(ranks, folder.path("tied")).status(), StatusCode::refused,
              "'rows' and 'head' are one parameter of this plan");
  EXPECT_EQ(ranks.values<float>(2, 0).front(), static_cast<float>(2 * rows / 8 * columns));
  EXPECT_EQ(ranks.values<float>(2, 1).front(), static_cast<float>(2 * columns / 8));
}

TEST_F(Weights, MissingFileAndUnwritableFolder) {
  FakeRanks fake = ranks();
  expectError(loadWeights(fake, folder.path("none")).status(), StatusCode::input, "cannot read");
  folder.write("file", "x");
  expectError(saveWeights(fake, folder.path("file")), StatusCode::input, "cannot write");
  expectError(saveWeights(fake, "/proc/sluice"), StatusCode::input, "cannot write '/proc/sluice'");
}

} // namespace
