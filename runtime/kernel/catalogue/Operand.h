//===- Operand.h - operands and attributes of a launch ------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_OPERAND_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_OPERAND_H

#include "runtime/base/DType.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr int maxRank = 8;

/// A typed strided window of memory, as bound on this rank at load. `shape` is the storage extent in the plan; `extent`
/// is the valid extent on this rank. Kernels iterate over `extent` and never access elements beyond it.
struct Operand {
  void *data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, maxRank> shape{};
  std::array<std::int64_t, maxRank> extent{};
  /// In elements.
  std::array<std::int64_t, maxRank> strides{};
  /// Global coordinate of the first element in each dim, and global extents: for kernels keyed by global element index.
  std::array<std::int64_t, maxRank> origin{};
  std::array<std::int64_t, maxRank> global{};

  /// A dense row-major operand of one rank without memory; at most maxRank dims.
  static Operand dense(DType dtype, const std::vector<std::int64_t> &shape) {
    Operand operand;
    operand.dtype = dtype;
    operand.rank = static_cast<int>(shape.size());
    std::int64_t stride = 1;
    for (int d = operand.rank - 1; d >= 0; --d) {
      operand.shape[d] = operand.extent[d] = operand.global[d] = shape[static_cast<std::size_t>(d)];
      operand.strides[d] = stride;
      stride *= operand.shape[d];
    }
    return operand;
  }

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (int d = 0; d < rank; ++d)
      count *= extent[d];
    return count;
  }
  /// True where the extent is dense row-major.
  bool isDense() const {
    std::int64_t expected = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (extent[d] != 1 && strides[d] != expected)
        return false;
      expected *= extent[d];
    }
    return true;
  }
  template <typename T> T *as() const { return static_cast<T *>(data); }
};

/// Attributes by name. A kernel reads an attribute of its record without a fallback, and with one where the kernel
/// computes the value of an absent attribute, or where it shares code with kernels whose records lack the attribute.
class Attributes {
public:
  struct Item {
    std::string_view name;
    std::int64_t integer = 0;
    double number = 0;
    std::vector<std::int64_t> list;
  };
  explicit Attributes(std::vector<Item> items = {}) : items(std::move(items)) {}
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> fallback = {}) const {
    const Item *item = read(name, fallback.has_value());
    return item ? item->integer : fallback.value_or(0);
  }
  /// The enumerator of a choice.
  template <typename Choice> Choice choice(std::string_view name) const { return static_cast<Choice>(integer(name)); }
  /// A number may be given as an integer.
  double number(std::string_view name, std::optional<double> fallback = {}) const {
    const Item *item = read(name, fallback.has_value());
    if (!item)
      return fallback.value_or(0);
    return item->number == 0 ? static_cast<double>(item->integer) : item->number;
  }
  std::span<const std::int64_t> list(std::string_view name) const {
    const Item *item = read(name, false);
    return item ? std::span<const std::int64_t>(item->list) : std::span<const std::int64_t>();
  }
  const Item *find(std::string_view name) const {
    for (const Item &item : items)
      if (item.name == name)
        return &item;
    return nullptr;
  }
  std::span<const Item> all() const { return items; }
  void add(Item item) { items.push_back(std::move(item)); }
  /// The first attribute that was read without a fallback and is absent; empty if there is no such attribute.
  std::string_view undeclared() const { return firstUndeclared; }

private:
  const Item *read(std::string_view name, bool hasFallback) const {
    const Item *item = find(name);
    if (!item && !hasFallback && firstUndeclared.empty())
      firstUndeclared = name;
    return item;
  }

  mutable std::string_view firstUndeclared;
  std::vector<Item> items;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_OPERAND_H
