//===- BufferAssignment.cpp - from values to memory ---------------------------------===//
#include "passes/schedule/BufferAssignment.h"

#include "dialect/model/Model.h"
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

bool isCollectiveStart(Operation *op) {
  return isa<spmd::AllGatherStartOp, spmd::ReduceScatterStartOp, spmd::AllReduceStartOp>(op);
}

} // namespace

plan_ir::ValidAttr planValid(RankedTensorType type) {
  spmd::ValidAttr valid = spmd::validOf(type);
  if (!valid)
    return {};
  return plan_ir::ValidAttr::get(type.getContext(), valid.getDim(), type.getDimSize(valid.getDim()), valid.getTotal(),
                                 valid.getAxes());
}

StridedLayout denseLayout(llvm::ArrayRef<int64_t> shape) {
  StridedLayout layout;
  layout.shape.assign(shape.begin(), shape.end());
  layout.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride *= shape[d];
  }
  return layout;
}

Value behindSections(Value value) {
  while (auto section = value.getDefiningOp<spmd::SectionOp>())
    value = section.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return value;
}

BufferAssignment::BufferAssignment(func::FuncOp entry, PlanBuffers &buffers)
    : entry(entry), buffers(buffers), entryName(entry.getName()) {}

LogicalResult BufferAssignment::run() {
  unsigned position = 0;
  for (auto section : entry.getOps<spmd::SectionOp>())
    for (Operation &op : section.getBody().front())
      positions[&op] = position++;
  if (failed(placeArguments()))
    return failure();
  findPaddedReductions();
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
      return entry.emitOpError() << "argument " << index << ", expected a parameter, state or input but got neither";
    int buffer;
    if (parameter) {
      auto declared = symbols.lookup<model::ParameterOp>(parameter.getAttr());
      const llvm::StringRef kept = declared && declared.isState() ? "state" : state ? "optimizer" : "parameter";
      buffer = buffers.persistent(parameter.getValue(), state ? state.getValue() : "", type, planValid(type), kept,
                                  argument.getLoc());
      if (buffers[buffer].type.getShape() != type.getShape())
        return entry.emitOpError() << "argument " << index << ", expected " << buffers[buffer].type
                                   << " as in other entry points but got " << type;
    } else {
      buffer = buffers.add(type, argument.getLoc(), entryName, "input");
      buffers[buffer].hint = "input." + input.str();
    }
    if (spmd::isInHost(argument))
      buffers[buffer].space = "host";
    bind(argument, {buffer, denseLayout(type.getShape())});
  }
  return success();
}

void BufferAssignment::findPaddedReductions() {
  entry.walk([&](spmd::ReduceScatterStartOp start) {
    const int64_t ranks = spmd::groupSize(spmd::meshOf(start), start.getAxes());
    for (auto [operand, shard] : llvm::zip(start.getOperands(), start.getShards().getAsValueRange<TypeAttr>())) {
      if (spmd::ValidAttr valid = spmd::validOf(shard); valid && valid.getDim() != 0)
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

void BufferAssignment::findDonations() {
  Operation *terminator = entry.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto donates = entry.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), spmd::donatesName);
    if (!donates)
      continue;
    // Made in place from the start only where nothing reads the old value; updates in place are found by mustAlias.
    BlockArgument old = entry.getArgument(donates.getInt());
    Value value = behindSections(operand.get());
    returned[places[old].buffer].push_back(value);
    // What is copied there can be copied right there: whatever reads the old value stands before.
    if (auto wait = value.getDefiningOp<spmd::WaitOp>(); wait && wait.getToken().getDefiningOp<spmd::CopyStartOp>())
      if (spmd::isInHost(value) == spmd::isInHost(old) &&
          !isReadAfter(places[old].buffer, positions.lookup(wait.getToken().getDefiningOp())))
        targets.try_emplace(value, places[old].buffer);
    if (old.use_empty() && value.getDefiningOp<KernelOpInterface>() && !value.getDefiningOp<ViewOpInterface>() &&
        !value.getDefiningOp<DestinationOpInterface>())
      targets.try_emplace(value, places[old].buffer);
  }
}

LogicalResult BufferAssignment::place(Operation &op) {
  if (isCollectiveStart(&op))
    return placeStart(op);
  if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
    placeWait(wait);
    return success();
  }
  if (isa<spmd::ReleaseOp, spmd::CopyStartOp>(op))
    return success();
  if (auto accumulate = dyn_cast<spmd::AccumulateOp>(op)) {
    const RankedTensorType type = typeOf(accumulate.getSum());
    Place &sum = newPlace(accumulate.getSum(), spmd::validOf(type)    ? "gradient_shard"
                                               : type.getRank() > 0 ? "gradient"
                                                                    : "temporary");
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
    buffers[source.buffer].block = spmd::outermostBlock(spmd::blockOf(op)).str();
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
  const Place whole = newPlace(op->getResult(0));
  for (OpOperand &operand : op->getOpOperands())
    copies[&operand] = {whole.buffer, op.getOperandWindow(operand.getOperandNumber(), whole.layout)};
}

LogicalResult BufferAssignment::placeKernel(KernelOpInterface op) {
  const KernelCall call = op.getKernelCall();
  for (OpResult result : op->getResults()) {
    const auto *pair = llvm::find_if(call.mustAlias, [&](auto p) { return p.second == result.getResultNumber(); });
    if (pair == call.mustAlias.end()) {
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
    const Place taken = placeOf(old);
    // What persists is written only by the result that takes its place.
    bool mayTake = !isReadAfter(taken.buffer, positions.lookup(op));
    if (buffers[taken.buffer].entry.empty())
      mayTake = mayTake && isReturnedTo(taken.buffer, result);
    if (mayTake) {
      bind(result, taken);
    } else {
      const Place own = newPlace(result);
      copyOperand(*operand, own);
    }
  }
  return success();
}

/// True where a persistent buffer is given back as this value, or as what an all_reduce makes of it.
bool BufferAssignment::isReturnedTo(int buffer, Value value) const {
  auto found = returned.find(buffer);
  if (found == returned.end())
    return false;
  for (Value made : found->second)
    while (made) {
      if (made == value)
        return true;
      auto wait = made.getDefiningOp<spmd::WaitOp>();
      auto start = wait ? wait.getToken().getDefiningOp<spmd::AllReduceStartOp>() : nullptr;
      made = start ? start.getOperands()[cast<OpResult>(made).getResultNumber()] : Value();
    }
  return false;
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
        copyOperand(operand, {buffers.add(type, op.getLoc(), entryName, "communication"), dense});
      else if (!buffer.entry.empty() && buffer.bufferClass.empty())
        buffer.bufferClass = "communication";
      continue;
    }
    // In place: the memory must be this value's alone from here on.
    const bool mayTake = !buffer.entry.empty() || isReturnedTo(source.buffer, operand.get());
    const bool owned = isDense && mayTake && !isReadAfter(source.buffer, positions.lookup(&op)) &&
                       llvm::count(op.getOperands(), operand.get()) == 1;
    if (!owned)
      copyOperand(operand, {buffers.add(type, op.getLoc(), entryName,
                                        spmd::unitOf(&op).empty() && type.getRank() > 0 ? "activation" : "gradient"),
                            dense});
    else if (buffer.bufferClass.empty() && type.getRank() > 0 && !spmd::unitOf(&op).empty())
      buffer.bufferClass = "gradient";
  }
  return success();
}

Place BufferAssignment::newChunks(RankedTensorType shard, int64_t ranks, Location location) {
  SmallVector<int64_t> shape(shard.getShape());
  shape.insert(shape.begin(), ranks);
  return {buffers.add(RankedTensorType::get(shape, shard.getElementType()), location, entryName, "communication"),
          denseLayout(shape)};
}

/// Reduced where it was made, if that is memory of its own with room for the padding; else out of a copy.
void BufferAssignment::placeReduced(OpOperand &operand, RankedTensorType shard) {
  auto scatter = cast<spmd::ReduceScatterStartOp>(operand.getOwner());
  const int64_t ranks = spmd::groupSize(spmd::meshOf(scatter), scatter.getAxes());
  if (spmd::ValidAttr valid = spmd::validOf(shard); valid && valid.getDim() != 0)
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
    if (buffer.bufferClass.empty())
      buffer.bufferClass = "gradient";
    return;
  }
  copyOperand(operand, {buffers.add(padded, scatter.getLoc(), entryName, "gradient"), dense});
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
      newPlace(value, spmd::unitOf(start).empty() ? "" : "gradient_shard");
      continue;
    }
    // The storage has the ranks' chunks one after another; the value is what is not padding at its tail.
    const RankedTensorType whole = typeOf(value);
    SmallVector<int64_t> rows(whole.getShape());
    const int64_t ranks = spmd::groupSize(spmd::meshOf(op), cast<spmd::AllGatherStartOp>(start).getAxes());
    if (spmd::ValidAttr valid = spmd::validOf(operand.get().getType())) {
      if (valid.getDim() == 0)
        rows[0] = typeOf(operand.get()).getDimSize(0) * ranks;
      else
        chunks[value] = newChunks(typeOf(operand.get()), ranks, op.getLoc());
    }
    const int buffer =
        buffers.add(RankedTensorType::get(rows, whole.getElementType()), op.getLoc(), entryName,
                    spmd::unitOf(start).empty() ? "activation" : "gathered");
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
    buffers[buffer].hint = buffers[source].hint + "." + buffers[buffer].space;
}

Place &BufferAssignment::newPlace(Value value, llvm::StringRef bufferClass) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  if (int64_t rows = paddedRows.lookup(value))
    shape[0] = rows;
  Operation *op = value.getDefiningOp();
  const int buffer =
      buffers.add(RankedTensorType::get(shape, type.getElementType()), value.getLoc(), entryName, bufferClass.str());
  buffers[buffer].block = op ? spmd::outermostBlock(spmd::blockOf(op)).str() : "";
  if (spmd::isInHost(value))
    buffers[buffer].space = "host";
  bind(value, {buffer, denseLayout(type.getShape())});
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
      const std::string phase = op.hasAttr(spmd::recomputeName) ? "recompute" : spmd::phaseOf(&op).str();
      for (OpOperand &operand : op.getOpOperands()) {
        buffers[placeOf(operand.get()).buffer].readers.insert(phase);
        if (auto copy = copies.find(&operand); copy != copies.end()) {
          buffers[copy->second.buffer].writers.insert(phase);
          buffers[copy->second.buffer].readers.insert(phase);
        }
      }
      for (OpResult result : op.getResults())
        if (auto place = places.find(result); place != places.end())
          buffers[place->second.buffer].writers.insert(phase);
      if (auto copy = dyn_cast<spmd::CopyStartOp>(op))
        for (Value value : cast<spmd::WaitOp>(*copy->user_begin()).getValues())
          buffers[placeOf(value).buffer].writers.insert(phase);
    }
}

const Place &BufferAssignment::placeOf(Value value) const {
  auto it = places.find(behindSections(value));
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
