//===- Constant.cpp - values that depend on no input -------------------------------------===//

#include "passes/import/export/Constant.h"

#include "runtime/base/Half.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace sluice;
using namespace sluice::exported;

std::int64_t Constant::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : shape)
    count *= size;
  return count;
}

void Constant::forEachRow(llvm::function_ref<bool(Index, llvm::ArrayRef<double>)> visit) const {
  if (elements() == 0)
    return;
  const std::size_t dims = shape.empty() ? 0 : shape.size() - 1;
  Shape index(dims, 0);
  std::vector<double> values(static_cast<std::size_t>(rowSize()));
  for (;;) {
    row(index, values);
    if (!visit(index, values))
      return;
    std::size_t dim = dims;
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

const std::vector<double> *Constant::dense() const {
  if (elements() > mostElements)
    return nullptr;
  if (!kept) {
    kept = std::make_unique<std::vector<double>>();
    kept->reserve(static_cast<std::size_t>(elements()));
    forEachRow([&](Index, llvm::ArrayRef<double> values) {
      kept->insert(kept->end(), values.begin(), values.end());
      return true;
    });
  }
  return kept.get();
}

std::optional<double> Constant::splat() const {
  std::optional<double> value;
  bool isSplat = true;
  forEachRow([&](Index, llvm::ArrayRef<double> values) {
    if (!value)
      value = values.front();
    isSplat =
        llvm::all_of(values, [&](double each) { return each == *value || (std::isnan(each) && std::isnan(*value)); });
    return isSplat;
  });
  return isSplat ? value : std::nullopt;
}

double exported::roundTo(double value, ScalarType type) {
  switch (type) {
  case ScalarType::f64:
    return value;
  case ScalarType::f32:
    return static_cast<float>(value);
  case ScalarType::f16:
    return f16ToFloat(floatToF16(static_cast<float>(value)));
  case ScalarType::bf16:
    return bf16ToFloat(floatToBf16(static_cast<float>(value)));
  case ScalarType::boolean:
    return value != 0;
  case ScalarType::u8:
  case ScalarType::i32:
  case ScalarType::i64:
    return std::trunc(value);
  }
  llvm_unreachable("covered");
}

ConstantPtr exported::makeSplat(double value, Shape shape, ScalarType type) {
  value = roundTo(value, type);
  return std::make_shared<Constant>(std::move(shape), type,
                                    [value](Index, llvm::MutableArrayRef<double> out) { llvm::fill(out, value); });
}

ConstantPtr exported::makeRange(double start, double step, std::int64_t count, ScalarType type) {
  return std::make_shared<Constant>(Shape{count}, type, [=](Index, llvm::MutableArrayRef<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = roundTo(start + static_cast<double>(i) * step, type);
  });
}

ConstantPtr exported::makeDense(std::vector<double> values, Shape shape, ScalarType type) {
  auto kept = std::make_shared<std::vector<double>>(std::move(values));
  return std::make_shared<Constant>(shape, type, [kept, shape](Index index, llvm::MutableArrayRef<double> out) {
    std::int64_t at = 0;
    for (auto [position, size] : llvm::zip_first(index, shape))
      at = at * size + position;
    llvm::copy(llvm::ArrayRef(*kept).slice(static_cast<std::size_t>(at) * out.size(), out.size()), out.begin());
  });
}

/// The row of an operand that broadcasts to a row of `size` elements at `index`.
static void broadcastRow(const Constant &operand, Index index, std::size_t size, std::vector<double> &out) {
  Shape own;
  const std::size_t rank = operand.shape.size(), dims = rank == 0 ? 0 : rank - 1;
  for (std::size_t dim = 0; dim < dims; ++dim)
    own.push_back(operand.shape[dim] == 1 ? 0 : index[index.size() - dims + dim]);
  out.resize(static_cast<std::size_t>(operand.rowSize()));
  operand.row(own, out);
  if (out.size() != size)
    out.assign(size, out.front());
}

ConstantPtr exported::makePointwise(std::vector<ConstantPtr> operands, Shape shape, ScalarType type,
                                    std::function<double(llvm::ArrayRef<double>)> combine) {
  return std::make_shared<Constant>(std::move(shape), type,
                                    [operands = std::move(operands), type,
                                     combine = std::move(combine)](Index index, llvm::MutableArrayRef<double> out) {
                                      llvm::SmallVector<std::vector<double>, 3> rows(operands.size());
                                      for (auto [operand, row] : llvm::zip_equal(operands, rows))
                                        broadcastRow(*operand, index, out.size(), row);
                                      llvm::SmallVector<double, 3> values(operands.size());
                                      for (std::size_t i = 0; i < out.size(); ++i) {
                                        for (std::size_t each = 0; each < rows.size(); ++each)
                                          values[each] = rows[each][i];
                                        out[i] = roundTo(combine(values), type);
                                      }
                                    });
}

ConstantPtr exported::makeView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source) {
  const std::vector<double> *values = operand->dense();
  if (!values)
    return nullptr;
  const std::size_t rank = shape.size();
  return std::make_shared<Constant>(
      std::move(shape), operand->type,
      [operand, values, rank, source = std::move(source)](Index index, llvm::MutableArrayRef<double> out) {
        Shape full(index);
        full.resize(rank, 0);
        for (std::size_t i = 0; i < out.size(); ++i) {
          if (rank > 0)
            full.back() = static_cast<std::int64_t>(i);
          std::int64_t at = 0;
          for (auto [position, size] : llvm::zip_equal(source(full), operand->shape))
            at = at * size + position;
          out[i] = (*values)[static_cast<std::size_t>(at)];
        }
      });
}

ConstantPtr exported::makeRowView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source) {
  const ScalarType type = operand->type;
  return std::make_shared<Constant>(
      std::move(shape), type,
      [operand = std::move(operand), source = std::move(source)](Index index, llvm::MutableArrayRef<double> out) {
        operand->row(source(index), out);
      });
}
