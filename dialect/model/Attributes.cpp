//===- Attributes.cpp - verification of the model dialect's discardable attributes -----===//

#include "dialect/model/Attributes.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/rules/DiscardableAttributes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sluice::model {
namespace {

/// The hexadecimal digits of a SHA-256.
bool isDigest(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && text.size() == 64 && llvm::all_of(text.getValue(), llvm::isHexDigit);
}

constexpr DiscardableAttribute ofModule[] = {
    {nameName, "a string", isOfClass<StringAttr>},
    {configName, "a string", isOfClass<StringAttr>},
    {batchName, "an integer of at least 1", isIntegerFrom<1>},
    {sequenceName, "an integer of at least 1", isIntegerFrom<1>},
    {recipeName, "a dictionary", isOfClass<DictionaryAttr>},
    {recipeOriginsName, "a dictionary", isOfClass<DictionaryAttr>},
    {compiledToName, "a string", isOfClass<StringAttr>},
    {sourceDigestName, "64 hexadecimal digits", isDigest},
    {unshardedName, "a unit attribute", isOfClass<UnitAttr>},
};

constexpr DiscardableAttribute ofFunction[] = {
    {entryName, "a kind such as #model.entry<train>", isOfClass<EntryKindAttr>},
    // Where they are not those of the module.
    {batchName, "an integer of at least 1", isIntegerFrom<1>},
    {sequenceName, "an integer of at least 1", isIntegerFrom<1>},
};

constexpr DiscardableAttribute ofArgument[] = {
    {inputName, "a string", isOfClass<StringAttr>},
    {limitName, "an integer of at least 1", isIntegerFrom<1>},
    {valuesName, "the elements of a tensor", isOfClass<DenseElementsAttr>},
    {idName, "an integer of at least 0", isIntegerFrom<0>},
};

constexpr DiscardableAttribute ofResult[] = {
    {outputName, "a string", isOfClass<StringAttr>},
};

constexpr DiscardableAttribute ofOp[] = {
    {blockName, "a string", isOfClass<StringAttr>},
    {checkpointName, "a string", isOfClass<StringAttr>},
    {phaseName, "forward, loss, backward or update",
     [](Attribute value) {
       auto phase = dyn_cast<PhaseAttr>(value);
       return phase && phase.getValue() != Phase::init;
     }},
    {invocationName, "an integer of at least 0", isIntegerFrom<0>},
    {idsName, "a list of integers", isOfClass<DenseI64ArrayAttr>},
    {recomputeName, "a unit attribute", isOfClass<UnitAttr>},
    {shardingRuleName, "a string", isOfClass<StringAttr>},
    {costName, "a string", isOfClass<StringAttr>},
    {savedName, "a list of pairs of integers of at least 0",
     [](Attribute value) {
       auto list = dyn_cast<DenseI64ArrayAttr>(value);
       return list && list.size() % 2 == 0 && llvm::all_of(list.asArrayRef(), [](int64_t each) { return each >= 0; });
     }},
};

} // namespace

void addSaved(Operation *op, llvm::ArrayRef<std::int64_t> bytes) {
  llvm::SmallVector<std::int64_t> all;
  if (auto before = op->getAttrOfType<DenseI64ArrayAttr>(savedName))
    llvm::append_range(all, before.asArrayRef());
  llvm::append_range(all, bytes);
  op->setAttr(savedName, DenseI64ArrayAttr::get(op->getContext(), all));
}

void setFusedAttributes(Operation *fused, llvm::ArrayRef<Operation *> replaced) {
  fused->setDiscardableAttrs(llvm::to_vector(replaced.back()->getDiscardableAttrs()));
  fused->removeAttr(savedName);
  for (Operation *op : replaced)
    if (auto saved = op->getAttrOfType<DenseI64ArrayAttr>(savedName))
      addSaved(fused, saved.asArrayRef());
}

LogicalResult ModelDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  llvm::ArrayRef<DiscardableAttribute> list = ofOp;
  if (isa<ModuleOp>(op))
    list = ofModule;
  else if (isa<FunctionOpInterface>(op))
    list = ofFunction;
  return verifyDiscardable(op, "", attribute, list);
}

LogicalResult ModelDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                     NamedAttribute attribute) {
  return verifyDiscardable(op, "argument " + llvm::Twine(argument), attribute, ofArgument);
}

LogicalResult ModelDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                        NamedAttribute attribute) {
  return verifyDiscardable(op, "result " + llvm::Twine(result), attribute, ofResult);
}

} // namespace sluice::model
