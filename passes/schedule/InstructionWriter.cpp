//===- InstructionWriter.cpp - one instruction after another ---------------------===//
//
// See InstructionWriter.h.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/InstructionWriter.h"
#include "passes/schedule/ChunkWindows.h"

#include "dialect/spmd/Mesh.h"

using namespace mlir;
using namespace sluice;

namespace {

/// Numbers of a value's or op's results in the unsharded program; 0 where it has none.
int64_t idOf(Value value) {
  value = behindSections(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto id = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), model::idName);
    return id ? id.getInt() : 0;
  }
  auto ids = value.getDefiningOp()->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  const unsigned index = cast<OpResult>(value).getResultNumber();
  return ids && index < static_cast<unsigned>(ids.size()) ? ids[index] : 0;
}

/// The repetitions in which a sum begins, and those in which it is added to.
struct SumRepetitions {
  SumRepetitions(When issued, std::optional<When> starts, int64_t repeat)
      : repeat(repeat), startsOnce(issued.isAll() && !starts) {
    for (int64_t repetition = 0; repetition < repeat; ++repetition) {
      if (!issued.includes(repetition, repeat))
        continue;
      const bool isFirst = begins.empty() && adds.empty();
      (isFirst || (starts && starts->includes(repetition, repeat)) ? begins : adds).push_back(repetition);
    }
  }
  /// Nothing where there is no such repetition. The list is owned by this struct.
  std::optional<When> when(bool first) const {
    if (startsOnce)
      return first ? WhenKind::first : WhenKind::not_first;
    const ArrayRef<int64_t> repetitions = first ? begins : adds;
    return repetitions.empty() ? std::nullopt : std::optional(When::of(repetitions, repeat));
  }

private:
  int64_t repeat;
  bool startsOnce;
  SmallVector<int64_t> begins, adds;
};

} // namespace

InstructionWriter::InstructionWriter(func::FuncOp function, const BufferAssignment &assignment, PlanBuffers &buffers,
                                     OpBuilder &builder)
    : function(function), assignment(assignment), buffers(buffers), builder(builder),
      units(function->getParentOfType<ModuleOp>()),
      hasRoot(SymbolTable::lookupSymbolIn(function->getParentOfType<ModuleOp>(), spmd::rootUnit) != nullptr) {
  isInit = model::entryOf(function) == EntryKind::init;
  phase = isInit ? Phase::init : Phase::forward;
}

plan_ir::ViewAttr InstructionWriter::view(const Place &place, RankedTensorType type, int64_t step) const {
  const StridedLayout &layout = place.layout;
  ArrayRef<int64_t> strides = layout.strides;
  if (layout.strides == denseLayout(layout.shape).strides)
    strides = {};
  return plan_ir::ViewAttr::get(builder.getContext(), symbol(place.buffer), type.getElementType(), layout.shape,
                                layout.offset * plan_ir::ViewAttr::elementBytes(type.getElementType()), strides, step,
                                validFor(place, type));
}

plan_ir::ValidAttr InstructionWriter::validFor(const Place &place, RankedTensorType type) const {
  plan_ir::ValidAttr valid = planValid(type);
  // What persists also says which rows it holds. Of the rest, what is padded on no rank has nothing to say.
  if (valid && !buffers[place.buffer].entry.empty()) {
    SmallVector<Attribute> axes(valid.getAxes().begin(), valid.getAxes().end());
    const int64_t ranks = spmd::groupSize(spmd::meshOf(function), builder.getArrayAttr(axes));
    if (valid.getChunk() * ranks == valid.getTotal())
      return {};
  }
  return valid;
}

void InstructionWriter::write(Operation &op) {
  if (auto accumulate = dyn_cast<spmd::AccumulateOp>(op))
    return writeAccumulate(accumulate);
  if (isa<spmd::AllGatherStartOp, spmd::ReduceScatterStartOp, spmd::AllReduceStartOp>(op))
    return writeStart(op);
  if (auto copy = dyn_cast<spmd::CopyStartOp>(op))
    return writeCopyStart(copy);
  if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
    auto await = make<plan_ir::AwaitOp>(op.getLoc(), {{"token", builder.getI64IntegerAttr(tokens.lookup(wait.getToken()))}});
    await.setChained(wait.getChained());
    finish(await, &op);
    if (StringRef unit = spmd::unitOf(wait.getToken().getDefiningOp()); !unit.empty())
      await.setUnit(unit);
    // What has arrived in chunks is put together.
    for (auto [operand, value] : llvm::zip(wait.getToken().getDefiningOp()->getOperands(), wait.getValues()))
      if (const Place *chunks = assignment.chunksOf(value))
        writeChunkCopies(assignment.placeOf(value), *chunks, typeOf(operand), idOf(value), &op, /*gathers=*/true);
    return;
  }
  if (auto release = dyn_cast<spmd::ReleaseOp>(op)) {
    SmallVector<Attribute> released;
    for (Value value : release.getValues())
      released.push_back(symbol(assignment.placeOf(value).buffer));
    finish(make<plan_ir::ReleaseOp>(op.getLoc(), {{"buffers", builder.getArrayAttr(released)}}), &op);
    return;
  }
  for (const OperandCopy &copy : assignment.copiesBefore(&op))
    writeCopyLaunch(copy, &op);
  if (!assignment.isView(&op) && !isa<DestinationOpInterface>(op))
    writeKernel(cast<KernelOpInterface>(op));
}

void InstructionWriter::writeCopyLaunch(const OperandCopy &copy, Operation *op) {
  const RankedTensorType type = typeOf(copy.operand->get());
  const int64_t id = idOf(copy.operand->get());
  // Of a part that is padded on some rank, what is there.
  const auto whatIsThere = [&](plan_ir::ViewAttr whole) {
    const plan_ir::ViewAttr part = placed(whole, op, copy.operand->getOperandNumber());
    const plan_ir::ValidAttr valid = part.getValid();
    if (!valid)
      return whole;
    SmallVector<Attribute> axes(valid.getAxes().begin(), valid.getAxes().end());
    const int64_t ranks = spmd::groupSize(spmd::meshOf(function), builder.getArrayAttr(axes));
    return valid.getChunk() * ranks == valid.getTotal() ? whole : part;
  };
  auto launch = makeLaunch(op->getLoc(), "copy", {whatIsThere(view(copy.from, type))},
                           {whatIsThere(view(copy.to, type))}, builder.getDictionaryAttr({}));
  launch.setInputValues({id});
  launch.setOutputValues({id});
  launch.setTraffic(2 * type.getNumElements() * plan_ir::ViewAttr::elementBytes(type.getElementType()));
  finish(launch, op);
}

void InstructionWriter::writeKernel(KernelOpInterface op) {
  const KernelCall call = op.getKernelCall();
  SmallVector<Attribute> inputs, outputs;
  SmallVector<int64_t> inputIds, outputIds, mayAlias;
  for (Value value : call.inputs) {
    // An operand that was copied is read from the copy.
    const Place *place = &assignment.placeOf(value);
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value)
        place = &assignment.placeOf(operand);
    inputs.push_back(placed(view(*place, typeOf(value)), op, inputs.size()));
    inputIds.push_back(idOf(value));
  }
  for (OpResult result : op->getResults()) {
    // A slice's rows are told by the rank's coordinate, padded or not.
    outputs.push_back(isa<spmd::AllSliceOp>(op)
                          ? withValid(view(result), planValid(typeOf(result)))
                          : placed(view(result), op, op->getNumOperands() + result.getResultNumber()));
    outputIds.push_back(idOf(result));
  }
  for (auto [input, output] : call.mayAlias)
    mayAlias.append({int64_t(input), int64_t(output)});
  auto launch = makeLaunch(op->getLoc(), call.kernel, inputs, outputs,
                           DictionaryAttr::get(builder.getContext(), call.attributes));
  launch.setInputValues(inputIds);
  launch.setOutputValues(outputIds);
  launch.setMayAlias(mayAlias);
  if (auto cost = dyn_cast<CostOpInterface>(op.getOperation())) {
    launch.setFlops(cost.getCost().flops);
    launch.setTraffic(cost.getCost().bytes);
  }
  finish(launch, op);
}

void InstructionWriter::writeAccumulate(spmd::AccumulateOp op) {
  const int64_t bytes = typeOf(op.getSum()).getNumElements() *
                        plan_ir::ViewAttr::elementBytes(typeOf(op.getSum()).getElementType());
  const int64_t repeat = op->getParentOfType<spmd::SectionOp>().getRepeat();
  const SumRepetitions repetitions(spmd::whenOf(op), op.getStarts(), repeat);
  for (bool first : {true, false}) {
    const std::optional<When> when = repetitions.when(first);
    if (!when)
      continue;
    auto launch = makeLaunch(
        op.getLoc(), "accumulate", {view(op.getOperand())}, {view(op.getSum())},
        builder.getDictionaryAttr(builder.getNamedAttr("first", builder.getI64IntegerAttr(first))));
    launch.setInputValues({idOf(op.getOperand())});
    launch.setOutputValues({idOf(op.getSum())});
    launch.setFlops(first ? 0 : typeOf(op.getSum()).getNumElements());
    launch.setTraffic((first ? 2 : 3) * bytes);
    finish(launch, op);
    setWhen(launch, *when);
  }
}

void InstructionWriter::writePadding(Operation &op, Value value, plan_ir::ViewAttr whole) {
  const RankedTensorType type = typeOf(value);
  const int64_t rows = whole.getShape()[0] - type.getDimSize(0);
  if (rows == 0)
    return;
  const int64_t rowBytes = type.getNumElements() / std::max<int64_t>(type.getDimSize(0), 1) *
                           plan_ir::ViewAttr::elementBytes(type.getElementType());
  SmallVector<int64_t> shape(whole.getShape());
  shape[0] = rows;
  auto tail = plan_ir::ViewAttr::get(builder.getContext(), whole.getBuffer(), whole.getElementType(), shape,
                                     whole.getOffset() + type.getDimSize(0) * rowBytes, {}, 0, {});
  finish(make<plan_ir::FillOp>(op.getLoc(), {{"destination", tail}, {"value", builder.getF64FloatAttr(0.0)}}), &op);
}

void InstructionWriter::writeChunkCopies(const Place &whole, const Place &chunks, RankedTensorType shard, int64_t id,
                                    Operation *op, bool gathers) {
  const spmd::ShardedDim sharded = *spmd::shardedDimOf(shard);
  const int64_t dim = sharded.dim, chunk = sharded.chunk;
  const auto typeLike = [&](const StridedLayout &layout) {
    return RankedTensorType::get(layout.shape, shard.getElementType());
  };
  // Zeros for the ranks whose chunks are not full.
  if (!gathers && chunks.layout.shape[0] * chunk != whole.layout.shape[dim])
    finish(make<plan_ir::FillOp>(op->getLoc(), {{"destination", view(chunks, typeLike(chunks.layout))},
                                                {"value", builder.getF64FloatAttr(0.0)}}), op);
  for (const ChunkWindows &window : chunkWindows(whole.layout, dim, chunk)) {
    const RankedTensorType type = typeLike(window.whole);
    const plan_ir::ViewAttr ofWhole = view({whole.buffer, window.whole}, type);
    const plan_ir::ViewAttr ofChunks = view({chunks.buffer, window.chunks}, type);
    auto launch = makeLaunch(op->getLoc(), "copy", {gathers ? ofChunks : ofWhole}, {gathers ? ofWhole : ofChunks},
                             builder.getDictionaryAttr({}));
    launch.setInputValues({id});
    launch.setOutputValues({id});
    launch.setTraffic(2 * type.getNumElements() * plan_ir::ViewAttr::elementBytes(type.getElementType()));
    finish(launch, op);
    // A wait is its start's unit's.
    if (auto wait = dyn_cast<spmd::WaitOp>(op))
      if (StringRef unit = spmd::unitOf(wait.getToken().getDefiningOp()); !unit.empty())
        launch.setUnit(unit);
  }
}

void InstructionWriter::writeCopyStart(spmd::CopyStartOp op) {
  const int64_t token = tokens.size() + 1;
  tokens[op.getToken()] = token;
  for (auto [from, to] : llvm::zip(op.getOperands(), cast<spmd::WaitOp>(*op->user_begin()).getValues())) {
    auto copy = make<plan_ir::CopyOp>(op.getLoc(), {{"source", view(from)},
                                                    {"destination", view(to)},
                                                    {"token", builder.getI64IntegerAttr(token)}});
    finish(copy, op.getOperation());
  }
}

void InstructionWriter::writeStart(Operation &op) {
  const auto chunkedShard = [&](const OperandCopy &copy) {
    auto scatter = dyn_cast<spmd::ReduceScatterStartOp>(op);
    auto shard = scatter ? cast<RankedTensorType>(
                               cast<TypeAttr>(scatter.getShards()[copy.operand->getOperandNumber()]).getValue())
                         : RankedTensorType();
    auto sharded = shard ? spmd::shardedDimOf(shard) : std::nullopt;
    return sharded && sharded->dim != 0 ? shard : RankedTensorType();
  };
  for (const OperandCopy &copy : assignment.copiesBefore(&op))
    if (RankedTensorType shard = chunkedShard(copy))
      writeChunkCopies(copy.from, copy.to, shard, idOf(copy.operand->get()), &op, /*gathers=*/false);
    else
      writeCopyLaunch(copy, &op);
  const int64_t token = tokens.size() + 1;
  tokens[op.getResult(0)] = token;
  spmd::WaitOp wait = cast<spmd::WaitOp>(*op.getResult(0).user_begin());
  // Collectives move whole chunks, padding included: their views are dense and have no valid extent.
  const auto whole = [&](const Place &place, Type element, int64_t rows) {
    SmallVector<int64_t> shape(place.layout.shape);
    if (!shape.empty() && rows >= 0)
      shape[0] = rows;
    return plan_ir::ViewAttr::get(builder.getContext(), symbol(place.buffer), element, shape,
                                  place.layout.offset * plan_ir::ViewAttr::elementBytes(element), {}, 0, {});
  };
  CollectiveKind kind = CollectiveKind::all_reduce;
  ReductionKind reduction = ReductionKind::none;
  ArrayAttr axes;
  double scale = 1.0;
  SmallVector<Attribute> sources, destinations;
  for (auto [operand, value] : llvm::zip(op.getOpOperands(), wait.getValues())) {
    const Type element = typeOf(operand.get()).getElementType();
    int64_t from = -1, to = -1;
    if (auto gather = dyn_cast<spmd::AllGatherStartOp>(op)) {
      kind = CollectiveKind::all_gather;
      axes = gather.getAxes();
      if (!assignment.chunksOf(value))
        to = buffers[assignment.placeOf(value).buffer].type.getDimSize(0);
    } else if (auto scatter = dyn_cast<spmd::ReduceScatterStartOp>(op)) {
      kind = CollectiveKind::reduce_scatter;
      axes = scatter.getAxes();
      reduction = scatter.getOp();
      scale = scatter.getScale().convertToDouble();
      if (auto sharded = spmd::shardedDimOf(value.getType()); !sharded || sharded->dim == 0)
        from = typeOf(value).getDimSize(0) * spmd::groupSize(spmd::meshOf(&op), axes);
    } else {
      auto reduce = cast<spmd::AllReduceStartOp>(op);
      axes = reduce.getAxes();
      reduction = reduce.getOp();
      scale = reduce.getScale().convertToDouble();
    }
    sources.push_back(whole(assignment.placeOf(operand), element, from));
    const Place *chunks = assignment.chunksOf(value);
    destinations.push_back(whole(chunks ? *chunks : assignment.placeOf(value), element, to));
    if (from >= 0)
      writePadding(op, operand.get(), cast<plan_ir::ViewAttr>(sources.back()));
  }
  auto collective = make<plan_ir::CollectiveOp>(op.getLoc(), {{"kind", builder.getAttr<plan_ir::CollectiveKindAttr>(kind)},
                                                              {"op", builder.getAttr<plan_ir::ReductionKindAttr>(reduction)},
                                                              {"axes", axes},
                                                              {"sources", builder.getArrayAttr(sources)},
                                                              {"destinations", builder.getArrayAttr(destinations)},
                                                              {"token", builder.getI64IntegerAttr(token)}});
  if (scale != 1.0)
    collective.setScale(APFloat(scale));
  finish(collective, &op);
}
