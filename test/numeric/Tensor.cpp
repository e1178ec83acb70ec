//===- Tensor.cpp - element types, files, differences ---------------------------===//

#include "test/numeric/Tensor.h"

#include "runtime/base/Half.h"
#include "runtime/train/Checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace sluice::numeric {

namespace {

std::size_t typeBytes(const std::string &type) {
  return type == "f64" || type == "i64" ? 8 : type == "bf16" || type == "f16" ? 2 : type == "ui8" ? 1 : 4;
}

template <typename T> double load(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<double>(value);
}

double loadElement(const std::string &type, const std::byte *data) {
  if (type == "f32")
    return load<float>(data);
  if (type == "f64")
    return load<double>(data);
  if (type == "i32")
    return load<std::int32_t>(data);
  if (type == "i64")
    return static_cast<double>(load<std::int64_t>(data));
  if (type == "ui8")
    return load<std::uint8_t>(data);
  std::uint16_t half;
  std::memcpy(&half, data, 2);
  return bf16ToFloat(half);
}

template <typename T> void store(double value, std::byte *data) {
  T narrow = static_cast<T>(value);
  std::memcpy(data, &narrow, sizeof(T));
}

void storeElement(const std::string &type, double value, std::byte *data) {
  if (type == "f32")
    store<float>(value, data);
  else if (type == "f64")
    store<double>(value, data);
  else if (type == "i32")
    store<std::int32_t>(value, data);
  else if (type == "i64")
    store<std::int64_t>(value, data);
  else if (type == "ui8")
    store<std::uint8_t>(value, data);
  else {
    std::uint16_t half = floatToBf16(static_cast<float>(value));
    std::memcpy(data, &half, 2);
  }
}

} // namespace

std::string tensorType(const std::vector<std::int64_t> &shape, const std::string &type) {
  std::string text = "tensor<";
  for (std::int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + type + ">";
}

std::string Tensor::typeText() const { return tensorType(shape, type); }

std::vector<std::byte> Tensor::bytes() const {
  std::size_t width = typeBytes(type);
  std::vector<std::byte> out(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i)
    storeElement(type, values[i], out.data() + i * width);
  return out;
}

Tensor tensorFromBytes(const std::string &type, std::vector<std::int64_t> shape, const std::byte *data) {
  Tensor tensor{type, std::move(shape), {}};
  std::size_t count = 1;
  for (std::int64_t extent : tensor.shape)
    count *= static_cast<std::size_t>(extent);
  std::size_t width = typeBytes(type);
  for (std::size_t i = 0; i < count; ++i)
    tensor.values.push_back(loadElement(type, data + i * width));
  return tensor;
}

Tensor withType(const Tensor &tensor, const std::string &type) {
  Tensor copy = tensor;
  copy.type = type;
  std::vector<std::byte> rounded = copy.bytes();
  return tensorFromBytes(type, copy.shape, rounded.data());
}

Tensor uniform(const std::string &type, std::vector<std::int64_t> shape, std::uint64_t salt) {
  Tensor tensor{type, std::move(shape), {}};
  std::size_t count = 1;
  for (std::int64_t extent : tensor.shape)
    count *= static_cast<std::size_t>(extent);
  // SplitMix64 (Steele, Lea, Flood 2014), one number per element.
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t z = (salt * 0x2545f4914f6cdd1dULL) + (i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    tensor.values.push_back(static_cast<double>(z >> 11) / 4503599627370496.0 - 1.0);
  }
  return withType(tensor, tensor.type);
}

TensorMap readSafetensors(const std::string &path) {
  TensorMap tensors;
  auto file = SafetensorsFile::open(path);
  if (!file.isOk()) {
    ADD_FAILURE() << file.status().message();
    return tensors;
  }
  const std::map<std::string, std::string> types = {{"F32", "f32"}, {"F64", "f64"},  {"BF16", "bf16"}, {"I64", "i64"},
                                                    {"I32", "i32"}, {"BOOL", "ui8"}, {"U8", "ui8"}};
  for (const SafetensorsEntry &entry : file->entries()) {
    std::vector<std::byte> data(entry.bytes());
    if (Status status = file->read(entry, 0, data); !status.isOk())
      ADD_FAILURE() << status.message();
    auto type = types.find(entry.dtype);
    if (type == types.end()) {
      ADD_FAILURE() << path << ": dtype " << entry.dtype;
      continue;
    }
    Tensor tensor = tensorFromBytes(type->second, entry.shape, data.data());
    tensors[entry.name] = type->second == "i64" ? withType(tensor, "i32") : tensor;
  }
  return tensors;
}

TensorMap readCheckpoint(const std::string &folder) {
  TensorMap tensors;
  Result<Checkpoint> file = Checkpoint::open(folder);
  if (!file.isOk()) {
    ADD_FAILURE() << file.status().message();
    return tensors;
  }
  std::vector<std::byte> room;
  for (const CheckpointTensor &tensor : file->tensors()) {
    std::vector<float> values(tensor.elements());
    EXPECT_TRUE(tensor.readAs(0, std::span(values), room).isOk()) << tensor.name();
    tensors[tensor.name()] = {"f32", tensor.entry->shape, {values.begin(), values.end()}};
  }
  return tensors;
}

Difference compare(const Tensor &a, const Tensor &b) {
  Difference difference;
  EXPECT_EQ(a.shape, b.shape);
  if (a.shape != b.shape) {
    difference.largest = INFINITY;
    return difference;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a.values[i]) && std::isnan(b.values[i]))
      continue;
    double error = a.values[i] == b.values[i] ? 0.0 : std::abs(a.values[i] - b.values[i]);
    difference.largest = std::isnan(error) ? INFINITY : std::max(difference.largest, error);
    if (std::isfinite(b.values[i]))
      difference.magnitude = std::max(difference.magnitude, std::abs(b.values[i]));
  }
  return difference;
}

} // namespace sluice::numeric
