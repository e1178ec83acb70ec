//===- InstructionWriter.cpp - instructions of the ops of an entry point ---------===//

#include "passes/schedule/InstructionWriter.h"

#include "dialect/spmd/Mesh.h"

using namespace mlir;
using namespace sluice;

namespace {

/// The number of the value in the unsharded program; 0 without one.
int64_t idOf(Value value) {
  value = spmd::yieldedValue(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto id = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), model::idName);
    return id ? id.getInt() : 0;
  }
  auto ids = value.getDefiningOp()->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  const unsigned index = cast<OpResult>(value).getResultNumber();
  return ids && index < static_cast<unsigned>(ids.size()) ? ids[index] : 0;
}

/// Collectives transfer chunks, rank by rank. Along dim 0 the chunks are the rows of the tensor. Along another dim they
/// are a rearrangement of its elements, and copies convert one into the other: these are their windows, of one shape,
/// of the tensor and of the buffer of all chunks.
struct ChunkWindows {
  StridedLayout tensor, chunks;
};

/// The windows that cover the tensor. The buffer is dense and has for each rank a chunk of the tensor's shape with
/// extent `chunk` along `dim`; the chunks of the last ranks may be partly or entirely padding.
SmallVector<ChunkWindows, 2> chunkWindows(const StridedLayout &tensor, int64_t dim, int64_t chunk) {
  SmallVector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  const int64_t total = shape[dim], full = total / chunk;
  shape[dim] = chunk;
  const StridedLayout ofRank = denseLayout(shape);
  const int64_t rankStride = ofRank.strides[0] * shape[0];

  SmallVector<ChunkWindows, 2> windows;
  // The ranks with full chunks, and the rank with the remaining rows.
  const auto add = [&](int64_t firstRank, int64_t ranks, int64_t extent) {
    if (ranks == 0 || extent == 0)
      return;
    ChunkWindows window;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (d == dim) {
        window.tensor.shape.push_back(ranks);
        window.tensor.strides.push_back(chunk * tensor.strides[d]);
        window.chunks.strides.push_back(rankStride);
      }
      window.tensor.shape.push_back(d == dim ? extent : shape[d]);
      window.tensor.strides.push_back(tensor.strides[d]);
      window.chunks.strides.push_back(ofRank.strides[d]);
    }
    window.chunks.shape = window.tensor.shape;
    window.tensor.offset = tensor.offset + firstRank * chunk * tensor.strides[dim];
    window.chunks.offset = firstRank * rankStride;
    windows.push_back(std::move(window));
  };
  add(0, full, chunk);
  add(full, 1, total - full * chunk);
  return windows;
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
  /// nullopt without such a repetition. This struct owns the list.
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
      units(function->getParentOfType<ModuleOp>()) {
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
  // Persistent buffers always have `valid`. Other views have it only if some rank is padded.
  return valid && !buffers[place.buffer].entry.empty() && !hasPadding(valid) ? plan_ir::ValidAttr() : valid;
}

bool InstructionWriter::hasPadding(plan_ir::ValidAttr valid) const {
  SmallVector<Attribute> axes(valid.getAxes().begin(), valid.getAxes().end());
  return valid.getChunk() * spmd::groupSize(spmd::meshOf(function), builder.getArrayAttr(axes)) != valid.getTotal();
}

void InstructionWriter::write(Operation &op) {
  if (auto accumulate = dyn_cast<spmd::AccumulateOp>(op))
    return writeAccumulate(accumulate);
  if (auto start = dyn_cast<spmd::CollectiveOpInterface>(op))
    return start.isCopy() ? writeCopies(start) : writeCollective(start);
  if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
    auto await = make<plan_ir::AwaitOp>(op.getLoc());
    await.setToken(tokens.lookup(wait.getToken()));
    await.setChained(wait.getChained());
    finish(await, &op);
    spmd::CollectiveOpInterface start = wait.getStart();
    if (StringRef unit = spmd::unitOf(start); !unit.empty())
      await.setUnit(unit);
    for (auto [index, value] : llvm::enumerate(wait.getValues()))
      if (const Place *chunks = assignment.chunksOf(value))
        writeChunkCopies(assignment.placeOf(value), *chunks, start.getDestinationChunk(index), idOf(value), &op,
                         /*gathers=*/true);
    return;
  }
  if (auto release = dyn_cast<spmd::ReleaseOp>(op)) {
    SmallVector<Attribute> released;
    for (Value value : release.getValues())
      released.push_back(symbol(assignment.placeOf(value).buffer));
    finish(make<plan_ir::ReleaseOp>(op.getLoc()), &op).setBuffersAttr(builder.getArrayAttr(released));
    return;
  }
  for (const OperandCopy &copy : assignment.copiesBefore(&op))
    writeCopyLaunch(copy, &op);
  if (!assignment.isView(&op) && !isa<DestinationOpInterface>(op))
    writeKernel(cast<KernelOpInterface>(op));
}

void InstructionWriter::writeCopyLaunch(const OperandCopy &copy, Operation *op) {
  const RankedTensorType type = typeOf(copy.operand->get());
  // Views have the valid extent of a part only if some rank is padded.
  const auto placedIfPadded = [&](const Place &place) {
    const plan_ir::ViewAttr full = view(place, type), part = placed(full, op, copy.operand->getOperandNumber());
    return part.getValid() && hasPadding(part.getValid()) ? part : full;
  };
  finish(makeCopyLaunch(op->getLoc(), placedIfPadded(copy.from), placedIfPadded(copy.to), idOf(copy.operand->get())),
         op);
}

plan_ir::LaunchOp InstructionWriter::makeCopyLaunch(Location location, plan_ir::ViewAttr from, plan_ir::ViewAttr to,
                                                    int64_t id) {
  auto launch = makeLaunch(location, "copy", {from}, {to}, builder.getDictionaryAttr({}));
  launch.setInputValues({id});
  launch.setOutputValues({id});
  launch.setTraffic(2 * from.elements() * plan_ir::ViewAttr::elementBytes(from.getElementType()));
  return launch;
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
    // The rows of a slice depend on the rank's coordinate, padded or not.
    outputs.push_back(isa<spmd::AllSliceOp>(op)
                          ? withValid(view(result), planValid(typeOf(result)))
                          : placed(view(result), op, op->getNumOperands() + result.getResultNumber()));
    outputIds.push_back(idOf(result));
  }
  for (auto [input, output] : call.mayAlias(op->getResults()))
    mayAlias.append({int64_t(input), int64_t(output)});
  auto launch = makeLaunch(op->getLoc(), call.name(), inputs, outputs,
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
  const int64_t bytes =
      typeOf(op.getSum()).getNumElements() * plan_ir::ViewAttr::elementBytes(typeOf(op.getSum()).getElementType());
  const int64_t repeat = op->getParentOfType<spmd::SectionOp>().getRepeat();
  const SumRepetitions repetitions(spmd::whenOf(op), op.getStarts(), repeat);
  for (bool first : {true, false}) {
    const std::optional<When> when = repetitions.when(first);
    if (!when)
      continue;
    auto launch =
        makeLaunch(op.getLoc(), "accumulate", {view(op.getOperand())}, {view(op.getSum())},
                   builder.getDictionaryAttr(builder.getNamedAttr("first", builder.getI64IntegerAttr(first))));
    launch.setInputValues({idOf(op.getOperand())});
    launch.setOutputValues({idOf(op.getSum())});
    launch.setFlops(first ? 0 : typeOf(op.getSum()).getNumElements());
    launch.setTraffic((first ? 2 : 3) * bytes);
    finish(launch, op);
    setWhen(launch, *when);
  }
}

void InstructionWriter::writePadding(Operation &op, Value value, plan_ir::ViewAttr padded) {
  const RankedTensorType type = typeOf(value);
  const int64_t rows = padded.getShape()[0] - type.getDimSize(0);
  if (rows == 0)
    return;
  const int64_t rowBytes = type.getNumElements() / std::max<int64_t>(type.getDimSize(0), 1) *
                           plan_ir::ViewAttr::elementBytes(type.getElementType());
  SmallVector<int64_t> shape(padded.getShape());
  shape[0] = rows;
  auto tail = plan_ir::ViewAttr::get(builder.getContext(), padded.getBuffer(), padded.getElementType(), shape,
                                     padded.getOffset() + type.getDimSize(0) * rowBytes, {}, 0, {});
  finish(makeFill(op.getLoc(), tail), &op);
}

void InstructionWriter::writeChunkCopies(const Place &tensor, const Place &chunks, RankedTensorType shard, int64_t id,
                                         Operation *op, bool gathers) {
  const spmd::ShardedDim sharded = *spmd::shardedDimOf(shard);
  const int64_t dim = sharded.dim, chunk = sharded.chunk;
  const auto typeLike = [&](const StridedLayout &layout) {
    return RankedTensorType::get(layout.shape, shard.getElementType());
  };
  // Zeros for the ranks whose chunks are not full.
  if (!gathers && chunks.layout.shape[0] * chunk != tensor.layout.shape[dim])
    finish(makeFill(op->getLoc(), view(chunks, typeLike(chunks.layout))), op);
  for (const ChunkWindows &window : chunkWindows(tensor.layout, dim, chunk)) {
    const RankedTensorType type = typeLike(window.tensor);
    plan_ir::ViewAttr from = view({tensor.buffer, window.tensor}, type),
                      to = view({chunks.buffer, window.chunks}, type);
    if (gathers)
      std::swap(from, to);
    auto launch = finish(makeCopyLaunch(op->getLoc(), from, to, id), op);
    // A wait has the unit of its start.
    if (auto wait = dyn_cast<spmd::WaitOp>(op))
      if (StringRef unit = spmd::unitOf(wait.getStart()); !unit.empty())
        launch.setUnit(unit);
  }
}

IntegerAttr InstructionWriter::addToken(spmd::CollectiveOpInterface start) {
  const int64_t token = tokens.size() + 1;
  tokens[start->getResult(0)] = token;
  return builder.getI64IntegerAttr(token);
}

void InstructionWriter::writeCopies(spmd::CollectiveOpInterface start) {
  const IntegerAttr token = addToken(start);
  const auto stream = FlatSymbolRefAttr::get(builder.getContext(), stringifyStreamKind(start.getStream()));
  for (auto [from, to] : llvm::zip(start->getOperands(), cast<spmd::WaitOp>(*start->user_begin()).getValues())) {
    auto copy = finish(makeCopy(start.getLoc(), view(from), view(to)), start);
    copy.setTokenAttr(token);
    copy.setStreamAttr(stream);
  }
}

void InstructionWriter::writeCollective(spmd::CollectiveOpInterface start) {
  for (const OperandCopy &copy : assignment.copiesBefore(start))
    if (RankedTensorType chunk = start.getSourceChunk(copy.operand->getOperandNumber());
        chunk && spmd::areChunksSeparate(chunk))
      writeChunkCopies(copy.from, copy.to, chunk, idOf(copy.operand->get()), start, /*gathers=*/false);
    else
      writeCopyLaunch(copy, start);
  const IntegerAttr token = addToken(start);
  auto wait = cast<spmd::WaitOp>(*start->user_begin());
  // Collectives transfer chunks with their padding: their views are dense and have no valid extent.
  const auto segment = [&](const Place &place, Type element, int64_t rows) {
    SmallVector<int64_t> shape(place.layout.shape);
    if (!shape.empty() && rows >= 0)
      shape[0] = rows;
    return plan_ir::ViewAttr::get(builder.getContext(), symbol(place.buffer), element, shape,
                                  place.layout.offset * plan_ir::ViewAttr::elementBytes(element), {}, 0, {});
  };
  SmallVector<Attribute> sources, destinations;
  for (auto [operand, value] : llvm::zip(start->getOpOperands(), wait.getValues())) {
    const unsigned index = operand.getOperandNumber();
    const Type element = typeOf(operand.get()).getElementType();
    // Rows of chunks in place, the padding included; -1: those of the place.
    int64_t from = -1, to = -1;
    if (RankedTensorType chunk = start.getSourceChunk(index); chunk && !spmd::areChunksSeparate(chunk))
      from = chunk.getDimSize(0) * start.getGroupSize();
    const Place *chunks = assignment.chunksOf(value);
    if (start.getDestinationChunk(index) && !chunks)
      to = buffers[assignment.placeOf(value).buffer].type.getDimSize(0);
    sources.push_back(segment(assignment.placeOf(operand), element, from));
    destinations.push_back(segment(chunks ? *chunks : assignment.placeOf(value), element, to));
    if (from >= 0)
      writePadding(*start, operand.get(), cast<plan_ir::ViewAttr>(sources.back()));
  }
  auto collective = make<plan_ir::CollectiveOp>(start.getLoc());
  collective.setKind(*start.getKind());
  collective.setOp(start.getReduction());
  collective.setAxesAttr(start.getAxes());
  collective.setSourcesAttr(builder.getArrayAttr(sources));
  collective.setDestinationsAttr(builder.getArrayAttr(destinations));
  collective.setTokenAttr(token);
  if (!start.getScale().isExactlyValue(1.0))
    collective.setScale(start.getScale());
  finish(collective, start);
  collective.setStream(stringifyStreamKind(start.getStream()));
}
