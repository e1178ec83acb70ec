//===- InputDataTest.cpp - data for models of any inputs -----------------------------===//
#include "runtime/train/InputData.h"
#include "test/unit/train/Fixture.h"

#include <cmath>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

class InputDataTest : public ::testing::Test {
protected:
  PlanBuilder builder{{{"shard", 1}}};
  std::vector<std::unique_ptr<plan::PortT>> held;
  std::vector<const plan::PortT *> ports;

  void add(const std::string &name, plan::DType dtype, std::vector<std::int64_t> shape, std::uint64_t limit = 0) {
    held.push_back(builder.port(name, dtype, std::move(shape), 0, limit));
    ports.push_back(held.back().get());
  }
  std::unique_ptr<InputData> open(const std::string &source) {
    Result<std::unique_ptr<InputData>> data = openInputData({source}, ports);
    EXPECT_TRUE(data.isOk()) << data.status().message();
    return data.isOk() ? std::move(*data) : nullptr;
  }
  void refuses(const std::vector<std::string> &sources, StatusCode code, const std::string &text) {
    Result<std::unique_ptr<InputData>> data = openInputData(sources, ports);
    ASSERT_FALSE(data.isOk()) << "accepted; wanted: " << text;
    expectError(data.status(), code, text);
  }
  /// One row of an i32 port 0 and an f32 port 1.
  std::pair<std::vector<std::int32_t>, std::vector<float>> read(InputData &data, std::uint64_t sample) {
    std::vector<std::int32_t> whole(rowElements(*ports[0]));
    std::vector<float> real(rowElements(*ports[1]));
    std::vector<std::span<std::byte>> rows{std::as_writable_bytes(std::span(whole)), std::as_writable_bytes(std::span(real))};
    EXPECT_TRUE(data.read(sample, rows).isOk());
    return {whole, real};
  }
};

TEST_F(InputDataTest, RandomDependsOnSeedPortAndSample) {
  add("labels", plan::DType::i32, {2, 1000}, 10);
  add("image", plan::DType::f32, {2, 100, 100});
  auto a = open("random:7"), b = open("random:7"), c = open("random:8");
  auto five = read(*a, 5);
  read(*b, 1);
  EXPECT_EQ(five, read(*b, 5));
  EXPECT_NE(five, read(*b, 6));
  EXPECT_NE(five, read(*c, 5));
  EXPECT_EQ(std::set<std::int32_t>(five.first.begin(), five.first.end()),
            (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  double sum = 0, squares = 0;
  for (float value : five.second) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 10000), 1, 0.03);
  add("image2", plan::DType::f32, {2, 100, 100});
  std::swap(ports[1], ports[2]);
  ports.pop_back();
  EXPECT_NE(read(*open("random:7"), 5).second, five.second) << "two ports share their numbers";
}

TEST_F(InputDataTest, TokensAlone) {
  TemporaryFolder folder;
  add("tokens", plan::DType::i32, {1, 3}, 256);
  auto data = open(folder.write("t", "abcdefg"));
  std::vector<std::int32_t> row(3);
  std::vector<std::span<std::byte>> rows{std::as_writable_bytes(std::span(row))};
  ASSERT_TRUE(data->read(1, rows).isOk());
  EXPECT_EQ(row, (std::vector<std::int32_t>{'d', 'e', 'f'}));
}

TEST_F(InputDataTest, Refusals) {
  add("tokens", plan::DType::i32, {2, 4});
  refuses({"random:x"}, StatusCode::input, "data 'random:x', expected random:SEED with a whole number");
  refuses({"random:1", "random:2"}, StatusCode::input, "expected it to stand alone but got 2 sources");
  refuses({"random:1"}, StatusCode::input, "input 'tokens' of the plan, expected an upper bound for random data");
  add("image", plan::DType::bf16, {2, 4});
  refuses({"text"}, StatusCode::input, "the model has an input 'image', expected only tokens and targets");
  held[0]->limit = 4;
  refuses({"random:1"}, StatusCode::input, "expected f32, f64, i32 or i64 for random data but got bf16");
  ports[1] = nullptr;
  ports.pop_back();
  add("targets", plan::DType::i64, {2, 4});
  refuses({"text"}, StatusCode::refused, "input 'targets' of the plan, expected i32 rows of one length but got i64");
  ports.pop_back();
  add("targets", plan::DType::i32, {3, 4});
  refuses({"text"}, StatusCode::input, "input 'targets' of the plan, expected 2 rows like input 'tokens'");
}

} // namespace
