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

double exported::roundToHalf(double value, ScalarType type) {
  const auto number = static_cast<float>(value);
  return type == ScalarType::f16 ? f16ToFloat(floatToF16(number)) : bf16ToFloat(floatToBf16(number));
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

llvm::ArrayRef<double> Constant::onlyRow() const {
  const std::size_t dims = shape.empty() ? 0 : shape.size() - 1;
  if (only.empty() &&
      llvm::all_of(llvm::ArrayRef(shape).take_front(dims), [](std::int64_t size) { return size == 1; })) {
    only.resize(static_cast<std::size_t>(rowSize()));
    fill(Shape(dims, 0), only);
  }
  return only;
}

void exported::roundRow(llvm::MutableArrayRef<double> values, ScalarType type) {
  if (type == ScalarType::f64)
    return;
  if (type == ScalarType::boolean) {
    for (double &value : values)
      value = value != 0 ? 1 : 0;
    return;
  }
  for (double &value : values)
    value = roundTo(value, type);
}

ConstantPtr exported::makeRowwise(std::vector<ConstantPtr> operands, Shape shape, ScalarType type,
                                  CombineRows combine) {
  // Kept between rows: a mask has thousands of them.
  auto computed = std::make_shared<std::vector<std::vector<double>>>(operands.size());
  return std::make_shared<Constant>(
      std::move(shape), type,
      [operands = std::move(operands), combine = std::move(combine),
       computed = std::move(computed)](Index index, llvm::MutableArrayRef<double> out) {
        llvm::SmallVector<llvm::ArrayRef<double>, 3> rows;
        for (auto [operand, row] : llvm::zip_equal(operands, *computed)) {
          const auto size = static_cast<std::size_t>(operand->rowSize());
          if (const llvm::ArrayRef<double> only = operand->onlyRow(); only.size() == out.size() && !only.empty()) {
            rows.push_back(only);
            continue;
          }
          // The index of the operand's row, which broadcasts to the one at `index`.
          Shape own;
          const std::size_t rank = operand->shape.size(), dims = rank == 0 ? 0 : rank - 1;
          for (std::size_t dim = 0; dim < dims; ++dim)
            own.push_back(operand->shape[dim] == 1 ? 0 : index[index.size() - dims + dim]);
          row.resize(std::max(out.size(), size));
          operand->row(own, llvm::MutableArrayRef(row).take_front(size));
          if (size == 1)
            std::fill(row.begin() + 1, row.end(), row.front());
          rows.push_back(llvm::ArrayRef(row).take_front(out.size()));
        }
        combine(rows, out);
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
