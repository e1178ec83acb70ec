//===- KernelCall.cpp - kernel calls of ops ---------------------------------------===//
#include "dialect/rules/KernelCall.h"

#include "dialect/rules/Enums.h"
#include "dialect/rules/Rules.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace sluice {

KernelCall recordedCall(Operation *op, KernelId kernel) {
  Builder builder(op->getContext());
  KernelCall call{kernel, {}, llvm::to_vector(op->getOperands())};
  const KernelRecord &record = kernelRecord(kernel);
  for (const AttributeRecord &attribute : record.attributes) {
    // Launches add to sums, ops do not.
    if (llvm::any_of(record.sums, [&](const AliasRecord &sum) { return sum.input == attribute.name; }))
      continue;
    std::optional<Attribute> value = op->getInherentAttr(attribute.name);
    if (!value)
      continue;
    if (attribute.kind == AttributeKind::flag)
      value = builder.getI64IntegerAttr(*value && *value != builder.getBoolAttr(false));
    else if (auto choice = dyn_cast_or_null<EnumAttrInterface>(*value))
      value = builder.getI64IntegerAttr(llvm::find(attribute.choices, std::string_view(choice.getCaseName())) -
                                        attribute.choices.begin());
    if (*value)
      call.attributes.push_back(builder.getNamedAttr(attribute.name, *value));
  }
  return call;
}

Attributes launchAttributes(ArrayRef<NamedAttribute> attributes) {
  std::vector<Attributes::Item> items;
  for (NamedAttribute attribute : attributes) {
    Attributes::Item item;
    item.name = attribute.getName().strref();
    if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue()))
      item.integer = static_cast<std::int64_t>(integer.getValue().getZExtValue());
    else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      item.number = number.getValueAsDouble();
    else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      item.list.assign(list.asArrayRef().begin(), list.asArrayRef().end());
    items.push_back(std::move(item));
  }
  return Attributes(std::move(items));
}

static Extents extentsOf(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return {shape.data(), shape.size()};
}

std::optional<LaunchDims> launchDims(Operation *op, const KernelCall &call, ExtentProblem *problem) {
  const SmallVector<Extents> inputs(llvm::map_range(call.inputs, extentsOf)),
      outputs(llvm::map_range(op->getResults(), extentsOf));
  return launchDims(kernelRecord(call.kernel), launchAttributes(call.attributes), inputs, outputs, problem);
}

std::string problemText(const ExtentProblem &problem, std::size_t number, ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (problem.isOutput ? "result #" : "operand #") << number << " has the wrong extents, expected "
         << problem.expected << " but got [";
  llvm::interleaveComma(shape, stream);
  stream << "]";
  return text;
}

LogicalResult verifyExtents(Operation *op) {
  const KernelCall call = cast<KernelOpInterface>(op).getKernelCall();
  ExtentProblem problem;
  if (launchDims(op, call, &problem))
    return success();
  Value wrong = problem.isOutput ? Value(op->getResult(problem.operand)) : call.inputs[problem.operand];
  const size_t number = problem.isOutput ? problem.operand : llvm::find(op->getOperands(), wrong).getIndex();
  return op->emitOpError() << problemText(problem, number, cast<RankedTensorType>(wrong.getType()).getShape());
}

/// True for tensors of one shape and element type.
static bool haveOneType(Value a, Value b) {
  auto left = cast<RankedTensorType>(a.getType()), right = cast<RankedTensorType>(b.getType());
  return left.getShape() == right.getShape() && left.getElementType() == right.getElementType();
}

AliasPairs KernelCall::mayAlias(ResultRange results) const {
  AliasPairs pairs = mayAliasPairs(kernelRecord(kernel), launchAttributes(attributes), inputs.size(), results.size());
  llvm::erase_if(pairs, [&](auto pair) { return !haveOneType(inputs[pair.first], results[pair.second]); });
  return pairs;
}

AliasPairs KernelCall::mustAlias(ResultRange results) const {
  return mustAliasPairs(kernelRecord(kernel), launchAttributes(attributes), inputs.size(), results.size());
}

} // namespace sluice
