//===- PlacesOfMoves.cpp - where what collectives and copies move lies ----------------===//
//
// The part of BufferAssignment that is about values on their way between ranks or spaces: what is gathered has room for the
// chunks of all ranks, what is reduced is reduced where it was made if it can be, and what was copied lies where it is
// wanted.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/BufferAssignment.h"

#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spaces.h"

using namespace mlir;

namespace sluice {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The parameter that a shard is of, through ops of one operand (casts); empty if there is none.
std::string parameterBehind(Value shard) {
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
    Operation *maker = shard.getDefiningOp();
    // Through a copy to the value that was copied.
    if (auto wait = dyn_cast<spmd::WaitOp>(maker))
      if (auto copy = wait.getToken().getDefiningOp<spmd::CopyStartOp>()) {
        shard = copy.getOperands()[cast<OpResult>(shard).getResultNumber()];
        continue;
      }
    if (maker->getNumOperands() != 1)
      return "";
    shard = maker->getOperand(0);
  }
  return "";
}

} // namespace

void BufferAssignment::findPaddedReductions() {
  entry.walk([&](spmd::ReduceScatterStartOp start) {
    const int64_t ranks = spmd::groupSize(spmd::meshOf(start), start.getAxes());
    for (auto [operand, shard] : llvm::zip(start.getOperands(), start.getShards().getAsValueRange<TypeAttr>())) {
      if (auto sharded = spmd::shardedDimOf(shard); sharded && sharded->dim != 0)
        continue;
      int64_t rows = cast<RankedTensorType>(shard).getDimSize(0) * ranks;
      Value value = behindSections(operand);
      // All elements in one dim are a view: what it is a view of has the rows.
      auto view = value.getDefiningOp<ViewOpInterface>();
      if (view && view->getNumOperands() == 1 && typeOf(value).getRank() == 1 && typeOf(view->getOperand(0)).getRank() > 1) {
        value = behindSections(view->getOperand(0));
        const int64_t row = typeOf(value).getNumElements() / std::max<int64_t>(typeOf(value).getDimSize(0), 1);
        rows = row == 0 ? 0 : (rows + row - 1) / row;
      }
      paddedRows[value] = rows;
    }
  });
}

LogicalResult BufferAssignment::placeStart(Operation &op) {
  if (auto scatter = dyn_cast<spmd::ReduceScatterStartOp>(op)) {
    for (auto [operand, shard] : llvm::zip(op.getOpOperands(), scatter.getShards().getAsValueRange<TypeAttr>()))
      placeReduced(operand, cast<RankedTensorType>(shard));
    return success();
  }
  for (OpOperand &operand : op.getOpOperands()) {
    const Place source = placeOf(operand.get());
    const RankedTensorType type = typeOf(operand.get());
    PlanBuffer &buffer = buffers[source.buffer];
    const StridedLayout dense = denseLayout(source.layout.shape);
    const bool isDense = source.layout.strides == dense.strides;
    if (isa<spmd::AllGatherStartOp>(op)) {
      if (!isDense)
        copyOperand(operand, {buffers.add(type, op.getLoc(), entryName, BufferClass::communication), dense});
      else if (!buffer.entry.empty() && !buffer.bufferClass)
        buffer.bufferClass = BufferClass::communication;
      continue;
    }
    // In place: the memory must be this value's alone from here on.
    const bool mayTake = !buffer.entry.empty() || isReturnedTo(source.buffer, operand.get());
    const bool owned = isDense && mayTake && !isReadAfter(source.buffer, positions.lookup(&op)) &&
                       llvm::count(op.getOperands(), operand.get()) == 1;
    if (!owned)
      copyOperand(operand, {buffers.add(type, op.getLoc(), entryName,
                                        spmd::unitOf(&op).empty() && type.getRank() > 0 ? BufferClass::activation : BufferClass::gradient),
                            dense});
    else if (!buffer.bufferClass && type.getRank() > 0 && !spmd::unitOf(&op).empty())
      buffer.bufferClass = BufferClass::gradient;
  }
  return success();
}

Place BufferAssignment::newChunks(RankedTensorType shard, int64_t ranks, Location location) {
  SmallVector<int64_t> shape(shard.getShape());
  shape.insert(shape.begin(), ranks);
  return {buffers.add(RankedTensorType::get(shape, shard.getElementType()), location, entryName, BufferClass::communication),
          denseLayout(shape)};
}

/// Reduced where it was made, if that is memory of its own with room for the padding; else out of a copy.
void BufferAssignment::placeReduced(OpOperand &operand, RankedTensorType shard) {
  auto scatter = cast<spmd::ReduceScatterStartOp>(operand.getOwner());
  const int64_t ranks = spmd::groupSize(spmd::meshOf(scatter), scatter.getAxes());
  if (auto sharded = spmd::shardedDimOf(shard); sharded && sharded->dim != 0)
    return copyOperand(operand, newChunks(shard, ranks, scatter.getLoc()));
  const Place source = placeOf(operand.get());
  const RankedTensorType type = typeOf(operand.get());
  const StridedLayout dense = denseLayout(source.layout.shape);
  PlanBuffer &buffer = buffers[source.buffer];
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = shard.getDimSize(0) * ranks;
  const auto padded = RankedTensorType::get(shape, type.getElementType());
  const bool isPadded = padded != RankedTensorType::get(type.getShape(), type.getElementType());
  // What is behind it is written: no value that is larger may lie there.
  const bool isAlone = !isPadded || llvm::all_of(valuesIn[source.buffer], [&](Value value) {
    return typeOf(value).getNumElements() <= type.getNumElements();
  });
  if (source.layout.offset == 0 && source.layout.strides == dense.strides && isAlone &&
      buffer.type.getElementType() == type.getElementType() &&
      buffer.type.getNumElements() >= padded.getNumElements()) {
    if (!buffer.bufferClass)
      buffer.bufferClass = BufferClass::gradient;
    return;
  }
  copyOperand(operand, {buffers.add(padded, scatter.getLoc(), entryName, BufferClass::gradient), dense});
}

void BufferAssignment::placeWait(spmd::WaitOp op) {
  Operation *start = op.getToken().getDefiningOp();
  for (auto [operand, value] : llvm::zip(start->getOpOperands(), op.getValues())) {
    if (isa<spmd::AllReduceStartOp>(start)) {
      bind(value, placeOf(operand));
      continue;
    }
    if (isa<spmd::CopyStartOp>(start)) {
      placeCopied(operand.get(), value);
      continue;
    }
    if (isa<spmd::ReduceScatterStartOp>(start)) {
      newPlace(value, spmd::unitOf(start).empty() ? std::nullopt : std::optional(BufferClass::gradient_shard));
      continue;
    }
    // The storage has the ranks' chunks one after another; the value is what is not padding at its tail.
    const RankedTensorType whole = typeOf(value);
    SmallVector<int64_t> rows(whole.getShape());
    const int64_t ranks = spmd::groupSize(spmd::meshOf(op), cast<spmd::AllGatherStartOp>(start).getAxes());
    if (auto sharded = spmd::shardedDimOf(operand.get().getType())) {
      if (sharded->dim == 0)
        rows[0] = typeOf(operand.get()).getDimSize(0) * ranks;
      else
        chunks[value] = newChunks(typeOf(operand.get()), ranks, op.getLoc());
    }
    const int buffer =
        buffers.add(RankedTensorType::get(rows, whole.getElementType()), op.getLoc(), entryName,
                    spmd::unitOf(start).empty() ? BufferClass::activation : BufferClass::gathered);
    buffers[buffer].unit = spmd::unitOf(start);
    // Gathered in some repetitions, it stays for the others.
    buffers[buffer].carried = start->hasAttr(spmd::whenName);
    const std::string parameter = parameterBehind(operand.get());
    if (!parameter.empty() || !buffers[buffer].unit.empty())
      buffers[buffer].hint = (parameter.empty() ? buffers[buffer].unit : parameter) + ".gathered";
    bind(value, {buffer, denseLayout(whole.getShape())});
  }
}

/// Of a persistent tensor, a copy that lives as long as it is read; of another, what that is for.
void BufferAssignment::placeCopied(Value from, Value to) {
  if (auto target = targets.find(to); target != targets.end())
    return bind(to, {target->second, denseLayout(typeOf(to).getShape())});
  const int source = placeOf(from).buffer;
  const int buffer = newPlace(to, buffers[source].bufferClass).buffer;
  if (buffers[source].entry.empty())
    buffers[buffer].hint = buffers[source].hint + "." + stringifyMemorySpace(buffers[buffer].space).str();
}

} // namespace sluice
