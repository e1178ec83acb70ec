//===- Helpers.cpp - helpers of the op families -----------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include "mlir/Dialect/Traits.h"

#include <limits>

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

void setElement(Value value, Type element) { value.setType(typeOf(value).clone(element)); }

Type statisticsElement(Type element) { return element.isF64() ? element : Float32Type::get(element.getContext()); }

bool hasElementOf(Value value, Value of) { return !value || elementOf(value) == elementOf(of); }
bool hasStatisticsOf(Value value, Value of) { return elementOf(value) == statisticsElement(elementOf(of)); }
bool hasGradientOf(Value value, Value of) { return hasElementOf(value, of) || hasStatisticsOf(value, of); }

bool isUnsignedByte(Type element) { return element.isUnsignedInteger(8); }

FailureOr<SmallVector<int64_t>> broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  SmallVector<int64_t> full;
  for (ArrayRef<int64_t> shape : shapes)
    if (!OpTrait::util::getBroadcastedShape(SmallVector<int64_t>(full), shape, full))
      return failure();
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

LogicalResult inferExtents(std::optional<Location> location, KernelId kernel, ValueRange operands, ArrayRef<Type> types,
                           SmallVectorImpl<Type> &results, const Attributes &attributes) {
  const SmallVector<Extents> inputs(
      llvm::map_range(operands, [](Value value) { return Extents(shapeOf(value).data(), shapeOf(value).size()); }));
  ExtentProblem problem;
  const auto extents = resultExtents(kernelRecord(kernel), attributes, inputs, &problem);
  if (!extents)
    return emitOptionalError(location, StringRef(kernelName(kernel)), ": ",
                             problemText(problem, problem.operand, shapeOf(operands[problem.operand])));
  for (auto [type, own] : llvm::zip(types, *extents))
    results.push_back(isa<RankedTensorType>(type) ? type : tensorOf(own, type));
  return success();
}

LogicalResult inferBinary(std::optional<Location> location, StringRef op, ValueRange operands,
                          SmallVectorImpl<Type> &results) {
  Type lhs = elementOf(operands[0]), rhs = elementOf(operands[1]);
  if (lhs != rhs)
    return emitOptionalError(location, op, ": operands differ in element type, expected ", lhs, " but got ", rhs);
  return inferBroadcast(location, op, operands, lhs, results);
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

LogicalResult expectType(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape, Type element) {
  return success(succeeded(expectShape(op, name, value, shape)) && succeeded(expectElement(op, name, value, element)));
}

LogicalResult expectLike(Operation *op, StringRef name, Value value, Value like) {
  return expectType(op, name, value, shapeOf(like), elementOf(like));
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

Value makeConstant(ImplicitLocOpBuilder &builder, double value, RankedTensorType type) {
  return ConstantOp::create(builder, type, builder.getF64FloatAttr(value));
}

Value makeReshape(ImplicitLocOpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return ReshapeOp::create(builder, tensorOf(shape, elementOf(value)), value);
}

Value makeCast(ImplicitLocOpBuilder &builder, Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  RankedTensorType type = typeOf(value);
  return CastOp::create(builder, RankedTensorType::get(type.getShape(), element, type.getEncoding()), value);
}

Value makeScale(ImplicitLocOpBuilder &builder, Value value, double factor) {
  return ScaleOp::create(builder, value, builder.getF64FloatAttr(factor));
}

std::pair<Value, Value> makeNormalized(ImplicitLocOpBuilder &builder, Value x, Value variance, const APFloat &epsilon,
                                       Value weight, Value bias) {
  Type element = elementOf(x);
  Value floor = makeConstant(builder, epsilon.convertToDouble(), tensorOf({}, element));
  Value rstd = RsqrtOp::create(builder, AddOp::create(builder, variance, floor).getResult());
  Value normalized = MultiplyOp::create(builder, x, rstd);
  Value y = MultiplyOp::create(builder, normalized, makeCast(builder, weight, element));
  if (bias)
    y = AddOp::create(builder, y, makeCast(builder, bias, element));
  return {makeCast(builder, y, elementOf(weight)), rstd};
}

RowExponentials::RowExponentials(ImplicitLocOpBuilder &builder, Value x, bool mayBeHidden) {
  auto last = builder.getDenseI64ArrayAttr({typeOf(x).getRank() - 1});
  largest = ReduceMaxOp::create(builder, x, last, builder.getUnitAttr());
  if (mayBeHidden) {
    const double lowest = elementOf(x).isF64() ? std::numeric_limits<double>::lowest()
                                               : static_cast<double>(std::numeric_limits<float>::lowest());
    largest = MaximumOp::create(builder, largest, makeConstant(builder, lowest, tensorOf({}, elementOf(x))));
  }
  powers = ExpOp::create(builder, SubtractOp::create(builder, x, largest).getResult());
  sum = ReduceSumOp::create(builder, powers, last, builder.getUnitAttr());
}

Value RowExponentials::logSum(ImplicitLocOpBuilder &builder) const {
  return AddOp::create(builder, LogOp::create(builder, sum).getResult(), largest);
}

Value makeUnbroadcast(ImplicitLocOpBuilder &builder, Value value, ArrayRef<int64_t> target) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape == target)
    return value;
  SmallVector<int64_t> dims;
  int64_t missing = shape.size() - target.size();
  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
    if (d < missing || (target[d - missing] == 1 && shape[d] != 1))
      dims.push_back(d);
  Value sum = dims.empty() ? value
                           : Value(ReduceSumOp::create(builder, value, builder.getDenseI64ArrayAttr(dims),
                                                       /*keep=*/UnitAttr()));
  return makeReshape(builder, sum, target);
}

Value makeExpand(ImplicitLocOpBuilder &builder, Value value, ArrayRef<int64_t> target, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept(target);
  for (int64_t dim : dims)
    kept[dim] = 1;
  Value aligned = makeReshape(builder, value, kept);
  if (shapeOf(aligned) == target)
    return aligned;
  return BroadcastOp::create(builder, tensorOf(target, elementOf(value)), aligned);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ShardingRule pointwiseRule(Operation *op) {
  SmallVector<ArrayRef<int64_t>> operands(llvm::map_range(op->getOperands(), shapeOf));
  SmallVector<ArrayRef<int64_t>> results(llvm::map_range(op->getResults(), shapeOf));
  return elementwiseRule(operands, results);
}

ShardingRule recordedRule(Operation *op) {
  const KernelCall call = cast<KernelOpInterface>(op).getKernelCall();
  const std::optional<LaunchDims> dims = launchDims(op, call);
  assert(dims && "verified");
  ShardingRule rule;
  // Until a result has it, a factor is reduced.
  const bool isCombined = dims->terms != KernelTerms::none && dims->firstAddend >= call.inputs.size();
  for (const LaunchFactor &factor : dims->factors)
    rule.addFactor(factor.size, /*replicated=*/true);
  const auto convert = [&](const std::vector<std::vector<LaunchDim>> &tensors, bool isResult) {
    SmallVector<TensorFactors> all;
    for (const std::vector<LaunchDim> &tensor : tensors) {
      TensorFactors &own = all.emplace_back();
      for (const LaunchDim &dim : tensor) {
        own.emplace_back(dim.factors.begin(), dim.factors.end());
        for (int factor : dim.factors) {
          ShardingFactor &known = rule.factors[factor];
          known.positioned |= dim.isPositioned;
          known.replicated &= dims->factors[factor].isFull || !(isResult || isCombined);
        }
      }
    }
    return all;
  };
  rule.operands = convert(dims->inputs, /*isResult=*/false);
  rule.results = convert(dims->outputs, /*isResult=*/true);
  switch (dims->terms) {
  case KernelTerms::none:
    break;
  case KernelTerms::sum:
    rule.reduction = PartialReduction::sum;
    break;
  case KernelTerms::maximum:
    rule.reduction = PartialReduction::max;
    break;
  case KernelTerms::logSumExp:
    rule.reduction = PartialReduction::logsumexp;
    break;
  }
  rule.linear = kernelRecord(call.kernel).isLinear;
  return rule;
}

ShardingRule nonlinearRule(Operation *op) {
  ShardingRule rule = recordedRule(op);
  rule.linear = false;
  return rule;
}

TensorFactors addFactors(ShardingRule &rule, ArrayRef<int64_t> shape, size_t replicatedFrom) {
  TensorFactors tensor;
  for (size_t d = 0; d < shape.size(); ++d)
    tensor.push_back({rule.addFactor(shape[d], d >= replicatedFrom)});
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

bool isBefore(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->getBlock() != op->getBlock() || producer->isBeforeInBlock(op);
}

} // namespace sluice::model
