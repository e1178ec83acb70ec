//===- LowerToPlan.cpp - plan-lower: values become views of buffers -----------------===//
//
// BufferAssignment says where each value lies; here the instructions are written down, in the order of the ops.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/BufferAssignment.h"
#include "passes/schedule/ChunkWindows.h"
#include "passes/schedule/Passes.h"

#include "dialect/rules/When.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Units.h"


namespace sluice {
#define GEN_PASS_DEF_LOWERTOPLAN
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Numbers of a value's or op's results in the unsharded program; 0 where it has none.
int64_t idOf(Value value) {
  value = behindSections(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto id = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "model.id");
    return id ? id.getInt() : 0;
  }
  auto ids = value.getDefiningOp()->getAttrOfType<DenseI64ArrayAttr>(spmd::idsName);
  const unsigned index = cast<OpResult>(value).getResultNumber();
  return ids && index < static_cast<unsigned>(ids.size()) ? ids[index] : 0;
}

/// In which repetitions a sum begins and in which it is added to; empty: in none.
std::pair<std::string, std::string> accumulateCourse(StringRef issued, StringRef starts, int64_t repeat) {
  if (issued.empty() && starts.empty())
    return {"first", "not_first"};
  SmallVector<int64_t> begins, adds;
  for (int64_t repetition = 0; repetition < repeat; ++repetition) {
    if (!isIssuedIn(issued, repetition, repeat))
      continue;
    const bool isFirst = begins.empty() && adds.empty();
    (isFirst || (!starts.empty() && isIssuedIn(starts, repetition, repeat)) ? begins : adds).push_back(repetition);
  }
  return {begins.empty() ? "" : writeWhen(begins, repeat), adds.empty() ? "" : writeWhen(adds, repeat)};
}

class EntryLowering {
public:
  EntryLowering(func::FuncOp function, const BufferAssignment &assignment, PlanBuffers &buffers, OpBuilder &builder)
      : function(function), assignment(assignment), buffers(buffers), builder(builder),
        units(function->getParentOfType<ModuleOp>()),
        hasRoot(SymbolTable::lookupSymbolIn(function->getParentOfType<ModuleOp>(), spmd::rootUnit) != nullptr) {
    auto kind = function->getAttrOfType<StringAttr>(spmd::entryName);
    isInit = kind && kind.getValue() == "init";
    phase = isInit ? "init" : "forward";
  }

  /// Host buffers of inputs and outputs; before buffers have their names.
  void addPorts();
  void emit();

private:
  struct Port {
    unsigned index = 0;
    bool isInput = false;
    int host = -1;
    bool perRepetition = false;
  };

  plan_ir::ViewAttr view(const Place &place, RankedTensorType type, int64_t step = 0) const;
  plan_ir::ValidAttr validFor(const Place &place, RankedTensorType type) const;
  static plan_ir::ViewAttr withValid(plan_ir::ViewAttr view, plan_ir::ValidAttr valid) {
    return plan_ir::ViewAttr::get(view.getContext(), view.getBuffer(), view.getElementType(), view.getShape(),
                                  view.getOffset(), view.getStrides(), view.getStep(), valid);
  }
  plan_ir::ViewAttr view(Value value) const { return view(assignment.placeOf(value), typeOf(value)); }
  plan_ir::ViewAttr hostView(const Port &port, RankedTensorType type) const;
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  FlatSymbolRefAttr symbol(int buffer) const {
    return FlatSymbolRefAttr::get(builder.getContext(), buffers[buffer].name);
  }

  template <typename Op>
  Op make(Location location, std::initializer_list<std::pair<StringRef, Attribute>> attributes) {
    OperationState state(location, Op::getOperationName());
    for (auto [name, value] : attributes)
      state.addAttribute(name, value);
    state.addAttribute("phase", builder.getStringAttr(phase));
    return cast<Op>(builder.create(state));
  }
  plan_ir::LaunchOp makeLaunch(Location location, StringRef kernel, ArrayRef<Attribute> inputs, ArrayRef<Attribute> outputs,
                               DictionaryAttr settings) {
    return make<plan_ir::LaunchOp>(location, {{"kernel", builder.getStringAttr(kernel)},
                                              {"inputs", builder.getArrayAttr(inputs)},
                                              {"outputs", builder.getArrayAttr(outputs)},
                                              {"settings", settings}});
  }
  plan_ir::CopyOp makeCopy(Location location, plan_ir::ViewAttr source, plan_ir::ViewAttr destination) {
    return make<plan_ir::CopyOp>(location, {{"source", source}, {"destination", destination}});
  }
  /// Adds what every instruction carries.
  template <typename Op> Op finish(Op instruction, Operation *from);
  void emitPort(const Port &port);
  void emitSection(spmd::SectionOp section, bool isLast);
  void emitInputs(spmd::SectionOp section, bool isLast);
  void emitResults();
  void emitOp(Operation &op);
  void emitKernel(KernelOpInterface op);
  void emitCopyLaunch(const OperandCopy &copy, Operation *op);
  void emitAccumulate(spmd::AccumulateOp op);
  /// Copies between a tensor and the chunks of it that are one type's, either way.
  void emitChunkCopies(const Place &whole, const Place &chunks, RankedTensorType shard, int64_t id, Operation *op, bool gathers);
  void emitStart(Operation &op);
  void emitPadding(Operation &op, Value value, plan_ir::ViewAttr whole);

  mutable func::FuncOp function;
  const BufferAssignment &assignment;
  PlanBuffers &buffers;
  OpBuilder &builder;
  bool isInit = false;
  std::string phase;
  std::vector<Port> ports;
  spmd::UnitBlocks units;
  bool hasRoot;
  llvm::DenseSet<Value> copiedIn;
  llvm::DenseMap<Value, int64_t> tokens;
};

void EntryLowering::addPorts() {
  int64_t repeat = 1;
  for (auto section : function.getOps<spmd::SectionOp>()) {
    repeat = section.getRepeat();
    break;
  }
  const auto add = [&](Port port, RankedTensorType type, StringRef name, StringRef direction) {
    SmallVector<int64_t> shape(type.getShape());
    if (port.perRepetition)
      shape.insert(shape.begin(), repeat);
    port.host = buffers.add(RankedTensorType::get(shape, type.getElementType()), function.getLoc(),
                            function.getName().str(), "input");
    buffers[port.host].space = "host";
    buffers[port.host].hint = (direction + "." + name + ".host").str();
    ports.push_back(port);
  };
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), spmd::inputName))
      add({argument.getArgNumber(), true, -1,
           bool(function.getArgAttr(argument.getArgNumber(), spmd::perRepetitionName))},
          typeOf(argument), name.getValue(), "input");
  for (unsigned index : llvm::seq(0u, function.getNumResults()))
    if (auto name = function.getResultAttrOfType<StringAttr>(index, spmd::outputName))
      add({index, false}, cast<RankedTensorType>(function.getResultTypes()[index]), name.getValue(), "output");
}

plan_ir::ViewAttr EntryLowering::view(const Place &place, RankedTensorType type, int64_t step) const {
  const StridedLayout &layout = place.layout;
  ArrayRef<int64_t> strides = layout.strides;
  if (layout.strides == denseLayout(layout.shape).strides)
    strides = {};
  return plan_ir::ViewAttr::get(builder.getContext(), symbol(place.buffer), type.getElementType(), layout.shape,
                                layout.offset * plan_ir::ViewAttr::elementBytes(type.getElementType()), strides, step,
                                validFor(place, type));
}

plan_ir::ValidAttr EntryLowering::validFor(const Place &place, RankedTensorType type) const {
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

plan_ir::ViewAttr EntryLowering::hostView(const Port &port, RankedTensorType type) const {
  const int64_t bytes = type.getNumElements() * plan_ir::ViewAttr::elementBytes(type.getElementType());
  return view({port.host, denseLayout(type.getShape())}, RankedTensorType::get(type.getShape(), type.getElementType()),
              port.perRepetition ? bytes : 0);
}

template <typename Op> Op EntryLowering::finish(Op instruction, Operation *from) {
  if (from) {
    if (auto attribute = from->getAttrOfType<StringAttr>(spmd::phaseName); attribute && !isInit)
      phase = attribute.str();
    if (auto when = from->getAttrOfType<StringAttr>(spmd::whenName))
      instruction.setWhenAttr(when);
    if (auto pass = from->getAttrOfType<IntegerAttr>(spmd::passName))
      instruction.setPass(pass.getInt());
    if (from->hasAttr(spmd::recomputeName))
      instruction.setRecompute(true);
    StringRef unit = spmd::unitOf(from);
    // A collective is a unit's where it says so.
    if (unit.empty() && from->hasAttr(spmd::blockName) && !std::is_same_v<Op, plan_ir::CollectiveOp>)
      if (StringRef block = units.innermost(spmd::blockOf(from)); block != spmd::rootUnit || hasRoot)
        unit = block;
    if (!unit.empty())
      instruction.setUnit(unit);
  }
  instruction.setPhase(phase);
  return instruction;
}

void EntryLowering::emit() {
  auto entry = plan_ir::EntryOp::create(builder, function.getLoc(), function.getName());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&entry.getBody());
  for (const Port &port : ports)
    emitPort(port);
  auto sections = llvm::to_vector(function.getOps<spmd::SectionOp>());
  for (spmd::SectionOp section : sections)
    emitSection(section, section == sections.back());
}

void EntryLowering::emitPort(const Port &port) {
  if (port.isInput) {
    BlockArgument argument = function.getArgument(port.index);
    auto limit = function.getArgAttrOfType<IntegerAttr>(port.index, "model.limit");
    auto op = plan_ir::PortOp::create(builder, argument.getLoc(), "input",
                                      function.getArgAttrOfType<StringAttr>(port.index, spmd::inputName).getValue(),
                                      hostView(port, typeOf(argument)));
    op.setPerRepetition(port.perRepetition);
    if (limit)
      op.setLimit(limit.getInt());
    return;
  }
  auto type = cast<RankedTensorType>(function.getResultTypes()[port.index]);
  plan_ir::PortOp::create(builder, function.getLoc(), "output",
                          function.getResultAttrOfType<StringAttr>(port.index, spmd::outputName).getValue(),
                          hostView(port, type));
}

void EntryLowering::emitSection(spmd::SectionOp section, bool isLast) {
  auto op = plan_ir::SectionOp::create(builder, section.getLoc(), section.getName(), section.getRepeat());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  emitInputs(section, isLast);
  for (Operation &inner : section.getBody().front().without_terminator())
    emitOp(inner);
  if (isLast)
    emitResults();
}

void EntryLowering::emitInputs(spmd::SectionOp section, bool isLast) {
  Operation *first = &section.getBody().front().front();
  for (const Port &port : ports) {
    if (!port.isInput)
      continue;
    BlockArgument argument = function.getArgument(port.index);
    const bool isRead = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return section->isProperAncestor(user) || (isLast && isa<func::ReturnOp>(user));
    });
    if (!isRead || !copiedIn.insert(argument).second)
      continue;
    auto copy = makeCopy(argument.getLoc(), hostView(port, typeOf(argument)), view(argument));
    finish(copy, nullptr);
    if (auto attribute = first->getAttrOfType<StringAttr>(spmd::phaseName); attribute && !isInit)
      copy.setPhase(attribute.getValue());
  }
}

void EntryLowering::emitResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (const Port &port : ports)
    if (!port.isInput) {
      Value value = terminator->getOperand(port.index);
      finish(makeCopy(terminator->getLoc(), view(value), hostView(port, typeOf(value))), nullptr);
    }
  for (OpOperand &operand : terminator->getOpOperands()) {
    const int target = assignment.donated(operand.getOperandNumber());
    const Place &place = assignment.placeOf(operand.get());
    if (target < 0 || place.buffer == target)
      continue;
    const RankedTensorType type = typeOf(operand.get());
    finish(makeCopy(terminator->getLoc(), view(place, type),
                                   view({target, denseLayout(type.getShape())}, type)),
           nullptr);
  }
}

void EntryLowering::emitOp(Operation &op) {
  if (auto accumulate = dyn_cast<spmd::AccumulateOp>(op))
    return emitAccumulate(accumulate);
  if (isa<spmd::AllGatherStartOp, spmd::ReduceScatterStartOp, spmd::AllReduceStartOp>(op))
    return emitStart(op);
  if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
    auto await = make<plan_ir::AwaitOp>(op.getLoc(), {{"token", builder.getI64IntegerAttr(tokens.lookup(wait.getToken()))}});
    await.setChained(wait.getChained());
    finish(await, &op);
    if (StringRef unit = spmd::unitOf(wait.getToken().getDefiningOp()); !unit.empty())
      await.setUnit(unit);
    // What has arrived in chunks is put together.
    for (auto [operand, value] : llvm::zip(wait.getToken().getDefiningOp()->getOperands(), wait.getValues()))
      if (const Place *chunks = assignment.chunksOf(value))
        emitChunkCopies(assignment.placeOf(value), *chunks, typeOf(operand), idOf(value), &op, /*gathers=*/true);
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
    emitCopyLaunch(copy, &op);
  if (!assignment.isView(&op) && !isa<DestinationOpInterface>(op))
    emitKernel(cast<KernelOpInterface>(op));
}

void EntryLowering::emitCopyLaunch(const OperandCopy &copy, Operation *op) {
  const RankedTensorType type = typeOf(copy.operand->get());
  const int64_t id = idOf(copy.operand->get());
  auto launch = makeLaunch(op->getLoc(), "copy", {view(copy.from, type)}, {view(copy.to, type)},
                           builder.getDictionaryAttr({}));
  launch.setInputValues({id});
  launch.setOutputValues({id});
  launch.setTraffic(2 * type.getNumElements() * plan_ir::ViewAttr::elementBytes(type.getElementType()));
  finish(launch, op);
}

void EntryLowering::emitKernel(KernelOpInterface op) {
  const KernelCall call = op.getKernelCall();
  SmallVector<Attribute> inputs, outputs;
  SmallVector<int64_t> inputIds, outputIds, mayAlias;
  for (Value value : call.inputs) {
    // An operand that was copied is read from the copy.
    const Place *place = &assignment.placeOf(value);
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value)
        place = &assignment.placeOf(operand);
    inputs.push_back(view(*place, typeOf(value)));
    inputIds.push_back(idOf(value));
  }
  for (Value result : op->getResults()) {
    // A piece's rows are told by the rank's coordinate, padded or not.
    outputs.push_back(isa<spmd::PieceOp>(op) ? withValid(view(result), planValid(typeOf(result))) : view(result));
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

void EntryLowering::emitAccumulate(spmd::AccumulateOp op) {
  const int64_t bytes = typeOf(op.getSum()).getNumElements() *
                        plan_ir::ViewAttr::elementBytes(typeOf(op.getSum()).getElementType());
  const int64_t repeat = op->getParentOfType<spmd::SectionOp>().getRepeat();
  auto issued = op->getAttrOfType<StringAttr>(spmd::whenName);
  auto starts = op.getStarts();
  const auto [begins, adds] = accumulateCourse(issued ? issued.getValue() : "", starts ? *starts : "", repeat);
  for (bool first : {true, false}) {
    if ((first ? begins : adds).empty())
      continue;
    auto launch = makeLaunch(
        op.getLoc(), "accumulate", {view(op.getOperand())}, {view(op.getSum())},
        builder.getDictionaryAttr(builder.getNamedAttr("first", builder.getI64IntegerAttr(first))));
    launch.setInputValues({idOf(op.getOperand())});
    launch.setOutputValues({idOf(op.getSum())});
    launch.setFlops(first ? 0 : typeOf(op.getSum()).getNumElements());
    launch.setTraffic((first ? 2 : 3) * bytes);
    finish(launch, op);
    launch.setWhen(StringRef(first ? begins : adds));
  }
}

void EntryLowering::emitPadding(Operation &op, Value value, plan_ir::ViewAttr whole) {
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

void EntryLowering::emitChunkCopies(const Place &whole, const Place &chunks, RankedTensorType shard, int64_t id,
                                    Operation *op, bool gathers) {
  const int64_t dim = spmd::validOf(shard).getDim(), chunk = shard.getDimSize(dim);
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

void EntryLowering::emitStart(Operation &op) {
  const auto chunkedShard = [&](const OperandCopy &copy) {
    auto scatter = dyn_cast<spmd::ReduceScatterStartOp>(op);
    auto shard = scatter ? cast<RankedTensorType>(
                               cast<TypeAttr>(scatter.getShards()[copy.operand->getOperandNumber()]).getValue())
                         : RankedTensorType();
    return shard && spmd::validOf(shard) && spmd::validOf(shard).getDim() != 0 ? shard : RankedTensorType();
  };
  for (const OperandCopy &copy : assignment.copiesBefore(&op))
    if (RankedTensorType shard = chunkedShard(copy))
      emitChunkCopies(copy.from, copy.to, shard, idOf(copy.operand->get()), &op, /*gathers=*/false);
    else
      emitCopyLaunch(copy, &op);
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
  StringRef kind = "all_reduce", reduction = "none";
  ArrayAttr axes;
  double scale = 1.0;
  SmallVector<Attribute> sources, destinations;
  for (auto [operand, value] : llvm::zip(op.getOpOperands(), wait.getValues())) {
    const Type element = typeOf(operand.get()).getElementType();
    int64_t from = -1, to = -1;
    if (auto gather = dyn_cast<spmd::AllGatherStartOp>(op)) {
      kind = "all_gather";
      axes = gather.getAxes();
      if (!assignment.chunksOf(value))
        to = buffers[assignment.placeOf(value).buffer].type.getDimSize(0);
    } else if (auto scatter = dyn_cast<spmd::ReduceScatterStartOp>(op)) {
      kind = "reduce_scatter";
      axes = scatter.getAxes();
      reduction = scatter.getOp();
      scale = scatter.getScale().convertToDouble();
      if (spmd::ValidAttr valid = spmd::validOf(value.getType()); !valid || valid.getDim() == 0)
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
      emitPadding(op, operand.get(), cast<plan_ir::ViewAttr>(sources.back()));
  }
  auto collective = make<plan_ir::CollectiveOp>(op.getLoc(), {{"kind", builder.getStringAttr(kind)},
                                                              {"op", builder.getStringAttr(reduction)},
                                                              {"axes", axes},
                                                              {"sources", builder.getArrayAttr(sources)},
                                                              {"destinations", builder.getArrayAttr(destinations)},
                                                              {"token", builder.getI64IntegerAttr(token)}});
  if (scale != 1.0)
    collective.setScale(APFloat(scale));
  finish(collective, &op);
}

void emitBuffers(const PlanBuffers &buffers, OpBuilder &builder) {
  for (int id = 0; id < buffers.size(); ++id) {
    const PlanBuffer &buffer = buffers[id];
    const int64_t bytes =
        buffer.type.getNumElements() * plan_ir::ViewAttr::elementBytes(buffer.type.getElementType());
    OperationState state(buffer.location, plan_ir::BufferOp::getOperationName());
    state.addAttribute("sym_name", builder.getStringAttr(buffer.name));
    state.addAttribute("type", TypeAttr::get(buffer.type));
    state.addAttribute("space", builder.getStringAttr(buffer.space));
    state.addAttribute("buffer_class", builder.getStringAttr(buffer.bufferClass));
    state.addAttribute("bytes", builder.getI64IntegerAttr(bytes));
    auto op = cast<plan_ir::BufferOp>(builder.create(state));
    const auto set = [&](StringRef name, const std::string &text) {
      if (!text.empty())
        op->setAttr(name, builder.getStringAttr(text));
    };
    set("entry", buffer.entry);
    set("parameter", buffer.parameter);
    set("state", buffer.state);
    set("unit", buffer.unit);
    if (buffer.valid)
      op.setValidAttr(buffer.valid);
    op.setCarried(buffer.carried);
  }
}

struct LowerToPlan : sluice::impl::LowerToPlanBase<LowerToPlan> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    PlanBuffers buffers;
    auto functions = llvm::to_vector(llvm::make_filter_range(
        module.getOps<func::FuncOp>(), [](func::FuncOp f) { return f->hasAttr(spmd::entryName); }));
    OpBuilder builder(module.getContext());
    std::vector<std::unique_ptr<BufferAssignment>> assignments;
    std::vector<EntryLowering> lowerings;
    for (func::FuncOp function : functions) {
      assignments.push_back(std::make_unique<BufferAssignment>(function, buffers));
      if (failed(assignments.back()->run()))
        return signalPassFailure();
      lowerings.emplace_back(function, *assignments.back(), buffers, builder);
      lowerings.back().addPorts();
    }
    buffers.finish(module);
    builder.setInsertionPointToEnd(module.getBody());
    if (!functions.empty())
      builder.setInsertionPoint(functions.front());
    emitBuffers(buffers, builder);
    for (EntryLowering &lowering : lowerings)
      lowering.emit();
    for (func::FuncOp function : functions)
      function.erase();
  }
};

} // namespace
