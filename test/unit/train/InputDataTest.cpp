//===- InputDataTest.cpp - data for models of any inputs -----------------------------===//
#include "runtime/train/InputData.h"
#include "runtime/train/Safetensors.h"
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
    Result<std::unique_ptr<InputData>> data = openInputData({source}, {DataFormat::automatic, {}}, ports, 1);
    EXPECT_TRUE(data.isOk()) << data.status().message();
    return data.isOk() ? std::move(*data) : nullptr;
  }
  void refuses(const std::vector<std::string> &sources, StatusCode code, const std::string &text) {
    Result<std::unique_ptr<InputData>> data = openInputData(sources, {DataFormat::automatic, {}}, ports, 2);
    ASSERT_FALSE(data.isOk()) << "accepted; wanted: " << text;
    expectError(data.status(), code, text);
  }
  /// One row of an i32 port 0 and an f32 port 1.
  std::pair<std::vector<std::int32_t>, std::vector<float>> read(InputData &data, std::uint64_t sample) {
    std::vector<std::int32_t> whole(rowElements(*ports[0]));
    std::vector<float> real(rowElements(*ports[1]));
    std::vector<std::span<std::byte>> rows{std::as_writable_bytes(std::span(whole)),
                                           std::as_writable_bytes(std::span(real))};
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

TEST_F(InputDataTest, TokensOnly) {
  TemporaryFolder folder;
  add("tokens", plan::DType::i32, {1, 3}, 256);
  auto data = open(folder.write("t", "abcdefg"));
  std::vector<std::int32_t> row(3);
  std::vector<std::span<std::byte>> rows{std::as_writable_bytes(std::span(row))};
  ASSERT_TRUE(data->read(1, rows).isOk());
  EXPECT_EQ(row, (std::vector<std::int32_t>{'d', 'e', 'f'}));
}

class TensorDataTest : public InputDataTest {
protected:
  TemporaryFolder folder;

  template <typename T>
  static SafetensorsTensor tensor(std::string name, std::string dtype, std::vector<std::int64_t> shape,
                                  std::vector<T> values) {
    return {std::move(name), std::move(dtype), std::move(shape),
            [values](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(values))); }};
  }
  std::string write(const std::string &name, std::vector<SafetensorsTensor> tensors) {
    EXPECT_TRUE(writeSafetensors(folder.path(name), std::move(tensors)).isOk());
    return folder.path(name);
  }
};

TEST_F(TensorDataTest, SequencesByNameOverSeveralFiles) {
  add("labels", plan::DType::i32, {2}, 10);
  add("image", plan::DType::f32, {2, 2});
  // Integers of any width and floats of any precision; tensors of other names are ignored.
  write("b.safetensors",
        {tensor<std::int64_t>("labels", "I64", {1}, {9}), tensor<double>("image", "F64", {1, 2}, {5, 6})});
  write("a.safetensors",
        {tensor<std::int32_t>("labels", "I32", {2}, {7, -100}), tensor<float>("image", "F32", {2, 2}, {1, 2, 3, 4}),
         tensor<float>("other", "F32", {3}, {0, 0, 0})});
  auto data = open(folder.path("*.safetensors"));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples(), 3u);
  EXPECT_FALSE(data->isEndless());
  using Row = std::pair<std::vector<std::int32_t>, std::vector<float>>;
  EXPECT_EQ(read(*data, 0), Row({7}, {1, 2}));
  EXPECT_EQ(read(*data, 1), Row({-100}, {3, 4}));
  EXPECT_EQ(read(*data, 2), Row({9}, {5, 6}));
}

// With a declared format the name of a file does not matter.
TEST_F(TensorDataTest, DeclaredFormat) {
  add("tokens", plan::DType::i32, {1, 2}, 100);
  std::string path = write("rows", {tensor<std::int32_t>("tokens", "I32", {2, 2}, {1, 2, 3, 4})});
  auto data = openInputData({path}, {DataFormat::safetensors, {}}, ports, 1);
  ASSERT_TRUE(data.isOk()) << data.status().message();
  EXPECT_EQ((*data)->samples(), 2u);
  EXPECT_EQ((*data)->formats(), "safetensors");
  path = folder.write("ids.safetensors", bytesOf(std::vector<std::uint16_t>{1, 2, 3, 4, 5}));
  data = openInputData({path}, {DataFormat::u16, {}}, ports, 1);
  ASSERT_TRUE(data.isOk()) << data.status().message();
  EXPECT_EQ((*data)->formats(), "u16");
  expectError(openInputData({folder.write("ids", "abc")}, {DataFormat::safetensors, {}}, ports, 1).status(),
              StatusCode::refused, "is cut off, expected at least 8 bytes of safetensors but got 3");
}

TEST_F(TensorDataTest, Refusals) {
  add("labels", plan::DType::i32, {2}, 10);
  auto labels = [](std::vector<std::int32_t> values) {
    auto count = static_cast<std::int64_t>(values.size());
    return tensor<std::int32_t>("labels", "I32", {count}, std::move(values));
  };
  refuses({write("none.safetensors", {tensor<float>("x", "F32", {1}, {1})})}, StatusCode::input,
          "tensor for the input 'labels', expected one of that name but got x");
  refuses({write("wide.safetensors", {tensor<std::int32_t>("labels", "I32", {1, 2}, {1, 2})})}, StatusCode::input,
          "shape of the tensor 'labels', expected sequences of [] but got [1, 2]");
  refuses({write("float.safetensors", {tensor<float>("labels", "F32", {2}, {1, 2})})}, StatusCode::input,
          "type of the tensor 'labels', expected integers for an input of i32 but got F32");
  refuses({write("short.safetensors", {labels({1})})}, StatusCode::input,
          "short.safetensors' are too short, expected at least 2 sequences but got 1");
  refuses({write("good.safetensors", {labels({1, 2})}), folder.write("text", "abc")}, StatusCode::input,
          "text', expected a safetensors file like");
  refuses({folder.write("bad.safetensors", "abc")}, StatusCode::refused, "bad.safetensors");
  auto data = open(write("large.safetensors", {labels({1, 10})}));
  std::int32_t value = 0;
  std::vector<std::span<std::byte>> rows{std::as_writable_bytes(std::span(&value, 1))};
  EXPECT_TRUE(data->read(0, rows).isOk());
  expectError(data->read(1, rows), StatusCode::input,
              "tensor 'labels' of sequence 1, expected integers up to 9 but got 10");
  add("image", plan::DType::f32, {2, 1});
  refuses({write("uneven.safetensors", {labels({1, 2}), tensor<float>("image", "F32", {3, 1}, {1, 2, 3})})},
          StatusCode::input, "tensor 'image', expected 2 sequences like 'labels' but got 3");
}

TEST_F(InputDataTest, Refusals) {
  add("tokens", plan::DType::i32, {2, 4});
  refuses({"random:x"}, StatusCode::input, "data 'random:x', expected random:SEED with an integer");
  refuses({"random:1", "random:2"}, StatusCode::input, "cannot be combined with other sources, but there are 2");
  refuses({"random:1"}, StatusCode::input, "input 'tokens' of the plan has no upper bound, which random integers need");
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
  refuses({"text"}, StatusCode::input, "input 'targets' of the plan and input 'tokens' have different numbers of rows");
}

} // namespace
