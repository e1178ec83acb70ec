//===- BufferAssignment.cpp - memory of the values of an entry function -------------===//
#include "passes/schedule/BufferAssignment.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace sluice {

plan_ir::ValidAttr planValid(RankedTensorType type) {
  std::optional<spmd::ShardedDim> sharded = spmd::shardedDimOf(type);
  if (!sharded)
    return {};
  return plan_ir::ValidAttr::get(type.getContext(), sharded->dim, sharded->chunk, sharded->total, sharded->axes);
}

StridedLayout denseLayout(llvm::ArrayRef<int64_t> shape) {
  StridedLayout layout;
  layout.shape.assign(shape.begin(), shape.end());
  layout.strides = computeSuffixProduct(shape);
  return layout;
}

BufferAssignment::BufferAssignment(func::FuncOp entry, PlanBuffers &buffers, bool alignsRows)
    : entry(entry), buffers(buffers), entryName(entry.getName()), alignsRows(alignsRows) {}

LogicalResult BufferAssignment::run() {
  unsigned position = 0;
  for (auto section : entry.getOps<spmd::SectionOp>())
    for (Operation &op : section.getBody().front())
      positions[&op] = position++;
  if (failed(placeArguments()))
    return failure();
  findPaddedSources();
  if (alignsRows)
    findAlignedRows();
  findDonations();
  for (auto section : entry.getOps<spmd::SectionOp>())
    for (Operation &op : section.getBody().front().without_terminator())
      if (failed(place(op)))
        return failure();
  countAccesses();
  return success();
}

LogicalResult BufferAssignment::placeArguments() {
  SymbolTable symbols(entry->getParentOfType<ModuleOp>());
  for (BlockArgument argument : entry.getArguments()) {
    const unsigned index = argument.getArgNumber();
    RankedTensorType type = typeOf(argument);
    auto parameter = entry.getArgAttrOfType<FlatSymbolRefAttr>(index, spmd::parameterName);
    auto state = entry.getArgAttrOfType<StringAttr>(index, spmd::stateName);
    auto input = entry.getArgAttrOfType<StringAttr>(index, spmd::inputName);
    if (!parameter && !input)
      return entry.emitOpError() << "argument " << index << " is not a parameter, state or input";
    int buffer;
    if (parameter) {
      auto declared = symbols.lookup<model::ParameterOp>(parameter.getAttr());
      const BufferClass kept = declared && declared.isState() ? BufferClass::state
                               : state                        ? BufferClass::optimizer
                                                              : BufferClass::parameter;
      buffer = buffers.persistent(parameter.getValue(), state ? state.getValue() : "", type, planValid(type), kept,
                                  argument.getLoc());
      if (buffers[buffer].type.getShape() != type.getShape())
        return entry.emitOpError() << "argument " << index << ", expected " << buffers[buffer].type
                                   << " as in other entry points but got " << type;
    } else {
      buffer = buffers.add(type, argument.getLoc(), entryName, BufferClass::input);
      buffers[buffer].hint = "input." + input.str();
    }
    if (spmd::isInHost(argument))
      buffers[buffer].space = MemorySpace::host;
    bind(argument, {buffer, denseLayout(type.getShape())});
  }
  return success();
}

/// Only kernels and views read such a value: collectives and outputs are dense.
void BufferAssignment::findAlignedRows() {
  const auto align = [&](Value value) {
    const int64_t columns = typeOf(value).getRank() < 2 ? 0 : typeOf(value).getShape().back();
    // Views with the same rows.
    while (auto view = value.getDefiningOp<ViewOpInterface>()) {
      if (view->getNumOperands() != 1 || typeOf(view->getOperand(0)).getRank() < 2 ||
          typeOf(view->getOperand(0)).getShape().back() != columns)
        return;
      value = view->getOperand(0);
    }
    const bool isReadByKernels = llvm::all_of(value.getUsers(), [](Operation *user) {
      return isa<KernelOpInterface, ViewOpInterface, spmd::ReleaseOp>(user) && !isa<DestinationOpInterface>(user);
    });
    if (value.getDefiningOp<KernelOpInterface>() && !value.getDefiningOp<DestinationOpInterface>() && isReadByKernels &&
        typeOf(value).getElementTypeBitWidth() == 16 && alignedPitch(columns) != columns)
      rowPitch[value] = alignedPitch(columns);
  };
  entry.walk([&](KernelOpInterface op) {
    if (isa<ViewOpInterface>(*op) || !op->getParentOfType<spmd::SectionOp>() ||
        !kernelRecord(op.getKernelCall().kernel).isLibraryProduct())
      return;
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
      align(value);
  });
}

void BufferAssignment::findDonations() {
  Operation *terminator = entry.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto donates = entry.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), spmd::donatesName);
    if (!donates)
      continue;
    // Computed directly in the buffer only if nothing reads the old value; mustAlias finds updates in place.
    BlockArgument old = entry.getArgument(donates.getInt());
    Value value = spmd::yieldedValue(operand.get());
    returned[places[old].buffer].push_back(value);
    // A copy can write the buffer directly: all readers of the old value are before it.
    if (auto wait = value.getDefiningOp<spmd::WaitOp>(); wait && wait.getStart().isCopy())
      if (spmd::isInHost(value) == spmd::isInHost(old) &&
          !isReadAfter(places[old].buffer, positions.lookup(wait.getStart())))
        targets.try_emplace(value, places[old].buffer);
    if (old.use_empty() && value.getDefiningOp<KernelOpInterface>() && !value.getDefiningOp<ViewOpInterface>() &&
        !value.getDefiningOp<DestinationOpInterface>())
      targets.try_emplace(value, places[old].buffer);
  }
}

LogicalResult BufferAssignment::place(Operation &op) {
  if (auto start = dyn_cast<spmd::CollectiveOpInterface>(op)) {
    placeStart(start);
    return success();
  }
  if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
    placeWait(wait);
    return success();
  }
  if (isa<spmd::ReleaseOp>(op))
    return success();
  if (auto accumulate = dyn_cast<spmd::AccumulateOp>(op)) {
    const RankedTensorType type = typeOf(accumulate.getSum());
    Place &sum = newPlace(accumulate.getSum(), spmd::shardingOf(type) ? BufferClass::gradient_shard
                                               : type.getRank() > 0   ? BufferClass::gradient
                                                                      : BufferClass::temporary);
    buffers[sum.buffer].carried = true;
    return success();
  }
  if (auto view = dyn_cast<ViewOpInterface>(op); view && placeViews(view))
    return success();
  if (auto destination = dyn_cast<DestinationOpInterface>(op)) {
    placeWindows(destination);
    return success();
  }
  if (auto kernel = dyn_cast<KernelOpInterface>(op))
    return placeKernel(kernel);
  return op.emitOpError("cannot be lowered, expected an op with a kernel, a view or a collective");
}

bool BufferAssignment::placeViews(ViewOpInterface op) {
  Place source = placeOf(op->getOperand(0));
  SmallVector<StridedLayout, 4> windows;
  const auto findWindows = [&] {
    windows.clear();
    for (OpResult result : op->getResults()) {
      FailureOr<StridedLayout> window = op.getViewOf(result.getResultNumber(), source.layout);
      if (failed(window))
        return false;
      windows.push_back(*window);
    }
    return true;
  };
  if (!findWindows()) {
    // A dense copy of the operand has windows of every shape.
    const RankedTensorType type = typeOf(op->getOperand(0));
    source = {buffers.add(type, op.getLoc(), entryName), denseLayout(type.getShape())};
    buffers[source.buffer].block = model::outermostBlock(model::blockOf(op)).str();
    if (!findWindows())
      return false;
    copyOperand(op->getOpOperand(0), source);
  }
  for (auto [result, window] : llvm::zip(op->getResults(), windows))
    bind(result, {source.buffer, window});
  views.insert(op);
  return true;
}

void BufferAssignment::placeWindows(DestinationOpInterface op) {
  const Place result = newPlace(op->getResult(0));
  for (OpOperand &operand : op->getOpOperands())
    copies[&operand] = {result.buffer, op.getOperandWindow(operand.getOperandNumber(), result.layout)};
}

LogicalResult BufferAssignment::placeKernel(KernelOpInterface op) {
  const KernelCall call = op.getKernelCall();
  const AliasPairs inPlace = call.mustAlias(op->getResults());
  for (OpResult result : op->getResults()) {
    const auto pair = llvm::find_if(inPlace, [&](auto p) { return p.second == result.getResultNumber(); });
    if (pair == inPlace.end()) {
      if (auto target = targets.find(result); target != targets.end())
        bind(result, {target->second, denseLayout(typeOf(result).getShape())});
      else
        newPlace(result);
      continue;
    }
    Value old = call.inputs[pair->first];
    OpOperand *operand = nullptr;
    for (OpOperand &candidate : op->getOpOperands())
      if (candidate.get() == old)
        operand = &candidate;
    const Place reused = placeOf(old);
    // A persistent buffer is written only by the result that becomes its new value.
    bool isReusable = !isReadAfter(reused.buffer, positions.lookup(op)) &&
                      (!buffers[reused.buffer].entry.empty() || isReturnedTo(reused.buffer, result));
    if (isReusable)
      bind(result, reused);
    else
      copyOperand(*operand, newPlace(result));
  }
  return success();
}

/// True if this value, or the result of an in-place collective on it, is returned as the new value of the buffer.
bool BufferAssignment::isReturnedTo(int buffer, Value value) const {
  auto found = returned.find(buffer);
  if (found == returned.end())
    return false;
  for (Value current : found->second)
    while (current) {
      if (current == value)
        return true;
      auto wait = current.getDefiningOp<spmd::WaitOp>();
      current = wait && wait.getStart().isInPlace()
                    ? wait.getStart()->getOperand(cast<OpResult>(current).getResultNumber())
                    : Value();
    }
  return false;
}

Place &BufferAssignment::newPlace(Value value, std::optional<BufferClass> bufferClass) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  if (int64_t rows = paddedRows.lookup(value))
    shape[0] = rows;
  if (int64_t pitch = rowPitch.lookup(value))
    shape.back() = pitch;
  StridedLayout layout = denseLayout(shape);
  layout.shape.assign(type.getShape().begin(), type.getShape().end());
  Operation *op = value.getDefiningOp();
  const int buffer =
      buffers.add(RankedTensorType::get(shape, type.getElementType()), value.getLoc(), entryName, bufferClass);
  buffers[buffer].block = op ? model::outermostBlock(model::blockOf(op)).str() : "";
  if (spmd::isInHost(value))
    buffers[buffer].space = MemorySpace::host;
  bind(value, {buffer, std::move(layout)});
  return places[value];
}

void BufferAssignment::bind(Value value, Place place) {
  valuesIn[place.buffer].push_back(value);
  places[value] = std::move(place);
}

void BufferAssignment::copyOperand(OpOperand &operand, Place to) { copies[&operand] = std::move(to); }

bool BufferAssignment::isReadAfter(int buffer, unsigned position) const {
  SmallVector<Value> pending(valuesIn.lookup(buffer));
  llvm::DenseSet<Value> seen(pending.begin(), pending.end());
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user)) {
        // Returned to the host: copied at the end. A donated result is that memory itself.
        if (entry.getResultAttr(use.getOperandNumber(), spmd::outputName))
          return true;
        continue;
      }
      if (isa<spmd::YieldOp>(user)) {
        Value result = user->getParentOp()->getResult(use.getOperandNumber());
        if (seen.insert(result).second)
          pending.push_back(result);
        continue;
      }
      if (positions.lookup(user) > position)
        return true;
    }
  }
  return false;
}

void BufferAssignment::countAccesses() {
  for (auto section : entry.getOps<spmd::SectionOp>())
    for (Operation &op : section.getBody().front().without_terminator()) {
      if (isa<spmd::WaitOp, spmd::ReleaseOp>(op) || (views.contains(&op) && copiesBefore(&op).empty()))
        continue;
      // An update in the backward reads gradients as well.
      const Phase phase = isa<OptimizerOpInterface>(op) ? Phase::update : model::phaseOf(&op);
      const bool isRecompute = op.hasAttr(model::recomputeName);
      for (OpOperand &operand : op.getOpOperands()) {
        buffers[placeOf(operand.get()).buffer].readers.insert(phase, isRecompute);
        if (auto copy = copies.find(&operand); copy != copies.end()) {
          buffers[copy->second.buffer].writers.insert(phase, isRecompute);
          buffers[copy->second.buffer].readers.insert(phase, isRecompute);
        }
      }
      for (OpResult result : op.getResults())
        if (auto place = places.find(result); place != places.end())
          buffers[place->second.buffer].writers.insert(phase, isRecompute);
      if (auto copy = dyn_cast<spmd::CollectiveOpInterface>(op); copy && copy.isCopy())
        for (Value value : cast<spmd::WaitOp>(*copy->user_begin()).getValues())
          buffers[placeOf(value).buffer].writers.insert(phase, isRecompute);
    }
}

const Place &BufferAssignment::placeOf(Value value) const {
  auto it = places.find(spmd::yieldedValue(value));
  assert(it != places.end() && "value without a place");
  return it->second;
}

const Place &BufferAssignment::placeOf(OpOperand &operand) const {
  auto it = copies.find(&operand);
  return it != copies.end() ? it->second : placeOf(operand.get());
}

std::vector<OperandCopy> BufferAssignment::copiesBefore(Operation *op) const {
  std::vector<OperandCopy> result;
  for (OpOperand &operand : op->getOpOperands())
    if (auto it = copies.find(&operand); it != copies.end())
      result.push_back({&operand, placeOf(operand.get()), it->second});
  return result;
}

int BufferAssignment::donated(unsigned index) const {
  auto donates = entry.getResultAttrOfType<IntegerAttr>(index, spmd::donatesName);
  return donates ? placeOf(entry.getArgument(donates.getInt())).buffer : -1;
}

} // namespace sluice
