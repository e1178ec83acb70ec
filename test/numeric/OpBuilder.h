//===- OpBuilder.h - context of the op builders -------------------------------------------===//
#ifndef SLUICE_TEST_NUMERIC_OPBUILDER_H
#define SLUICE_TEST_NUMERIC_OPBUILDER_H

#include "test/numeric/OpPrograms.h"

#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

namespace sluice::numeric {

using Shape = std::vector<std::int64_t>;

/// The context of a builder.
struct OpBuilder {
  const OpCase &operation;
  const std::string &type;
  Function &f;

  const Tensor &tensor(const std::string &name) const { return operation.tensors.at(name); }
  bool has(const std::string &name) const { return operation.tensors.count(name) != 0; }
  const Shape &shape(const std::string &name) const { return tensor(name).shape; }
  std::string in(const std::string &name) const {
    const Tensor &t = tensor("in." + name);
    bool isFloat = t.type == "f32" || t.type == "f64";
    return f.input(name, t.shape, isFloat ? type : t.type);
  }
  std::string typed(const Shape &shape) const { return tensorType(shape, type); }
  std::string result(const std::string &name) const { return typed(shape("out." + name)); }
  template <typename T> T attribute(const std::string &name, T fallback) const {
    return operation.attributes.value(name, fallback);
  }
  /// An attribute that names a dim, from the front.
  std::size_t dimOf(const std::string &name, std::size_t rank) const {
    int dim = operation.attributes.value(name, 0);
    return dim < 0 ? rank - static_cast<std::size_t>(-dim) : static_cast<std::size_t>(dim);
  }
  std::string statisticsType(const Shape &shape) const { return tensorType(shape, type == "f64" ? "f64" : "f32"); }
};

inline std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", value);
  return text;
}

inline std::string listAttribute(const std::string &name, const Shape &values) {
  std::string text = "{" + name + " = array<i64: ";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ">}";
}

inline std::string transpose(OpBuilder &b, const std::string &value, const Shape &shape, const Shape &order) {
  Shape permuted;
  for (std::int64_t dim : order)
    permuted.push_back(shape[static_cast<std::size_t>(dim)]);
  return b.f.op("transpose", {value}, listAttribute("permutation", order), b.typed(permuted));
}

/// Dims of `shape` with `dim` and the last one, or the first, exchanged.
inline Shape exchange(std::size_t rank, std::size_t one, std::size_t other) {
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[one], order[other]);
  return order;
}

inline Shape permute(const Shape &shape, const Shape &order) {
  Shape out;
  for (std::int64_t dim : order)
    out.push_back(shape[static_cast<std::size_t>(dim)]);
  return out;
}

/// Operations on images: convolutions, pooling, batch norm.
const std::map<std::string, std::function<void(OpBuilder &)>> &imageBuilders();

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_OPBUILDER_H
