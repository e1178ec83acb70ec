//===- RandomData.cpp - inputs drawn by counter -------------------------------------===//
#include "runtime/train/DataOrder.h"
#include "runtime/train/InputData.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numbers>

namespace sluice {

namespace {

class RandomData : public InputData {
public:
  struct Port {
    plan::PortRole role;
    plan::DType dtype;
    std::uint64_t limit;
    std::uint64_t key;
  };
  explicit RandomData(std::vector<Port> ports) : ports(std::move(ports)) {}

  std::uint64_t samples() const override { return UINT64_MAX / 2; }
  bool isEndless() const override { return true; }
  std::string formats() const override { return "random"; }

  Status read(std::uint64_t sample, std::span<const std::span<std::byte>> rows) override {
    for (std::size_t i = 0; i < ports.size(); ++i)
      fill(ports[i], mixBits(ports[i].key ^ mixBits(sample)), rows[i]);
    return Status::ok();
  }

private:
  template <typename T> static void store(std::span<std::byte> row, std::uint64_t index, T value) {
    std::memcpy(row.data() + index * sizeof value, &value, sizeof value);
  }

  static void fill(const Port &port, std::uint64_t key, std::span<std::byte> row) {
    std::uint64_t count = row.size() / dtypeBytes(baseType(port.dtype));
    if (port.role == plan::PortRole::documents)
      return writeDocuments(randomBegins(key, count), baseType(port.dtype), row);
    for (std::uint64_t j = 0; j < count; ++j) {
      std::uint64_t bits = mixBits(key ^ mixBits(2 * j));
      switch (port.dtype) {
      case plan::DType::f32:
        store(row, j, static_cast<float>(normal(bits, mixBits(key ^ mixBits(2 * j + 1)))));
        break;
      case plan::DType::f64:
        store(row, j, normal(bits, mixBits(key ^ mixBits(2 * j + 1))));
        break;
      case plan::DType::i32:
        store(row, j, static_cast<std::int32_t>(bits % port.limit));
        break;
      default:
        store(row, j, static_cast<std::int64_t>(bits % port.limit));
      }
    }
  }

  /// Documents of 1 to `length` tokens; each token but the first begins one with a probability of 4 / length.
  static std::vector<std::uint64_t> randomBegins(std::uint64_t key, std::uint64_t length) {
    constexpr std::uint64_t perRow = 4;
    std::vector<std::uint64_t> begins = {0};
    for (std::uint64_t at = 1; at < length; ++at)
      if (mixBits(key ^ mixBits(2 * at)) % length < perRow)
        begins.push_back(at);
    return begins;
  }

  /// Box and Muller's transform of two uniform draws; the first is never 0.
  static double normal(std::uint64_t a, std::uint64_t b) {
    double radius = std::sqrt(-2 * std::log((static_cast<double>(a >> 11) + 0.5) * 0x1p-53));
    return radius * std::cos(2 * std::numbers::pi * static_cast<double>(b >> 11) * 0x1p-53);
  }

  std::vector<Port> ports;
};

} // namespace

Result<std::unique_ptr<InputData>> openRandomData(std::uint64_t seed, const std::vector<const plan::PortT *> &ports) {
  std::vector<RandomData::Port> drawn;
  for (const plan::PortT *port : ports) {
    plan::DType dtype = port->view->dtype;
    bool isInteger = dtype == plan::DType::i32 || dtype == plan::DType::i64;
    if (!isInteger && dtype != plan::DType::f32 && dtype != plan::DType::f64)
      return inputError(fmt::format("input '{}' of the plan, expected f32, f64, i32 or i64 for random data but got {}",
                                    port->name, dtypeName(baseType(dtype))));
    if (isInteger && port->limit == 0 && port->role != plan::PortRole::documents)
      return inputError(
          fmt::format("input '{}' of the plan has no upper bound, which random integers need", port->name));
    std::uint64_t key = mixBits(seed);
    for (unsigned char c : port->name)
      key = mixBits(key ^ c);
    drawn.push_back({port->role, dtype, port->limit, key});
  }
  return std::unique_ptr<InputData>(std::make_unique<RandomData>(std::move(drawn)));
}

} // namespace sluice
