//===- Attributes.cpp - the spmd dialect's discardable attributes ----------------------===//

#include "dialect/rules/DiscardableAttributes.h"
#include "dialect/spmd/Names.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sluice::spmd {

bool isInHost(Value value) {
  value = yieldedValue(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), spaceName) != Attribute();
  }
  Operation *producer = value.getDefiningOp();
  if (auto wait = dyn_cast<WaitOp>(producer))
    return wait.getStart() && wait.getStart().getDestinationSpace() == MemorySpace::host;
  return streamOf(producer) == StreamKind::host;
}

namespace {

bool areShardings(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<ShardingAttr>);
}

const DiscardableAttribute ofModule[] = {
    {localAxesName, "a list of strings",
     [](Attribute value) {
       auto list = dyn_cast<ArrayAttr>(value);
       return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
     }},
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
    {whenName, "first, not_first, last, not_last or repetitions",
     [](Attribute value) {
       auto when = dyn_cast<WhenAttr>(value);
       return when && !when.getValue().isAll();
     }},
    {streamName, "#spmd.stream<host> or #spmd.stream<gather>",
     [](Attribute value) {
       auto stream = dyn_cast<StreamKindAttr>(value);
       return stream && (stream.getValue() == StreamKind::host || stream.getValue() == StreamKind::gather);
     }},
    {parameterName, "a symbol", isOfClass<FlatSymbolRefAttr>},
    {unshardName, "a list", isOfClass<ArrayAttr>},
    {shardingName, "a sharding", isOfClass<ShardingAttr>},
    {shardingsName, "a list of shardings", areShardings},
    {operandShardingsName, "a list of shardings", areShardings},
    {localShardingsName, "a list of shardings", areShardings},
};

} // namespace

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (isa<ModuleOp>(op))
    return verifyDiscardable(op, "", attribute, ofModule);
  if (failed(verifyDiscardable(op, "", attribute, ofOp)))
    return failure();
  const StringRef name = attribute.getName().strref();
  const std::size_t count =
      (name == shardingsName ? 0 : op->getNumOperands()) + (name == operandShardingsName ? 0 : op->getNumResults());
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if ((name == shardingsName || name == operandShardingsName || name == localShardingsName) &&
      shardings.size() != count)
    return op->emitOpError() << "'" << name << "' requires a sharding for each of " << count << " values, but got "
                             << shardings.size();
  return success();
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
