//===- PlaceConstants.cpp - the constants of an imported program in the model ------------===//

#include "passes/import/export/PlaceConstants.h"

#include "dialect/model/Attributes.h"
#include "runtime/base/Text.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

/// The op of a constant: a splat, or a range along one dim; null for others.
static Value makeConstant(OpBuilder &builder, Location location, const Constant &constant, RankedTensorType type) {
  const auto splat = [&](double value, RankedTensorType splatType) -> Value {
    return model::ConstantOp::create(builder, location, splatType, builder.getF64FloatAttr(value));
  };
  if (constant.elements() == 0)
    return splat(0, type);
  if (std::optional<double> value = constant.splat())
    return splat(*value, type);
  const auto scalarType = RankedTensorType::get({}, type.getElementType());
  // start + index along one dim, of integers.
  if (isFloat(constant.type) || constant.type == ScalarType::boolean || constant.type == ScalarType::u8)
    return {};
  for (std::size_t dim = 0; dim < constant.shape.size(); ++dim) {
    std::optional<double> start;
    bool isRange = true;
    constant.forEachRow([&](Index index, llvm::ArrayRef<double> row) {
      if (!start)
        start = row.front();
      const bool isLast = dim + 1 == constant.shape.size();
      for (auto [i, value] : llvm::enumerate(row))
        isRange &= value == *start + static_cast<double>(isLast ? static_cast<std::int64_t>(i) : index[dim]);
      return isRange;
    });
    if (!isRange)
      continue;
    Value range =
        model::IotaOp::create(builder, location, type, builder.getI64IntegerAttr(static_cast<std::int64_t>(dim)));
    return *start == 0 ? range : Value(model::AddOp::create(builder, location, range, splat(*start, scalarType)));
  }
  return {};
}

/// The elements f(j - i) of a table [i, j] of integers, for j - i from 1 - rows to columns - 1: relative positions.
/// Empty for another table, or one that is as small.
static std::vector<double> diagonalsOf(const Constant &constant) {
  if (constant.shape.size() != 2 || (constant.type != ScalarType::i32 && constant.type != ScalarType::i64))
    return {};
  const auto rows = static_cast<std::size_t>(constant.shape[0]), columns = static_cast<std::size_t>(constant.shape[1]);
  if (rows * columns <= 2 * (rows + columns))
    return {};
  std::vector<double> diagonals(rows + columns - 1);
  bool isFirst = true, areEqual = true;
  constant.forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    const std::size_t first = rows - 1 - static_cast<std::size_t>(index[0]);
    for (auto [j, value] : llvm::enumerate(row)) {
      // A row adds one diagonal, its first element.
      if (isFirst || j == 0)
        diagonals[first + j] = value;
      areEqual &= diagonals[first + j] == value;
    }
    isFirst = false;
    return areEqual;
  });
  return areEqual ? diagonals : std::vector<double>();
}

/// The table of the diagonals at j - i + rows - 1.
static Value gatherDiagonals(OpBuilder &builder, Location location, Value diagonals, RankedTensorType type) {
  const auto indices = RankedTensorType::get(type.getShape(), builder.getI32Type());
  const auto index = [&](std::int64_t dim) -> Value {
    return model::IotaOp::create(builder, location, indices, builder.getI64IntegerAttr(dim));
  };
  Value offset = model::ConstantOp::create(builder, location, RankedTensorType::get({}, builder.getI32Type()),
                                           builder.getF64FloatAttr(static_cast<double>(type.getDimSize(0) - 1)));
  Value shifted = model::AddOp::create(builder, location, index(1), offset);
  Value at = model::SubtractOp::create(builder, location, shifted, index(0));
  return model::GatherOp::create(builder, location, diagonals, at);
}

static DenseElementsAttr elementsOf(RankedTensorType type, ScalarType scalar, llvm::ArrayRef<double> values) {
  const auto as = [&]<typename T>(T) {
    return DenseElementsAttr::get(type, llvm::ArrayRef(std::vector<T>(values.begin(), values.end())));
  };
  switch (scalar) {
  case ScalarType::u8:
  case ScalarType::boolean:
    return as(std::uint8_t());
  case ScalarType::i32:
    return as(std::int32_t());
  case ScalarType::i64:
    return as(std::int64_t());
  case ScalarType::f32:
    return as(float());
  case ScalarType::f64:
    return as(double());
  case ScalarType::f16:
  case ScalarType::bf16:
    break;
  }
  llvm::SmallVector<APFloat> numbers;
  for (const double value : values) {
    bool losesInfo = false;
    numbers.emplace_back(value);
    numbers.back().convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                           &losesInfo);
  }
  return DenseElementsAttr::get(type, numbers);
}

Status exported::placeConstants(func::FuncOp function, Importer &importer) {
  std::int64_t bytes = 0;
  llvm::DenseMap<Attribute, Value> inputs;
  for (auto cast : llvm::make_early_inc_range(function.getBody().front().getOps<UnrealizedConversionCastOp>())) {
    Value placeholder = cast.getResult(0);
    if (placeholder.use_empty()) {
      cast.erase();
      continue;
    }
    OpBuilder builder(cast);
    const ConstantPtr constant = importer.constantOf(placeholder);
    auto type = llvm::cast<RankedTensorType>(placeholder.getType());
    Value made = makeConstant(builder, cast.getLoc(), *constant, type);
    if (!made) {
      const std::vector<double> diagonals = diagonalsOf(*constant);
      const RankedTensorType table = type;
      if (!diagonals.empty())
        type = RankedTensorType::get({static_cast<std::int64_t>(diagonals.size())}, type.getElementType());
      const std::int64_t own = type.getNumElements() * (type.getElementTypeBitWidth() / 8);
      const std::vector<double> *values = !diagonals.empty()                ? &diagonals
                                          : own <= model::mostConstantBytes ? constant->dense()
                                                                            : nullptr;
      const DenseElementsAttr attribute = values ? elementsOf(type, constant->type, *values) : DenseElementsAttr();
      Value &input = inputs[attribute];
      bytes += input ? 0 : own;
      if (!values || bytes > model::mostConstantBytes)
        return inputError(concat("constants of more than ", model::mostConstantBytes, " bytes, up to one of shape ",
                                 formatShape(constant->shape)))
            .withNote("make it a parameter of the module with requires_grad=False");
      if (!input) {
        const unsigned index = function.getNumArguments();
        if (failed(function.insertArgument(index, type, {}, cast.getLoc())))
          return internalError("an input that cannot be added");
        function.setArgAttr(index, model::inputName, builder.getStringAttr(concat("constant.", inputs.size() - 1)));
        function.setArgAttr(index, model::valuesName, attribute);
        input = function.getArgument(index);
      }
      made = diagonals.empty() ? input : gatherDiagonals(builder, cast.getLoc(), input, table);
    }
    placeholder.replaceAllUsesWith(made);
    cast.erase();
  }
  return Status::ok();
}
