//===- Attributes.cpp - verification of the spmd dialect's discardable attributes ------===//

#include "dialect/rules/DiscardableAttributes.h"
#include "dialect/spmd/Names.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sluice::spmd {
namespace {

const DiscardableAttribute ofFunction[] = {
    {rowsName, "a string", isOfClass<StringAttr>},
};

const DiscardableAttribute ofArgument[] = {
    {parameterName, "a symbol", isOfClass<FlatSymbolRefAttr>},
    {stateName, "a string", isOfClass<StringAttr>},
    {inputName, "a string", isOfClass<StringAttr>},
    {perRepetitionName, "a unit attribute", isOfClass<UnitAttr>},
    {spaceName, "a memory space", isOfClass<MemorySpaceAttr>},
    {shardingName, "a sharding", isOfClass<ShardingAttr>},
};

const DiscardableAttribute ofResult[] = {
    {donatesName, "an integer of at least 0", isIntegerFrom<0>},
    {outputName, "a string", isOfClass<StringAttr>},
};

const DiscardableAttribute ofOp[] = {
    // section_c3
    {whenName, "first, not_first, last, not_last or repetitions", [](Attribute value) {
       auto when = dyn_cast<WhenAttr>(value);
       return when && !when.getValue().isAll();
     }},
    {streamName, "#spmd.stream<host> or #spmd.stream<gather>", [](Attribute value) {
       auto stream = dyn_cast<StreamKindAttr>(value);
       return stream && (stream.getValue() == StreamKind::host || stream.getValue() == StreamKind::gather);
     }},
    {parameterName, "a symbol", isOfClass<FlatSymbolRefAttr>},
    {placesName, "a list", isOfClass<ArrayAttr>},
    {unshardName, "a list", isOfClass<ArrayAttr>},
    {shardingName, "a sharding", isOfClass<ShardingAttr>},
    {shardingsName, "a list", isOfClass<ArrayAttr>},
    {operandShardingsName, "a list", isOfClass<ArrayAttr>},
    {tensorName, "a dictionary", isOfClass<DictionaryAttr>},
    {termName, "a list", isOfClass<ArrayAttr>},
};

} // namespace

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (isa<FunctionOpInterface>(op))
    return verifyDiscardable(op, "", attribute, ofFunction);
  return verifyDiscardable(op, "", attribute, ofOp);
}

LogicalResult SpmdDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  return verifyDiscardable(op, "argument " + llvm::Twine(argument), attribute, ofArgument);
}

LogicalResult SpmdDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                       NamedAttribute attribute) {
  return verifyDiscardable(op, "result " + llvm::Twine(result), attribute, ofResult);
}

} // namespace sluice::spmd
