//===- Collectives.cpp - what crosses the ranks of an axis --------------------------------===//

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

ArrayAttr axes(OpBuilder &builder, const Axis &axis) { return builder.getStrArrayAttr({axis.name}); }

/// Notes what it makes.
template <typename Op, typename... Args>
Op make(OpBuilder &builder, Location loc, SmallVectorImpl<Operation *> &made, Args &&...args) {
  auto op = Op::create(builder, loc, std::forward<Args>(args)...);
  made.push_back(op);
  return op;
}

Value allReduced(OpBuilder &builder, Value value, ReductionKind op, const Axis &axis, SmallVectorImpl<Operation *> &made) {
  Location loc = value.getLoc();
  auto start = make<spmd::AllReduceStartOp>(builder, loc, made, spmd::TokenType::get(builder.getContext()), value,
                                            axes(builder, axis), op, APFloat(1.0), StringAttr());
  return make<spmd::WaitOp>(builder, loc, made, value.getType(), start.getToken()).getValues()[0];
}

/// Dims with the split one as segments, ranks and what is left of it: [outer, segments, ranks, chunk, inner]. `extent` is
/// that of a segment.
struct Apart {
  std::int64_t outer = 1, segments, ranks, extent, chunk, inner = 1;
  Apart(ArrayRef<std::int64_t> shape, const Layout &layout, std::int64_t ranks)
      : segments(layout.segments), ranks(ranks), extent(shape[layout.dim] / layout.segments), chunk(layout.chunk) {
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (static_cast<std::int64_t>(dim) != layout.dim)
        (static_cast<std::int64_t>(dim) < layout.dim ? outer : inner) *= extent;
  }
};

} // namespace

Value completed(OpBuilder &builder, Value partial, PartialReduction reduction, const Axis &axis,
                SmallVectorImpl<Operation *> &made) {
  if (reduction != PartialReduction::logsumexp)
    return allReduced(builder, partial, reduction == PartialReduction::max ? ReductionKind::max : ReductionKind::sum, axis, made);
  // log(sum(exp(p))) over ranks, from the largest: nothing overflows.
  Location loc = partial.getLoc();
  Type type = partial.getType();
  // The maximum is taken in place of a copy: the partial values are read again.
  Value largest = allReduced(builder, partial, ReductionKind::max, axis, made);
  Value shifted = make<model::SubtractOp>(builder, loc, made, type, partial, largest).getResult();
  Value terms = make<model::ExpOp>(builder, loc, made, type, shifted).getResult();
  Value sum = allReduced(builder, terms, ReductionKind::sum, axis, made);
  Value log = make<model::LogOp>(builder, loc, made, type, sum).getResult();
  return make<model::AddOp>(builder, loc, made, type, log, largest).getResult();
}

Value scattered(OpBuilder &builder, Value partial, const Layout &layout, const Axis &axis,
                SmallVectorImpl<Operation *> &made) {
  Location loc = partial.getLoc();
  RankedTensorType shard = spmd::shardType(typeOf(partial), layout.dim, axes(builder, axis), axis.ranks);
  auto start = make<spmd::ReduceScatterStartOp>(builder, loc, made, spmd::TokenType::get(builder.getContext()),
                                                ValueRange(partial), axes(builder, axis), ReductionKind::sum, APFloat(1.0),
                                                builder.getTypeArrayAttr({shard}), StringAttr());
  return make<spmd::WaitOp>(builder, loc, made, shard, start.getToken()).getValues()[0];
}

spmd::ShardingAttr placeOf(MLIRContext *context, const Layout &layout, std::int64_t rank, std::int64_t total,
                           const Axis &axis) {
  StringAttr name = StringAttr::get(context, axis.name);
  return spmd::shardingAlong(rank, {layout.dim, layout.chunk, total, name});
}

Value padded(OpBuilder &builder, Value value, RankedTensorType whole, const Layout &layout, const Axis &axis,
             SmallVectorImpl<Operation *> &made) {
  Location loc = value.getLoc();
  RankedTensorType part = localType(whole, layout);
  Apart apart(whole.getShape(), layout, axis.ranks);
  std::int64_t dim = layout.dim;
  // Segments in a dim of their own: then the padding is behind one dim.
  RankedTensorType type = part;
  if (layout.segments > 1) {
    dim = 2;
    type = RankedTensorType::get({apart.outer, apart.segments, apart.chunk, apart.inner}, whole.getElementType());
    value = make<model::ReshapeOp>(builder, loc, made, type, value).getResult();
  }
  SmallVector<std::int64_t> none(type.getRank(), 0), dense(type.getRank(), 1);
  auto pad = make<model::PadOp>(builder, loc, made, type, value, none, none, dense, APFloat(0.0));
  // What is read ends where the rank's part does, what is written does not.
  Layout placed = layout;
  placed.dim = dim;
  pad->setAttr(spmd::placesName,
               builder.getArrayAttr({placeOf(builder.getContext(), placed, type.getRank(), apart.extent, axis), builder.getUnitAttr()}));
  if (layout.segments > 1)
    return make<model::ReshapeOp>(builder, loc, made, part, pad.getResult()).getResult();
  return pad.getResult();
}

Value gatheredWhole(OpBuilder &builder, Value value, const Layout &layout, const Axis &axis,
                    SmallVectorImpl<Operation *> &made) {
  Location loc = value.getLoc();
  RankedTensorType whole = typeOf(value);
  Type element = whole.getElementType();
  Apart apart(whole.getShape(), layout, axis.ranks);
  auto tensor = [&](ArrayRef<std::int64_t> shape) { return RankedTensorType::get(shape, element); };
  const std::int64_t ranks = axis.ranks;
  if (isPadded(whole, layout, ranks))
    value = padded(builder, value, whole, layout, axis, made);
  // Ranks one after another in a dim of their own, which then goes to its place.
  RankedTensorType all = tensor({ranks, apart.outer, apart.segments, apart.chunk, apart.inner});
  RankedTensorType one = spmd::shardType(all, 0, axes(builder, axis), ranks);
  Value mine = make<model::ReshapeOp>(builder, loc, made, one, value).getResult();
  auto start = make<spmd::AllGatherStartOp>(builder, loc, made, spmd::TokenType::get(builder.getContext()), mine,
                                            axes(builder, axis), StringAttr());
  Value everyones = make<spmd::WaitOp>(builder, loc, made, all, start.getToken()).getValues()[0];
  Value placed = make<model::TransposeOp>(builder, loc, made,
                                          tensor({apart.outer, apart.segments, ranks, apart.chunk, apart.inner}),
                                          everyones, builder.getDenseI64ArrayAttr({1, 2, 0, 3, 4}))
                     .getResult();
  if (ranks * apart.chunk != apart.extent) {
    // Padding is behind the last row of each segment.
    std::int64_t outer = apart.outer * apart.segments;
    Value rows =
        make<model::ReshapeOp>(builder, loc, made, tensor({outer, ranks * apart.chunk, apart.inner}), placed).getResult();
    placed = make<model::SliceOp>(builder, loc, made, tensor({outer, apart.extent, apart.inner}), rows,
                                  ArrayRef<std::int64_t>{0, 0, 0},
                                  ArrayRef<std::int64_t>{outer, apart.extent, apart.inner}, ArrayRef<std::int64_t>{1, 1, 1})
                 .getResult();
  }
  return make<model::ReshapeOp>(builder, loc, made, tensor(whole.getShape()), placed).getResult();
}

Value cutOut(OpBuilder &builder, Value value, const Layout &layout, const Axis &axis,
             SmallVectorImpl<Operation *> &made) {
  Location loc = value.getLoc();
  RankedTensorType whole = typeOf(value);
  Apart apart(whole.getShape(), layout, axis.ranks);
  auto tensor = [&](ArrayRef<std::int64_t> shape) { return RankedTensorType::get(shape, whole.getElementType()); };
  // In pieces of which every chunk is so many, where chunks are not those of rows.
  std::int64_t piece = apart.chunk == chunkOf(apart.extent, axis.ranks) ? 1 : std::gcd(apart.extent, apart.chunk);
  RankedTensorType segmented = tensor({apart.outer, apart.segments, apart.extent / piece, piece * apart.inner});
  Value dims = make<model::ReshapeOp>(builder, loc, made, segmented, value).getResult();
  RankedTensorType part = spmd::shardType(segmented, 2, axes(builder, axis), axis.ranks);
  Value mine = make<spmd::AllSliceOp>(builder, loc, made, part, dims).getResult();
  return make<model::ReshapeOp>(builder, loc, made, localType(tensor(whole.getShape()), layout), mine).getResult();
}

/// The reduction in place that a value comes from, if nothing else reads either.
static spmd::CollectiveOpInterface soleReduction(Value value) {
  auto wait = value.getDefiningOp<spmd::WaitOp>();
  spmd::CollectiveOpInterface start = wait && value.hasOneUse() ? wait.getStart() : spmd::CollectiveOpInterface();
  const bool isSole = start && start.isReduction() && start.isInPlace() && start->getNumOperands() == 1;
  return isSole ? start : spmd::CollectiveOpInterface();
}

/// `op` over values that ranks have reduced before becomes a reduction of `op` over what those were of.
static void reduceBehind(Operation &op, spmd::CollectiveOpInterface like, ArrayRef<Operation *> gone) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(&op);
  Value terms = op.getResult(0);
  auto start = spmd::AllReduceStartOp::create(builder, op.getLoc(), spmd::TokenType::get(op.getContext()), terms,
                                              like.getAxes(), like.getReduction(), APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, op.getLoc(), terms.getType(), start.getToken());
  copyTags(&op, start);
  copyTags(&op, wait);
  if (Attribute ids = op.removeAttr(model::idsName))
    wait->setAttr(model::idsName, ids);
  terms.replaceAllUsesExcept(wait.getValues()[0], start);
  for (Operation *old : gone)
    old->erase();
}

void joinReductions(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<model::AddOp, model::MaximumOp>(op))
      continue;
    spmd::CollectiveOpInterface over = soleReduction(op.getOperand(0)), other = soleReduction(op.getOperand(1));
    if (!over || !other || over.getReduction() != other.getReduction() ||
        !llvm::all_of(over.getAxes().getAsValueRange<StringAttr>(), isOfParts))
      continue;
    Operation *overWait = op.getOperand(0).getDefiningOp(), *otherWait = op.getOperand(1).getDefiningOp();
    Value terms = over->getOperand(0), others = other->getOperand(0);
    spmd::CollectiveOpInterface first = soleReduction(terms);
    if (first && first.getReduction() != over.getReduction())
      first = nullptr;
    SmallVector<Operation *> gone = {otherWait, other};
    if (first && first.getAxes() == other.getAxes()) {
      // Behind the axis of parts, over what both are reduced over.
      gone.append({terms.getDefiningOp(), first});
      over->setOperand(0, first->getOperand(0));
      op.setOperand(1, others);
      reduceBehind(op, first, gone);
      continue;
    }
    // Both over the same ranks: at once, or over one axis after another.
    SmallVector<Attribute> axes;
    if (first)
      axes.append(first.getAxes().begin(), first.getAxes().end());
    axes.append(over.getAxes().begin(), over.getAxes().end());
    if (ArrayRef<Attribute>(axes) != other.getAxes().getValue())
      continue;
    op.setOperand(0, first ? first->getOperand(0) : terms);
    op.setOperand(1, others);
    gone = {overWait, over};
    if (first)
      gone.append({terms.getDefiningOp(), first});
    gone.append({otherWait, other});
    reduceBehind(op, other, gone);
  }
}

} // namespace sluice::tensor
