//===- Rules.cpp - definitions of the interfaces and enums -------------------------------===//

#include "dialect/rules/Rules.h"

#include "dialect/rules/EnumAttrInterface.cpp.inc"
#include "dialect/rules/Enums.cpp.inc"
#include "dialect/rules/RuleAttrs.cpp.inc"
#include "dialect/rules/Rules.cpp.inc"

bool sluice::hasShardedTensor(mlir::Operation *op) {
  auto isSharded = [](mlir::Attribute value) {
    auto sharding = llvm::dyn_cast<ShardingAttrInterface>(value);
    return sharding && sharding.isSharded();
  };
  return llvm::any_of(op->getDiscardableAttrs(), [&](mlir::NamedAttribute attribute) {
    auto list = llvm::dyn_cast<mlir::ArrayAttr>(attribute.getValue());
    return list ? llvm::any_of(list, isSharded) : isSharded(attribute.getValue());
  });
}
