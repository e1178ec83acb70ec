//===- DestinationPlacement.cpp - memory of collectives and copies ----------------------------===//
//
// The part of BufferAssignment for collectives and copies between spaces. The destination of a gather has room for the
// chunks of all ranks, a reduction is in place if possible, and a copy writes its final buffer.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/BufferAssignment.h"

#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice {
namespace {

/// The parameter of a shard, through ops of one operand (casts); empty for another value.
std::string parameterOfShard(Value shard) {
  for (int step = 0; step < 4; ++step) {
    if (auto argument = dyn_cast<BlockArgument>(shard)) {
      auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      if (!function)
        return "";
      Attribute name = function.getArgAttr(argument.getArgNumber(), spmd::parameterName);
      if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(name))
        return symbol.getValue().str();
      return "";
    }
    Operation *producer = shard.getDefiningOp();
    // Through a copy to the value that was copied.
    if (auto wait = dyn_cast<spmd::WaitOp>(producer); wait && wait.getStart().isCopy()) {
      shard = wait.getStart()->getOperand(cast<OpResult>(shard).getResultNumber());
      continue;
    }
    if (producer->getNumOperands() != 1)
      return "";
    shard = producer->getOperand(0);
  }
  return "";
}

} // namespace

void BufferAssignment::findPaddedSources() {
  entry.walk([&](spmd::CollectiveOpInterface start) {
    for (auto [index, operand] : llvm::enumerate(start->getOperands())) {
      const RankedTensorType chunk = start.getSourceChunk(index);
      if (!chunk || spmd::areChunksSeparate(chunk))
        continue;
      int64_t rows = chunk.getDimSize(0) * start.getGroupSize();
      Value value = spmd::yieldedValue(operand);
      // A flat value is a view: the padded rows are those of its source.
      auto view = value.getDefiningOp<ViewOpInterface>();
      if (view && view->getNumOperands() == 1 && typeOf(value).getRank() == 1 &&
          typeOf(view->getOperand(0)).getRank() > 1) {
        value = spmd::yieldedValue(view->getOperand(0));
        const int64_t row = typeOf(value).getNumElements() / std::max<int64_t>(typeOf(value).getDimSize(0), 1);
        rows = row == 0 ? 0 : (rows + row - 1) / row;
      }
      paddedRows[value] = rows;
    }
  });
}

void BufferAssignment::placeStart(spmd::CollectiveOpInterface start) {
  for (OpOperand &operand : start->getOpOperands()) {
    if (RankedTensorType chunk = start.getSourceChunk(operand.getOperandNumber()))
      placeSourceChunks(operand, chunk);
    else if (start.isInPlace())
      placeInPlace(operand);
    else if (!start.isCopy())
      placeSource(operand);
  }
}

/// Collectives read dense tensors.
void BufferAssignment::placeSource(OpOperand &operand) {
  const Place source = placeOf(operand.get());
  const StridedLayout dense = denseLayout(source.layout.shape);
  PlanBuffer &buffer = buffers[source.buffer];
  if (source.layout.strides != dense.strides)
    copyOperand(operand, {buffers.add(typeOf(operand.get()), operand.getOwner()->getLoc(), entryName,
                                      BufferClass::communication),
                          dense});
  else if (!buffer.entry.empty() && !buffer.bufferClass)
    buffer.bufferClass = BufferClass::communication;
}

/// No other value may be read from the memory after the collective.
void BufferAssignment::placeInPlace(OpOperand &operand) {
  Operation *start = operand.getOwner();
  const Place source = placeOf(operand.get());
  const RankedTensorType type = typeOf(operand.get());
  PlanBuffer &buffer = buffers[source.buffer];
  const StridedLayout dense = denseLayout(source.layout.shape);
  const bool mayTake = !buffer.entry.empty() || isReturnedTo(source.buffer, operand.get());
  const bool isOwned = source.layout.strides == dense.strides && mayTake &&
                       !isReadAfter(source.buffer, positions.lookup(start)) &&
                       llvm::count(start->getOperands(), operand.get()) == 1;
  const bool hasUnit = !spmd::unitOf(start).empty();
  if (!isOwned)
    copyOperand(operand, {buffers.add(type, start->getLoc(), entryName,
                                      hasUnit || type.getRank() == 0 ? BufferClass::gradient : BufferClass::activation),
                          dense});
  else if (!buffer.bufferClass && type.getRank() > 0 && hasUnit)
    buffer.bufferClass = BufferClass::gradient;
}

Place BufferAssignment::newChunks(RankedTensorType shard, int64_t ranks, Location location) {
  SmallVector<int64_t> shape(shard.getShape());
  shape.insert(shape.begin(), ranks);
  return {buffers.add(RankedTensorType::get(shape, shard.getElementType()), location, entryName,
                      BufferClass::communication),
          denseLayout(shape)};
}

/// In the memory of the operand if that has room for the padding and holds no larger value; else in a copy.
void BufferAssignment::placeSourceChunks(OpOperand &operand, RankedTensorType chunk) {
  auto start = cast<spmd::CollectiveOpInterface>(operand.getOwner());
  const int64_t ranks = start.getGroupSize();
  if (spmd::areChunksSeparate(chunk))
    return copyOperand(operand, newChunks(chunk, ranks, start.getLoc()));
  const BufferClass bufferClass = start.isReduction() ? BufferClass::gradient : BufferClass::communication;
  const Place source = placeOf(operand.get());
  const RankedTensorType type = typeOf(operand.get());
  const StridedLayout dense = denseLayout(source.layout.shape);
  PlanBuffer &buffer = buffers[source.buffer];
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = chunk.getDimSize(0) * ranks;
  const auto padded = RankedTensorType::get(shape, type.getElementType());
  const bool isPadded = padded != RankedTensorType::get(type.getShape(), type.getElementType());
  // The padding after the tensor is written, so no larger value may be in the buffer.
  const bool isAlone = !isPadded || llvm::all_of(valuesIn[source.buffer], [&](Value value) {
    return typeOf(value).getNumElements() <= type.getNumElements();
  });
  if (source.layout.offset == 0 && source.layout.strides == dense.strides && isAlone &&
      buffer.type.getElementType() == type.getElementType() &&
      buffer.type.getNumElements() >= padded.getNumElements()) {
    if (!buffer.bufferClass)
      buffer.bufferClass = bufferClass;
    return;
  }
  copyOperand(operand, {buffers.add(padded, start.getLoc(), entryName, bufferClass), dense});
}

void BufferAssignment::placeWait(spmd::WaitOp op) {
  spmd::CollectiveOpInterface start = op.getStart();
  for (auto [operand, value] : llvm::zip(start->getOpOperands(), op.getValues())) {
    if (start.isInPlace())
      bind(value, placeOf(operand));
    else if (start.isCopy())
      placeCopied(operand.get(), value);
    else if (RankedTensorType chunk = start.getDestinationChunk(operand.getOperandNumber()))
      placeDestinationChunks(operand.get(), value, chunk, start);
    else
      newPlace(value, spmd::unitOf(start).empty() ? std::nullopt : std::optional(BufferClass::gradient_shard));
  }
}

/// The buffer has the ranks' chunks one after another, with padding only at the tail; or copies join the chunks from
/// another buffer.
void BufferAssignment::placeDestinationChunks(Value operand, Value value, RankedTensorType chunk,
                                              spmd::CollectiveOpInterface start) {
  const RankedTensorType type = typeOf(value);
  const StringRef unit = spmd::unitOf(start);
  SmallVector<int64_t> shape(type.getShape());
  if (spmd::areChunksSeparate(chunk))
    chunks[value] = newChunks(chunk, start.getGroupSize(), value.getLoc());
  else if (spmd::shardedDimOf(chunk))
    shape[0] = chunk.getDimSize(0) * start.getGroupSize();
  const int id = buffers.add(RankedTensorType::get(shape, type.getElementType()), value.getLoc(), entryName,
                             unit.empty() ? BufferClass::activation : BufferClass::gathered);
  PlanBuffer &buffer = buffers[id];
  buffer.unit = unit;
  // Gathered only in some repetitions, the value is carried to the others.
  buffer.carried = start->hasAttr(spmd::whenName);
  const std::string parameter = parameterOfShard(operand);
  if (!parameter.empty() || !unit.empty())
    buffer.hint = (parameter.empty() ? buffer.unit : parameter) + ".gathered";
  bind(value, {id, denseLayout(type.getShape())});
}

/// A copy has the class of its source; a copy of a persistent tensor is named after it. A value that is copied to the
/// host and back is an activation.
void BufferAssignment::placeCopied(Value from, Value to) {
  if (auto target = targets.find(to); target != targets.end())
    return bind(to, {target->second, denseLayout(typeOf(to).getShape())});
  const int source = placeOf(from).buffer;
  const auto isCopy = [](Operation *user) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(user);
    return start && start.isCopy();
  };
  if (!buffers[source].bufferClass && llvm::any_of(to.getUsers(), isCopy))
    buffers[source].bufferClass = BufferClass::activation;
  const int buffer = newPlace(to, buffers[source].bufferClass).buffer;
  if (buffers[source].entry.empty())
    buffers[buffer].hint = buffers[source].hint + "." + stringifyMemorySpace(buffers[buffer].space).str();
}

} // namespace sluice
