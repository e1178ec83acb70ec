//===- Reshard.cpp - changes of sharding --------------------------------------------===//

#include "dialect/spmd/Mesh.h"

using namespace mlir;
using namespace sluice::spmd;

void ReshardOp::build(OpBuilder &builder, OperationState &state, Value operand, ShardingAttr source,
                      ShardingAttr destination) {
  build(builder, state, operand.getType(), operand, builder.getArrayAttr({source}), builder.getArrayAttr({destination}),
        StringAttr());
}

/// C3 and C4, of one operand or result.
static LogicalResult verifySharding(ReshardOp op, Type type, ShardingAttr sharding) {
  // reshard_c3
  RankedTensorType global = globalType(cast<RankedTensorType>(type));
  if (sharding.getDims().size() == 1)
    global = flattened(global);
  bool fits = static_cast<int64_t>(sharding.getDims().size()) == global.getRank();
  for (int64_t dim = 0; fits && dim < global.getRank(); ++dim)
    fits = sharding.getDims()[dim].isReplicated() || sharding.getDims()[dim].getTotal() == global.getDimSize(dim);
  ShardingAttr encoding = shardingOf(type);
  // A local type has no partial axes.
  auto inTypes = ShardingAttr::get(op.getContext(), sharding.getDims(), {}, sluice::PartialReduction::none);
  if (!fits || (encoding && !encoding.isSamePlacement(inTypes)))
    return op.emitOpError() << "sharding " << sharding << " does not fit type " << type;
  // reshard_c4
  MeshOp mesh = meshOf(op);
  auto verifyAxes = [&](ArrayRef<StringAttr> axes) -> LogicalResult {
    for (StringAttr axis : axes)
      if (mesh && !axisSize(mesh, axis.getValue())) {
        InFlightDiagnostic error = op.emitOpError() << "axis " << axis << " is not an axis of the mesh";
        error.attachNote(mesh.getLoc()) << "the mesh is here";
        return error;
      }
    return success();
  };
  for (DimShardingAttr dim : sharding.getDims())
    if (failed(verifyAxes(dim.getAxes())))
      return failure();
  return verifyAxes(sharding.getPartialAxes());
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
    auto global = globalType(cast<RankedTensorType>(operand.getType()));
    bool isFlat = source.getDims().size() == 1 || destination.getDims().size() == 1;
    if (auto other = globalType(cast<RankedTensorType>(result.getType()));
        other != global && !(isFlat && flattened(other) == flattened(global)))
      return emitOpError() << "global type of a result, expected " << global << " but got " << other;
    if (failed(verifySharding(*this, operand.getType(), source)) ||
        failed(verifySharding(*this, result.getType(), destination)))
      return failure();
  }
  return success();
}
