//===- DiscardableAttributes.h - checks of a dialect's discardable attributes ----------===//
//
// A dialect lists the discardable attributes that an op, an argument or a result may have. Its
// verifyOperationAttribute, verifyRegionArgAttribute and verifyRegionResultAttribute check against the list, so that a
// misspelt attribute is an error.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_DISCARDABLEATTRIBUTES_H
#define SLUICE_DIALECT_RULES_DISCARDABLEATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace sluice {

struct DiscardableAttribute {
  llvm::StringLiteral name;
  /// A valid value, with its article.
  llvm::StringLiteral expected;
  bool (*accepts)(mlir::Attribute value);
};

/// Accepts an attribute of one class.
template <typename Attr> bool isOfClass(mlir::Attribute value) { return llvm::isa<Attr>(value); }
/// Accepts an integer of at least `least`.
template <int least> bool isIntegerFrom(mlir::Attribute value) {
  auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
  return integer && integer.getValue().sge(least);
}

/// Verifies that the attribute is in the list and its value is accepted. `owner` has the attribute, such as
/// "argument 0"; empty for the op.
llvm::LogicalResult verifyDiscardable(mlir::Operation *op, const llvm::Twine &owner, mlir::NamedAttribute attribute,
                                      llvm::ArrayRef<DiscardableAttribute> list);

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_DISCARDABLEATTRIBUTES_H
