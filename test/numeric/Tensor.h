//===- Tensor.h - tensors of the numeric tests ---------------------------------===//
//
// A dense tensor whose values are stored as f64 for every element type: f32, bf16, i32 and u8 values fit exactly.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_NUMERIC_TENSOR_H
#define SLUICE_TEST_NUMERIC_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::numeric {

struct Tensor {
  /// An MLIR element type: "f32", "f64", "bf16", "i32", "ui8".
  std::string type;
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  bool operator==(const Tensor &) const = default;
  std::size_t size() const { return values.size(); }
  /// "tensor<2x3xf32>".
  std::string typeText() const;
  /// The values as bytes of `type`.
  std::vector<std::byte> bytes() const;
};

std::string tensorType(const std::vector<std::int64_t> &shape, const std::string &type);
Tensor tensorFromBytes(const std::string &type, std::vector<std::int64_t> shape, const std::byte *data);

/// The same values in a different element type, rounded to nearest.
Tensor withType(const Tensor &tensor, const std::string &type);

/// Deterministic values in [-1, 1), the same for the same salt and size.
Tensor uniform(const std::string &type, std::vector<std::int64_t> shape, std::uint64_t salt);

using TensorMap = std::map<std::string, Tensor>;

/// All tensors of a safetensors file; i64 become i32, booleans ui8. Fails the running test if it cannot be read.
TensorMap readSafetensors(const std::string &path);

/// All tensors of a checkpoint, in one file or in shards, as f32. Fails the running test if it cannot be read.
TensorMap readCheckpoint(const std::string &folder);

/// Largest |a - b| over elements, NaN against NaN counting as equal, and largest |b|.
struct Difference {
  double largest = 0;
  double magnitude = 0;
};
Difference compare(const Tensor &a, const Tensor &b);

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_TENSOR_H
