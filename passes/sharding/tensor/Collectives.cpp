//===- Collectives.cpp - reshards along a model-parallel axis as collectives ---------------===//

#include "passes/sharding/tensor/Collectives.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"

#include <numeric>

using namespace mlir;

namespace sluice::tensor {

namespace {

/// Creates an op with the tags of another.
template <typename Op, typename... Args> Op create(OpBuilder &builder, Location loc, Operation *like, Args &&...args) {
  auto op = Op::create(builder, loc, std::forward<Args>(args)...);
  copyTags(like, op);
  return op;
}

/// A shape with its sharded dim as segments, ranks and rows: [outer, segments, ranks, chunk, inner]. `extent` is that
/// of a segment.
struct ChunkedShape {
  std::int64_t outer = 1, segments, extent, chunk, inner = 1;
  ChunkedShape(ArrayRef<std::int64_t> shape, const AxisSharding &sharding)
      : segments(sharding.segments), extent(shape[sharding.dim] / sharding.segments), chunk(sharding.chunk) {
    for (auto [dim, size] : llvm::enumerate(shape))
      if (static_cast<std::int64_t>(dim) != sharding.dim)
        (static_cast<std::int64_t>(dim) < sharding.dim ? outer : inner) *= size;
  }
};

} // namespace

Value clearPadding(OpBuilder &builder, Value value, RankedTensorType global, const AxisSharding &sharding,
                   const Axis &axis, Operation *like) {
  Location loc = value.getLoc();
  RankedTensorType local = localType(global, sharding), type = local;
  ChunkedShape chunked(global.getShape(), sharding);
  AxisSharding rows = sharding;
  // With the segments as a separate dim, all padding is at the end of one dim.
  if (sharding.segments > 1) {
    rows.dim = 2;
    rows.segments = 1;
    type =
        RankedTensorType::get({chunked.outer, chunked.segments, chunked.chunk, chunked.inner}, global.getElementType());
    value = create<model::ReshapeOp>(builder, loc, like, type, value).getResult();
  }
  SmallVector<std::int64_t> none(type.getRank(), 0), dense(type.getRank(), 1), shape(type.getShape());
  auto pad = create<model::PadOp>(builder, loc, like, type, value, none, none, dense, APFloat(0.0));
  // The op reads the valid rows and writes all rows.
  shape[rows.dim] = chunked.extent;
  auto source = withAxis(nullptr, rows, axis.name, RankedTensorType::get(shape, global.getElementType()));
  pad->setAttr(spmd::localShardingsName,
               builder.getArrayAttr({source, spmd::ShardingAttr::replicated(builder.getContext(), type.getRank())}));
  if (sharding.segments > 1)
    return create<model::ReshapeOp>(builder, loc, like, local, pad.getResult()).getResult();
  return pad.getResult();
}

namespace {

/// Lowers one reshard.
class ReshardLowering {
public:
  ReshardLowering(spmd::ReshardOp reshard, Axis alongAxis)
      : reshard(reshard), builder(reshard), axis(std::move(alongAxis)),
        source(tensor::alongAxis(sourceOf(reshard), axis.name)),
        destination(tensor::alongAxis(destinationOf(reshard), axis.name)),
        global(cast<RankedTensorType>(reshard.getOperands()[0].getType())) {
    if (source.isSharded())
      global = spmd::globalType(global, sourceOf(reshard));
  }

  Value run(Value value) {
    if (source.isPartial())
      return destination.isSharded() ? reduceScatter(value) : reduce(value);
    if (source.isSharded())
      return destination.isSharded() ? exchange(value) : gather(value);
    return slice(value);
  }

private:
  template <typename Op, typename... Args> Op create(Args &&...args) {
    return tensor::create<Op>(builder, reshard.getLoc(), reshard, std::forward<Args>(args)...);
  }
  RankedTensorType tensor(ArrayRef<std::int64_t> shape) const {
    return RankedTensorType::get(shape, global.getElementType());
  }
  ArrayAttr axes() { return builder.getStrArrayAttr({axis.name}); }
  Value reshape(RankedTensorType type, Value value) { return create<model::ReshapeOp>(type, value).getResult(); }
  Value wait(spmd::CollectiveOpInterface start) { return create<spmd::WaitOp>(start).getValues()[0]; }

  Value allReduce(Value value, ReductionKind kind);
  Value reduce(Value partial);
  Value reduceScatter(Value partial);
  /// `byRank` has the shards of the ranks along dim 0: a transpose moves them between the segments and rows of the
  /// source's dim, of a value of this type.
  Value join(Value byRank, RankedTensorType type);
  Value gather(Value shard);
  Value exchange(Value shard);
  Value slice(Value value);

  spmd::ReshardOp reshard;
  OpBuilder builder;
  Axis axis;
  AxisSharding source, destination;
  RankedTensorType global;
};

/// Over all axes along which the source is partial.
Value ReshardLowering::allReduce(Value value, ReductionKind kind) {
  auto axes = llvm::map_to_vector(sourceOf(reshard).getPartialAxes(),
                                  [](const spmd::PartialAxis &partial) -> Attribute { return partial.axis; });
  return wait(create<spmd::AllReduceStartOp>(value, builder.getArrayAttr(axes), kind, APFloat(1.0), StringAttr()));
}

Value ReshardLowering::reduce(Value partial) {
  if (source.reduction != PartialReduction::logsumexp)
    return allReduce(partial, source.reduction == PartialReduction::max    ? ReductionKind::max
                              : source.reduction == PartialReduction::mean ? ReductionKind::mean
                                                                           : ReductionKind::sum);
  // log(sum(exp(p))) over ranks, relative to the largest, so nothing overflows.
  Value largest = allReduce(partial, ReductionKind::max);
  Value shifted = create<model::SubtractOp>(global, partial, largest).getResult();
  Value sum = allReduce(create<model::ExpOp>(global, shifted).getResult(), ReductionKind::sum);
  Value log = create<model::LogOp>(global, sum).getResult();
  return create<model::AddOp>(global, log, largest).getResult();
}

Value ReshardLowering::reduceScatter(Value partial) {
  RankedTensorType shard = spmd::shardType(global, destination.dim, axes(), axis.ranks);
  auto start = create<spmd::ReduceScatterStartOp>(partial, axes(), ReductionKind::sum, APFloat(1.0),
                                                  builder.getTypeArrayAttr({shard}), StringAttr());
  return reshape(localType(global, destination), wait(start));
}

Value ReshardLowering::join(Value byRank, RankedTensorType type) {
  const ChunkedShape chunked(type.getShape(), source);
  const std::int64_t ranks = axis.ranks;
  if (RankedTensorType chunks = tensor({ranks, chunked.outer, chunked.segments, chunked.chunk, chunked.inner});
      byRank.getType() != chunks)
    byRank = reshape(chunks, byRank);
  Value ordered =
      create<model::TransposeOp>(tensor({chunked.outer, chunked.segments, ranks, chunked.chunk, chunked.inner}), byRank,
                                 builder.getDenseI64ArrayAttr({1, 2, 0, 3, 4}))
          .getResult();
  if (ranks * chunked.chunk != chunked.extent) {
    // The padding is after the last row of each segment.
    std::int64_t outer = chunked.outer * chunked.segments;
    Value rows = reshape(tensor({outer, ranks * chunked.chunk, chunked.inner}), ordered);
    ordered = create<model::SliceOp>(
                  tensor({outer, chunked.extent, chunked.inner}), rows, ArrayRef<std::int64_t>{0, 0, 0},
                  ArrayRef<std::int64_t>{outer, chunked.extent, chunked.inner}, ArrayRef<std::int64_t>{1, 1, 1})
                  .getResult();
  }
  return reshape(tensor(type.getShape()), ordered);
}

Value ReshardLowering::gather(Value shard) {
  const ChunkedShape chunked(global.getShape(), source);
  const std::int64_t ranks = axis.ranks;
  if (isPadded(global, source, ranks))
    shard = clearPadding(builder, shard, global, source, axis, reshard);
  // The gathered tensor has the ranks as dim 0.
  RankedTensorType all = tensor({ranks, chunked.outer, chunked.segments, chunked.chunk, chunked.inner});
  Value operand = reshape(spmd::shardType(all, 0, axes(), ranks), shard);
  return join(wait(create<spmd::AllGatherStartOp>(operand, axes(), StringAttr())), global);
}

Value ReshardLowering::exchange(Value shard) {
  if (isPadded(global, source, axis.ranks))
    shard = clearPadding(builder, shard, global, source, axis, reshard);
  // The chunks of the destination's dim become dim 0; the last ones are padded.
  const ChunkedShape chunked(localType(global, source).getShape(), destination);
  const std::int64_t outer = chunked.outer * chunked.segments, extent = axis.ranks * chunked.chunk;
  Value rows = reshape(tensor({outer, chunked.extent, chunked.inner}), shard);
  if (extent != chunked.extent)
    rows = create<model::PadOp>(tensor({outer, extent, chunked.inner}), rows, ArrayRef<std::int64_t>{0, 0, 0},
                                ArrayRef<std::int64_t>{0, extent - chunked.extent, 0}, ArrayRef<std::int64_t>{1, 1, 1},
                                APFloat(0.0))
               .getResult();
  Value byRank = create<model::TransposeOp>(tensor({axis.ranks, outer, chunked.chunk, chunked.inner}),
                                            reshape(tensor({outer, axis.ranks, chunked.chunk, chunked.inner}), rows),
                                            builder.getDenseI64ArrayAttr({1, 0, 2, 3}))
                     .getResult();
  return join(wait(create<spmd::AllToAllStartOp>(byRank, axes())), localType(global, destination));
}

Value ReshardLowering::slice(Value value) {
  ChunkedShape chunked(global.getShape(), destination);
  // all_slice divides rows evenly. For other chunks, in groups of rows of which every chunk has a number.
  std::int64_t group =
      chunked.chunk == chunkOf(chunked.extent, axis.ranks) ? 1 : std::gcd(chunked.extent, chunked.chunk);
  RankedTensorType segmented = tensor({chunked.outer, chunked.segments, chunked.extent / group, group * chunked.inner});
  Value operand = reshape(segmented, value);
  Value shard = create<spmd::AllSliceOp>(spmd::shardType(segmented, 2, axes(), axis.ranks), operand).getResult();
  shard = reshape(localType(global, destination), shard);
  // all_slice leaves padding undefined, and readers of segments read it.
  if (destination.segments != 1 && isPadded(global, destination, axis.ranks))
    shard = clearPadding(builder, shard, global, destination, axis, reshard);
  return shard;
}

} // namespace

/// The axis along which a reshard of one value changes its sharding: the first, where it reduces over several.
static StringAttr axisOf(spmd::ReshardOp reshard) {
  for (spmd::ShardingAttr sharding : {sourceOf(reshard), destinationOf(reshard)}) {
    if (sharding.isPartial())
      return sharding.getPartialAxes().front().axis;
    if (std::optional<spmd::ShardedDim> sharded = spmd::shardedDim(sharding))
      return sharded->axes.front();
  }
  llvm_unreachable("a reshard between equal shardings");
}

void lowerReshard(spmd::ReshardOp reshard, llvm::function_ref<std::int64_t(StringRef)> ranksOf) {
  std::string axis = axisOf(reshard).str();
  Value value = ReshardLowering(reshard, {.name = axis, .ranks = ranksOf(axis)}).run(reshard.getOperands()[0]);
  model::copyAttribute(reshard, model::idsName, value.getDefiningOp());
  reshard.getResults()[0].replaceAllUsesWith(value);
}

} // namespace sluice::tensor
