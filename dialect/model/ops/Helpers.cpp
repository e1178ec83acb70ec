//===- Helpers.cpp - helpers of the op families -----------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool typeAgrees(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a), right = dyn_cast<RankedTensorType>(b);
  if (!left || !right)
    return a == b;
  return left.getShape() == right.getShape() && left.getElementType() == right.getElementType();
}

bool typesAgree(TypeRange a, TypeRange b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return typeAgrees(std::get<0>(pair), std::get<1>(pair)); });
}

std::string shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

RankedTensorType tensorOf(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }

Type statisticsElement(Type element) { return element.isF64() ? element : Float32Type::get(element.getContext()); }

bool isUnsignedByte(Type element) { return element.isUnsignedInteger(8); }

FailureOr<SmallVector<int64_t>> broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  SmallVector<int64_t> full;
  for (ArrayRef<int64_t> shape : shapes) {
    if (shape.size() > full.size())
      full.insert(full.begin(), shape.size() - full.size(), 1);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t &extent = full[full.size() - shape.size() + d];
      if (extent == 1)
        extent = shape[d];
      else if (shape[d] != 1 && shape[d] != extent)
        return failure();
    }
  }
  return full;
}

LogicalResult inferBroadcast(std::optional<Location> location, StringRef op, ValueRange operands, Type element,
                             SmallVectorImpl<Type> &results) {
  SmallVector<ArrayRef<int64_t>> shapes(llvm::map_range(operands, shapeOf));
  FailureOr<SmallVector<int64_t>> full = broadcastShapes(shapes);
  if (failed(full)) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleave(llvm::map_range(shapes, shapeText), os, " and ");
    return emitOptionalError(location, op, ": operands do not broadcast, expected equal extents or 1 but got ", text);
  }
  Attribute encoding;
  for (Value operand : operands)
    if (shapeOf(operand) == ArrayRef<int64_t>(*full) && !encoding)
      encoding = typeOf(operand).getEncoding();
  results.push_back(RankedTensorType::get(*full, element, encoding));
  return success();
}

LogicalResult inferBinary(std::optional<Location> location, StringRef op, Value lhs, Value rhs,
                          SmallVectorImpl<Type> &results) {
  if (elementOf(lhs) != elementOf(rhs))
    return emitOptionalError(location, op, ": operands differ in element type, expected ", elementOf(lhs), " but got ",
                             elementOf(rhs));
  return inferBroadcast(location, op, {lhs, rhs}, elementOf(lhs), results);
}

LogicalResult inferSame(Value operand, SmallVectorImpl<Type> &results) {
  results.push_back(operand.getType());
  return success();
}

LogicalResult expectShape(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return success();
  return op->emitOpError() << name << " has the wrong shape, expected " << shapeText(shape) << " but got "
                           << shapeText(shapeOf(value));
}

LogicalResult expectElement(Operation *op, StringRef name, Value value, Type element) {
  if (elementOf(value) == element)
    return success();
  return op->emitOpError() << name << " has the wrong element type, expected " << element << " but got "
                           << elementOf(value);
}

LogicalResult expectLike(Operation *op, StringRef name, Value value, Value like) {
  return success(succeeded(expectShape(op, name, value, shapeOf(like))) &&
                 succeeded(expectElement(op, name, value, elementOf(like))));
}

LogicalResult expectDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << "dim is out of range, expected at least 0 and less than " << rank << " but got "
                               << dim;
    if (dim <= previous)
      return op->emitOpError() << "dims are out of order, expected rising dims but got " << dim << " after "
                               << previous;
    previous = dim;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

Value makeConstant(OpBuilder &builder, Location location, double value, RankedTensorType type) {
  return ConstantOp::create(builder, location, type, builder.getF64FloatAttr(value));
}

Value makeReshape(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return ReshapeOp::create(builder, location, tensorOf(shape, elementOf(value)), value);
}

Value makeCast(OpBuilder &builder, Location location, Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  RankedTensorType type = typeOf(value);
  return CastOp::create(builder, location, RankedTensorType::get(type.getShape(), element, type.getEncoding()), value);
}

Value makeScale(OpBuilder &builder, Location location, Value value, double factor) {
  return ScaleOp::create(builder, location, value, builder.getF64FloatAttr(factor));
}

Value makeUnbroadcast(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> target) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape == target)
    return value;
  SmallVector<int64_t> dims;
  int64_t missing = shape.size() - target.size();
  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
    if (d < missing || (target[d - missing] == 1 && shape[d] != 1))
      dims.push_back(d);
  Value sum = dims.empty() ? value
                           : Value(ReduceSumOp::create(builder, location, value, builder.getDenseI64ArrayAttr(dims),
                                                       /*keep=*/UnitAttr()));
  return makeReshape(builder, location, sum, target);
}

Value makeExpand(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> target, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept(target);
  for (int64_t dim : dims)
    kept[dim] = 1;
  Value aligned = makeReshape(builder, location, value, kept);
  if (shapeOf(aligned) == target)
    return aligned;
  return BroadcastOp::create(builder, location, tensorOf(target, elementOf(value)), aligned);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ShardingRule pointwiseRule(Operation *op) {
  SmallVector<ArrayRef<int64_t>> operands(llvm::map_range(op->getOperands(), shapeOf));
  SmallVector<ArrayRef<int64_t>> results(llvm::map_range(op->getResults(), shapeOf));
  return elementwiseRule(operands, results);
}

ShardingRule linearRule(Operation *op) {
  ShardingRule rule = pointwiseRule(op);
  rule.linear = true;
  return rule;
}

ShardingRule positionedRule(Operation *op) {
  ShardingRule rule = pointwiseRule(op);
  for (ShardingFactor &factor : rule.factors)
    factor.positioned = true;
  return rule;
}

TensorFactors addFactors(ShardingRule &rule, ArrayRef<int64_t> shape, size_t wholeFrom) {
  TensorFactors tensor;
  for (size_t d = 0; d < shape.size(); ++d)
    tensor.push_back({rule.addFactor(shape[d], d >= wholeFrom)});
  return tensor;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

uint64_t elementsOf(Value value) { return typeOf(value).getNumElements(); }

uint64_t bytesOf(Value value) { return elementsOf(value) * (elementOf(value).getIntOrFloatBitWidth() / 8); }

OpCost streamingCost(Operation *op, uint64_t flops) {
  OpCost cost{flops, 0};
  llvm::SmallVector<Value> seen;
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(seen, operand)) {
      cost.bytes += bytesOf(operand);
      seen.push_back(operand);
    }
  for (Value result : op->getResults())
    cost.bytes += bytesOf(result);
  return cost;
}

OpCost pointwiseCost(Operation *op, uint64_t flops) { return streamingCost(op, flops * elementsOf(op->getResult(0))); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

NamedAttribute integerAttribute(Operation *op, StringRef name, int64_t value) {
  Builder builder(op->getContext());
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}

NamedAttribute numberAttribute(Operation *op, StringRef name, double value) {
  Builder builder(op->getContext());
  return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
}

NamedAttribute listAttribute(Operation *op, StringRef name, ArrayRef<int64_t> value) {
  Builder builder(op->getContext());
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(value));
}

KernelCall makeCall(Operation *op, KernelId kernel, ArrayRef<NamedAttribute> attributes) {
  KernelCall call;
  call.kernel = kernel;
  call.attributes.assign(attributes.begin(), attributes.end());
  call.inputs.assign(op->operand_begin(), op->operand_end());
  return call;
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

bool sharesScope(Operation *a, Operation *b) {
  return a->getBlock() == b->getBlock() && outermostBlock(blockOf(a)) == outermostBlock(blockOf(b)) &&
         a->getAttr(checkpointName) == b->getAttr(checkpointName);
}

} // namespace sluice::model
