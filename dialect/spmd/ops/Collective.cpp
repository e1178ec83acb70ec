//===- Collective.cpp - asynchronous collectives: verifiers ----------------------------===//

#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::spmd;

namespace {

/// C2 of all starts.
LogicalResult verifyAxes(Operation *op, ArrayAttr axes) {
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    if (failed(verifyAxis(op, axis)))
      return failure();
  return verifyDistinct(op, "axis", axes);
}

/// C3 of reductions.
LogicalResult verifyScale(Operation *op, ReductionKind kind, double scale) {
  if (kind != ReductionKind::premul_sum && scale != 1.0)
    return op->emitOpError() << "'scale' requires the reduction premul_sum but got " << stringifyReductionKind(kind);
  return success();
}

/// True if the type is a shard along exactly these axes, or unsharded if the group has one rank.
bool isShardAlong(Operation *op, Type type, ArrayAttr axes) {
  std::optional<ShardedDim> sharded = shardedDimOf(type);
  if (!sharded) {
    MeshOp mesh = meshOf(op);
    return mesh && groupSize(mesh, axes) == 1;
  }
  return llvm::equal(sharded->axes, axes);
}

} // namespace

std::optional<CollectiveKind> AllGatherStartOp::getKind() { return CollectiveKind::all_gather; }
std::optional<CollectiveKind> ReduceScatterStartOp::getKind() { return CollectiveKind::reduce_scatter; }
std::optional<CollectiveKind> AllReduceStartOp::getKind() { return CollectiveKind::all_reduce; }
std::optional<CollectiveKind> AllToAllStartOp::getKind() { return CollectiveKind::all_to_all; }
std::optional<CollectiveKind> CopyStartOp::getKind() { return std::nullopt; }

SmallVector<Type> AllGatherStartOp::getValueTypes() {
  return llvm::map_to_vector(getOperands().getTypes(),
                             [](Type type) -> Type { return globalType(cast<RankedTensorType>(type)); });
}

LogicalResult AllGatherStartOp::verify() {
  // all_gather_start_c2
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  // all_gather_start_c3
  for (Value operand : getOperands())
    if (!isShardAlong(*this, operand.getType(), getAxes()))
      return emitOpError() << "operand, expected a shard along " << getAxes() << " but got " << operand.getType();
  return success();
}

LogicalResult ReduceScatterStartOp::verify() {
  // reduce_scatter_start_c2
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  // reduce_scatter_start_c3
  if (failed(verifyScale(*this, getOp(), getScale().convertToDouble())))
    return failure();
  // reduce_scatter_start_c4
  if (getShards().size() != getOperands().size())
    return emitOpError() << "shards, expected " << getOperands().size() << " but got " << getShards().size();
  // reduce_scatter_start_c5
  MeshOp mesh = meshOf(*this);
  for (auto [operand, shard] : llvm::zip(getOperands(), getShards().getAsValueRange<TypeAttr>())) {
    auto unsharded = cast<RankedTensorType>(operand.getType());
    auto type = dyn_cast<RankedTensorType>(shard);
    bool isChunk = type && isShardAlong(*this, type, getAxes()) && globalType(type) == unsharded;
    if (auto sharded = shardedDimOf(type); isChunk && mesh && sharded)
      isChunk = shardType(unsharded, sharded->dim, getAxes(), groupSize(mesh, getAxes())) == type;
    if (!isChunk)
      return emitOpError() << "shard, expected a chunk of " << unsharded << " along " << getAxes() << " but got "
                           << shard;
  }
  return success();
}

LogicalResult AllReduceStartOp::verify() {
  // all_reduce_start_c2
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  // all_reduce_start_c3
  return verifyScale(*this, getOp(), getScale().convertToDouble());
}

RankedTensorType AllToAllStartOp::getSourceChunk(unsigned index) {
  MeshOp mesh = meshOf(*this);
  return shardType(cast<RankedTensorType>(getOperands()[index].getType()), 0, getAxes(),
                   mesh ? groupSize(mesh, getAxes()) : 1);
}

LogicalResult AllToAllStartOp::verify() {
  // all_to_all_start_c2
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  // all_to_all_start_c3
  MeshOp mesh = meshOf(*this);
  const int64_t ranks = mesh ? groupSize(mesh, getAxes()) : 1;
  for (Type type : getOperands().getTypes())
    if (auto tensor = cast<RankedTensorType>(type); tensor.getRank() == 0 || tensor.getDimSize(0) % ranks != 0)
      return emitOpError() << "operand, expected chunks of " << ranks << " ranks along dim 0 but got " << type;
  return success();
}

LogicalResult CopyStartOp::verify() {
  // copy_start_c3
  for (Value operand : getOperands())
    if (isInHost(operand) == (getTo() == MemorySpace::host))
      return emitOpError() << "operand is in the memory of the " << stringifyMemorySpace(getTo()) << " already";
  return success();
}

LogicalResult WaitOp::verify() {
  // wait_c1
  CollectiveOpInterface start = getStart();
  if (!start || start->getBlock() != (*this)->getBlock())
    return emitOpError("token is not that of a start in the same block");
  // wait_c2
  for (Operation *user : getToken().getUsers())
    if (user != getOperation() && isa<WaitOp>(user)) {
      // Only the later of the two is an error.
      if (user->getBlock() == (*this)->getBlock() && (*this)->isBeforeInBlock(user))
        continue;
      InFlightDiagnostic error = emitOpError("is the second wait for its token");
      error.attachNote(user->getLoc()) << "the first is here";
      return error;
    }
  // wait_c3
  SmallVector<Type> types = start.getValueTypes();
  if (TypeRange(types) != getValues().getTypes())
    return emitOpError() << "values, expected types (" << TypeRange(types) << ") but got (" << getValues().getTypes()
                         << ")";
  // wait_c4
  if (getChained())
    for (Operation *user : (*this)->getUsers())
      if (!isa<CollectiveOpInterface>(user) && streamOf(user) != StreamKind::gather) {
        InFlightDiagnostic error =
            emitOpError("values of a chained wait are read by an op that is not a collective or copy");
        error.attachNote(user->getLoc()) << "the reader is here";
        return error;
      }
  // wait_c5
  if ((*this)->getAttr(whenName) != start->getAttr(whenName)) {
    InFlightDiagnostic error = emitOpError() << "'" << whenName << "' differs from that of the start";
    error.attachNote(start->getLoc()) << "the start is here";
    return error;
  }
  return success();
}

LogicalResult AllSliceOp::verify() {
  // all_slice_c1
  auto unsharded = cast<RankedTensorType>(getOperand().getType());
  auto slice = cast<RankedTensorType>(getResult().getType());
  std::optional<ShardedDim> sharded = shardedDimOf(slice);
  MeshOp mesh = meshOf(*this);
  bool isChunk = sharded && !shardingOf(unsharded) && globalType(slice) == unsharded;
  if (isChunk && mesh)
    isChunk = llvm::all_of(sharded->axes, [&](StringAttr axis) { return axisSize(mesh, axis).has_value(); }) &&
              shardType(unsharded, sharded->dim, sharded->axesAttr(), groupSize(mesh, sharded->axesAttr())) == slice;
  if (!isChunk)
    return emitOpError() << "result, expected a chunk of " << unsharded << " but got " << slice;
  return success();
}

KernelCall AllSliceOp::getKernelCall() {
  KernelCall call;
  call.kernel = KernelId::slice;
  call.attributes.push_back(
      {StringAttr::get(getContext(), "dim"),
       IntegerAttr::get(IntegerType::get(getContext(), 64), shardedDimOf(getResult().getType())->dim)});
  call.inputs.push_back(getOperand());
  return call;
}

LogicalResult ReleaseOp::verify() {
  for (Value value : getValues()) {
    // release_c2
    if (auto reshard = value.getDefiningOp<ReshardOp>(); reshard && reshard.getUnit() == getUnit())
      continue;
    auto wait = value.getDefiningOp<WaitOp>();
    CollectiveOpInterface gather = wait ? wait.getStart() : CollectiveOpInterface();
    if (!gather || !gather.isUnshard())
      return emitOpError("value is not gathered");
    if (unitOf(gather) != getUnit().value_or(""))
      return emitOpError() << "unit, expected that of the gather but got \"" << getUnit().value_or("") << '"';
    // release_c3
    for (Operation *user : value.getUsers())
      if (user != getOperation() && user->getBlock() == (*this)->getBlock() && (*this)->isBeforeInBlock(user)) {
        InFlightDiagnostic error = emitOpError("value is read after its release");
        error.attachNote(user->getLoc()) << "the reader is here";
        return error;
      }
  }
  return success();
}
