//===- EmitContext.cpp - symbol tables and helpers of emission ----------------------===//
#include "passes/emit/EmitContext.h"

#include "dialect/model/Model.h"
#include "runtime/base/Text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace sluice {

std::uint32_t indexOf(llvm::StringMap<std::uint32_t> &indices, std::vector<std::string> &names, llvm::StringRef name) {
  auto [it, isNew] = indices.try_emplace(name, names.size());
  if (isNew)
    names.push_back(name.str());
  return it->second;
}

std::unique_ptr<plan::ValidT> validOf(EmitContext &context, plan_ir::ValidAttr valid) {
  auto result = std::make_unique<plan::ValidT>();
  result->dim = valid.getDim();
  result->chunk = valid.getChunk();
  result->total = valid.getTotal();
  for (StringAttr axis : valid.getAxes())
    result->axes.push_back(context.axes.lookup(axis.getValue()));
  return result;
}

std::unique_ptr<plan::ViewT> viewOf(EmitContext &context, plan_ir::ViewAttr view) {
  auto result = std::make_unique<plan::ViewT>();
  result->buffer = context.buffers.lookup(view.getBuffer().getAttr());
  result->dtype = dtypeOf(view.getElementType());
  result->offset = view.getOffset();
  result->repetition_stride = view.getStep();
  result->shape.assign(view.getShape().begin(), view.getShape().end());
  result->strides.assign(view.getStrides().begin(), view.getStrides().end());
  if (view.getValid())
    result->valid.push_back(validOf(context, view.getValid()));
  return result;
}

std::vector<std::unique_ptr<plan::AttributeT>> attributesOf(llvm::ArrayRef<NamedAttribute> attributes) {
  std::vector<std::unique_ptr<plan::AttributeT>> results;
  for (NamedAttribute named : attributes) {
    auto result = std::make_unique<plan::AttributeT>();
    result->name = named.getName().str();
    if (auto flag = dyn_cast<BoolAttr>(named.getValue())) {
      result->integer = flag.getValue();
    } else if (auto integer = dyn_cast<IntegerAttr>(named.getValue())) {
      result->integer = integer.getValue().getSExtValue();
    } else if (isa<UnitAttr>(named.getValue())) {
      result->integer = 1;
    } else if (auto number = dyn_cast<FloatAttr>(named.getValue())) {
      result->kind = 1;
      result->number = number.getValueAsDouble();
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(named.getValue())) {
      result->kind = 2;
      result->list.assign(list.asArrayRef().begin(), list.asArrayRef().end());
    } else if (auto text = dyn_cast<StringAttr>(named.getValue())) {
      result->kind = 2;
      for (char c : text.getValue())
        result->list.push_back(static_cast<unsigned char>(c));
    } else if (auto enumerator = dyn_cast<EnumAttrInterface>(named.getValue())) {
      result->kind = 2;
      const llvm::StringRef name = enumerator.getCaseName();
      result->list.assign(name.begin(), name.end());
    } else {
      continue;
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string locationText(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    // The module, and the line that calls the op where an importer knows it.
    const bool hasLine = isa<FileLineColLoc>(name.getChildLoc());
    return name.getName().str() + (hasLine ? " (" + locationText(name.getChildLoc()) + ")" : "");
  }
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    const std::string column = file.getColumn() > 0 ? concat(":", file.getColumn()) : "";
    return concat(llvm::sys::path::filename(file.getFilename().getValue()).str(), ":", file.getLine(), column);
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return locationText(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = locationText(part); !text.empty())
        return text;
  return "";
}

} // namespace sluice
