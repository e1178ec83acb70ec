//===- Collectives.cpp - reshards as collectives ------------------------------------------===//

#include "passes/sharding/tensor/Collectives.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

#include <numeric>

using namespace mlir;

namespace sluice::tensor {

void copyTags(Operation *from, Operation *to) {
  for (StringRef name : {StringRef(model::phaseName), StringRef(model::blockName), StringRef(model::invocationName),
                         StringRef(model::recomputeName)})
    if (Attribute value = from->getAttr(name))
      to->setAttr(name, value);
}

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Notes what it makes.
template <typename Op, typename... Args>
Op make(OpBuilder &builder, Location loc, SmallVectorImpl<Operation *> &made, Args &&...args) {
  auto op = Op::create(builder, loc, std::forward<Args>(args)...);
  made.push_back(op);
  return op;
}

/// A shape with its sharded dim as segments, ranks and rows: [outer, segments, ranks, chunk, inner]. `extent` is that
/// of a segment.
struct SplitShape {
  std::int64_t outer = 1, segments, extent, chunk, inner = 1;
  SplitShape(ArrayRef<std::int64_t> shape, const AxisSharding &sharding)
      : segments(sharding.segments), extent(shape[sharding.dim] / sharding.segments), chunk(sharding.chunk) {
    for (auto [dim, size] : llvm::enumerate(shape))
      if (static_cast<std::int64_t>(dim) != sharding.dim)
        (static_cast<std::int64_t>(dim) < sharding.dim ? outer : inner) *= size;
  }
};

} // namespace

Value padded(OpBuilder &builder, Value value, RankedTensorType global, const AxisSharding &sharding, const Axis &axis,
             SmallVectorImpl<Operation *> &made) {
  Location loc = value.getLoc();
  RankedTensorType local = localType(global, sharding);
  SplitShape split(global.getShape(), sharding);
  AxisSharding rows = sharding;
  // With segments in a separate dim, all padding is at the end of one dim.
  RankedTensorType type = local;
  if (sharding.segments > 1) {
    rows.dim = 2;
    rows.segments = 1;
    type = RankedTensorType::get({split.outer, split.segments, split.chunk, split.inner}, global.getElementType());
    value = make<model::ReshapeOp>(builder, loc, made, type, value).getResult();
  }
  SmallVector<std::int64_t> none(type.getRank(), 0), dense(type.getRank(), 1), shape(type.getShape());
  auto pad = make<model::PadOp>(builder, loc, made, type, value, none, none, dense, APFloat(0.0));
  // The rows that are read end where the rank's part does; all rows are written.
  shape[rows.dim] = split.extent;
  auto source = withAxis(nullptr, rows, axis.name, RankedTensorType::get(shape, global.getElementType()));
  pad->setAttr(spmd::localShardingsName,
               builder.getArrayAttr({source, spmd::ShardingAttr::replicated(builder.getContext(), type.getRank())}));
  if (sharding.segments > 1)
    return make<model::ReshapeOp>(builder, loc, made, local, pad.getResult()).getResult();
  return pad.getResult();
}

namespace {

/// Lowers one reshard; collects the ops that it creates.
class ReshardLowering {
public:
  ReshardLowering(spmd::ReshardOp reshard, Axis alongAxis)
      : builder(reshard), loc(reshard.getLoc()), axis(std::move(alongAxis)),
        sourceSharding(cast<spmd::ShardingAttr>(reshard.getSources()[0])),
        source(tensor::alongAxis(sourceSharding, axis.name)),
        destination(tensor::alongAxis(cast<spmd::ShardingAttr>(reshard.getDestinations()[0]), axis.name)),
        global(typeOf(reshard.getOperands()[0])) {
    if (source.isSharded())
      global = spmd::globalType(global, sourceSharding);
  }

  Value run(Value value) {
    if (source.isPartial())
      return destination.isSharded() ? scattered(value) : reduced(value);
    return destination.isSharded() ? sliced(value) : gathered(value);
  }

  SmallVector<Operation *> made;

private:
  template <typename Op, typename... Args> Op create(Args &&...args) {
    return make<Op>(builder, loc, made, std::forward<Args>(args)...);
  }
  RankedTensorType tensor(ArrayRef<std::int64_t> shape) const {
    return RankedTensorType::get(shape, global.getElementType());
  }
  Type token() { return spmd::TokenType::get(builder.getContext()); }
  ArrayAttr axes() { return builder.getStrArrayAttr({axis.name}); }
  Value reshaped(RankedTensorType type, Value value) { return create<model::ReshapeOp>(type, value).getResult(); }

  Value allReduced(Value value, ReductionKind op);
  Value reduced(Value partial);
  Value scattered(Value partial);
  Value gathered(Value part);
  Value sliced(Value value);

  OpBuilder builder;
  Location loc;
  Axis axis;
  spmd::ShardingAttr sourceSharding;
  AxisSharding source, destination;
  RankedTensorType global;
};

/// Over all axes along which the source is partial.
Value ReshardLowering::allReduced(Value value, ReductionKind op) {
  SmallVector<Attribute> over;
  for (const spmd::PartialAxis &partial : sourceSharding.getPartialAxes())
    over.push_back(partial.axis);
  auto start =
      create<spmd::AllReduceStartOp>(token(), value, builder.getArrayAttr(over), op, APFloat(1.0), StringAttr());
  return create<spmd::WaitOp>(value.getType(), start.getToken()).getValues()[0];
}

Value ReshardLowering::reduced(Value partial) {
  if (source.reduction != PartialReduction::logsumexp)
    return allReduced(partial, source.reduction == PartialReduction::max    ? ReductionKind::max
                               : source.reduction == PartialReduction::mean ? ReductionKind::mean
                                                                            : ReductionKind::sum);
  // log(sum(exp(p))) over ranks, relative to the largest, so nothing overflows.
  Value largest = allReduced(partial, ReductionKind::max);
  Value shifted = create<model::SubtractOp>(global, partial, largest).getResult();
  Value terms = create<model::ExpOp>(global, shifted).getResult();
  Value sum = allReduced(terms, ReductionKind::sum);
  Value log = create<model::LogOp>(global, sum).getResult();
  return create<model::AddOp>(global, log, largest).getResult();
}

Value ReshardLowering::scattered(Value partial) {
  RankedTensorType shard = spmd::shardType(global, destination.dim, axes(), axis.ranks);
  auto start = create<spmd::ReduceScatterStartOp>(token(), ValueRange(partial), axes(), ReductionKind::sum,
                                                  APFloat(1.0), builder.getTypeArrayAttr({shard}), StringAttr());
  Value part = create<spmd::WaitOp>(shard, start.getToken()).getValues()[0];
  return reshaped(localType(global, destination), part);
}

Value ReshardLowering::gathered(Value part) {
  SplitShape split(global.getShape(), source);
  const std::int64_t ranks = axis.ranks;
  if (isPadded(global, source, ranks))
    part = padded(builder, part, global, source, axis, made);
  // Gathered with the ranks as the first dim, which is then transposed into place.
  RankedTensorType all = tensor({ranks, split.outer, split.segments, split.chunk, split.inner});
  Value mine = reshaped(spmd::shardType(all, 0, axes(), ranks), part);
  auto start = create<spmd::AllGatherStartOp>(token(), mine, axes(), StringAttr());
  Value gathered = create<spmd::WaitOp>(all, start.getToken()).getValues()[0];
  Value placed = create<model::TransposeOp>(tensor({split.outer, split.segments, ranks, split.chunk, split.inner}),
                                            gathered, builder.getDenseI64ArrayAttr({1, 2, 0, 3, 4}))
                     .getResult();
  if (ranks * split.chunk != split.extent) {
    // The padding is after the last row of each segment.
    std::int64_t outer = split.outer * split.segments;
    Value rows = reshaped(tensor({outer, ranks * split.chunk, split.inner}), placed);
    placed = create<model::SliceOp>(tensor({outer, split.extent, split.inner}), rows, ArrayRef<std::int64_t>{0, 0, 0},
                                    ArrayRef<std::int64_t>{outer, split.extent, split.inner},
                                    ArrayRef<std::int64_t>{1, 1, 1})
                 .getResult();
  }
  return reshaped(tensor(global.getShape()), placed);
}

Value ReshardLowering::sliced(Value value) {
  SplitShape split(global.getShape(), destination);
  // In groups of rows of which every chunk has a number, where chunks are not those of rows.
  std::int64_t group = split.chunk == chunkOf(split.extent, axis.ranks) ? 1 : std::gcd(split.extent, split.chunk);
  RankedTensorType segmented = tensor({split.outer, split.segments, split.extent / group, group * split.inner});
  Value dims = reshaped(segmented, value);
  Value mine = create<spmd::AllSliceOp>(spmd::shardType(segmented, 2, axes(), axis.ranks), dims).getResult();
  Value part = reshaped(localType(global, destination), mine);
  // A slice leaves padding unwritten; segments are read dense.
  if (destination.segments != 1 && isPadded(global, destination, axis.ranks))
    part = padded(builder, part, global, destination, axis, made);
  return part;
}

} // namespace

/// The first axis that a reshard of one value names; it names others as well where it reduces over them together.
static StringAttr axisOf(spmd::ReshardOp reshard) {
  for (ArrayAttr list : {reshard.getSources(), reshard.getDestinations()}) {
    auto sharding = cast<spmd::ShardingAttr>(list[0]);
    if (sharding.isPartial())
      return sharding.getPartialAxes().front().axis;
    if (std::optional<spmd::ShardedDim> sharded = spmd::shardedDim(sharding))
      return sharded->axes.front();
  }
  llvm_unreachable("a reshard that changes nothing");
}

void lowerReshard(spmd::ReshardOp reshard, llvm::function_ref<std::int64_t(StringRef)> ranksOf) {
  std::string axis = axisOf(reshard).str();
  ReshardLowering lowering(reshard, {axis, ranksOf(axis)});
  Value value = lowering.run(reshard.getOperands()[0]);
  for (Operation *op : lowering.made) {
    copyTags(reshard, op);
    if (Attribute when = reshard->getAttr(spmd::whenName))
      op->setAttr(spmd::whenName, when);
  }
  if (Attribute ids = reshard->getAttr(model::idsName))
    value.getDefiningOp()->setAttr(model::idsName, ids);
  reshard.getResults()[0].replaceAllUsesWith(value);
}

} // namespace sluice::tensor
