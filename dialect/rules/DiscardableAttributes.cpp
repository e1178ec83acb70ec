//===- DiscardableAttributes.cpp - checks of a dialect's discardable attributes --------===//

#include "dialect/rules/DiscardableAttributes.h"

#include "mlir/IR/SymbolTable.h"

using namespace sluice;

/// "'a', 'b' or 'c'".
static std::string alternatives(llvm::ArrayRef<DiscardableAttribute> list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "'" : i + 1 == list.size() ? " or '" : ", '") + list[i].name.str() + "'";
  return text;
}

llvm::LogicalResult sluice::verifyDiscardable(mlir::Operation *op, const llvm::Twine &owner,
                                              mlir::NamedAttribute attribute,
                                              llvm::ArrayRef<DiscardableAttribute> list) {
  std::string place = owner.str();
  if (!place.empty()) {
    place.insert(0, " on ");
    if (auto symbol = op->getAttrOfType<mlir::StringAttr>(mlir::SymbolTable::getSymbolAttrName()))
      place.append(" of @").append(symbol.str());
  }
  const auto *declared =
      llvm::find_if(list, [&](const DiscardableAttribute &each) { return attribute.getName().strref() == each.name; });
  if (declared == list.end())
    return op->emitOpError() << "unknown attribute" << place << ", expected " << alternatives(list) << " but got '"
                             << attribute.getName().strref() << "'";
  if (!declared->accepts(attribute.getValue()))
    return op->emitOpError() << "'" << declared->name << "'" << place << ", expected " << declared->expected
                             << " but got " << attribute.getValue();
  return llvm::success();
}
