//===- Reshard.cpp - changes of sharding --------------------------------------------===//

#include "dialect/spmd/Mesh.h"

using namespace mlir;
using namespace sluice::spmd;

void ReshardOp::build(OpBuilder &builder, OperationState &state, Value operand, ShardingAttr source,
                      ShardingAttr destination) {
  build(builder, state, operand.getType(), operand, builder.getArrayAttr({source}), builder.getArrayAttr({destination}),
        StringAttr());
}

/// True if the type has the extents of a sharding: those of the global tensor, or those of one rank.
static bool hasExtents(RankedTensorType type, ShardingAttr sharding, bool isLocal) {
  if (sharding.getDims().size() == 1)
    type = flattened(type);
  if (static_cast<int64_t>(sharding.getDims().size()) != type.getRank())
    return false;
  return llvm::all_of(llvm::zip(sharding.getDims(), type.getShape()), [&](auto pair) {
    auto [dim, extent] = pair;
    return dim.isReplicated() || extent == (isLocal ? dim.localExtent() : dim.getTotal());
  });
}

/// The global type of a value: that of a local type follows from its encoding, or from its sharding if the local type
/// has no encoding.
static RankedTensorType globalTypeOf(Type type, ShardingAttr sharding) {
  auto tensor = cast<RankedTensorType>(type);
  if (shardingOf(tensor))
    return globalType(tensor);
  return !hasExtents(tensor, sharding, /*isLocal=*/false) && hasExtents(tensor, sharding, /*isLocal=*/true)
             ? globalType(tensor, sharding)
             : tensor;
}

/// Verifies one operand or result.
static LogicalResult verifySharding(ReshardOp op, Type type, ShardingAttr sharding) {
  // reshard_c3
  ShardingAttr encoding = shardingOf(type);
  if (!hasExtents(globalTypeOf(type, sharding), sharding, /*isLocal=*/false) ||
      (encoding && !encoding.isSamePlacement(sharding.withoutPartial())))
    return op.emitOpError() << "sharding " << sharding << " does not fit type " << type;
  // reshard_c4
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      if (failed(verifyAxis(op, axis)))
        return failure();
  for (const PartialAxis &partial : sharding.getPartialAxes())
    if (failed(verifyAxis(op, partial.axis)))
      return failure();
  return success();
}

LogicalResult ReshardOp::verify() {
  // reshard_c1
  const std::size_t count = getOperands().size();
  if (count == 0 || getResults().size() != count || getSources().size() != count || getDestinations().size() != count)
    return emitOpError() << "requires a result, a source and a destination for each operand, but got " << count
                         << " operands, " << getResults().size() << " results, " << getSources().size()
                         << " sources and " << getDestinations().size() << " destinations";
  for (auto [operand, result, source, destination] :
       llvm::zip(getOperands(), getResults(), getSources().getAsRange<ShardingAttr>(),
                 getDestinations().getAsRange<ShardingAttr>())) {
    // reshard_c2
    RankedTensorType global = globalTypeOf(operand.getType(), source);
    bool isFlat = source.getDims().size() == 1 || destination.getDims().size() == 1;
    if (RankedTensorType other = globalTypeOf(result.getType(), destination);
        other != global && !(isFlat && flattened(other) == flattened(global)))
      return emitOpError() << "global type of a result, expected " << global << " but got " << other;
    if (failed(verifySharding(*this, operand.getType(), source)) ||
        failed(verifySharding(*this, result.getType(), destination)))
      return failure();
  }
  return success();
}
