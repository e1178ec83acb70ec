//===- KernelCall.cpp - kernel calls of ops ---------------------------------------===//
#include "dialect/rules/KernelCall.h"

#include "dialect/rules/Enums.h"

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
