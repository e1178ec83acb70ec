//===- LowerToPlan.cpp - plan-lower -------------------------------------------------===//
//
// BufferAssignment assigns memory to each value and InstructionWriter creates the instructions of an op. This file
// creates the entry points: their ports, sections, the copies of inputs and outputs, and the module's buffers.
//
//===----------------------------------------------------------------------===//
#include "dialect/plan/Accesses.h"
#include "dialect/rules/Roles.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/InstructionWriter.h"
#include "passes/schedule/Passes.h"

#include <set>

namespace sluice {
#define GEN_PASS_DEF_LOWERTOPLAN
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

class EntryLowering {
public:
  EntryLowering(func::FuncOp function, const BufferAssignment &assignment, PlanBuffers &buffers, OpBuilder &builder)
      : function(function), assignment(assignment), buffers(buffers), builder(builder),
        writer(function, assignment, buffers, builder) {}

  /// Host buffers of inputs and outputs, before buffers have names.
  void addPorts();
  void emit();

private:
  struct Port {
    unsigned index = 0;
    bool isInput = false;
    int host = -1;
    bool perRepetition = false;
  };

  plan_ir::ViewAttr hostView(const Port &port, RankedTensorType type) const;
  static RankedTensorType typeOf(Value value) { return InstructionWriter::typeOf(value); }
  void emitPort(const Port &port);
  void emitSection(spmd::SectionOp section, bool isLast);
  void emitInputs(spmd::SectionOp section, bool isLast);
  void emitOutputs(llvm::function_ref<bool(Operation *)> isDue);
  void emitDonations(spmd::SectionOp section);

  func::FuncOp function;
  const BufferAssignment &assignment;
  PlanBuffers &buffers;
  OpBuilder &builder;
  InstructionWriter writer;
  std::vector<Port> ports;
  llvm::DenseSet<Value> copiedIn;
  llvm::DenseSet<unsigned> copiedOut;
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
                            function.getName().str(), BufferClass::input);
    buffers[port.host].space = MemorySpace::host;
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

plan_ir::ViewAttr EntryLowering::hostView(const Port &port, RankedTensorType type) const {
  const int64_t bytes = type.getNumElements() * plan_ir::ViewAttr::elementBytes(type.getElementType());
  return writer.view({port.host, denseLayout(type.getShape())},
                     RankedTensorType::get(type.getShape(), type.getElementType()), port.perRepetition ? bytes : 0);
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
    auto limit = function.getArgAttrOfType<IntegerAttr>(port.index, model::limitName);
    const StringRef name = function.getArgAttrOfType<StringAttr>(port.index, spmd::inputName);
    auto values = function.getArgAttrOfType<DenseElementsAttr>(port.index, model::valuesName);
    const PortRole role = values ? PortRole::constant : impliedPortRole(PortDirection::input, name);
    plan_ir::PortOp::create(builder, argument.getLoc(), PortDirection::input, name, role,
                            hostView(port, typeOf(argument)), port.perRepetition, limit ? limit.getInt() : 0, values);
    return;
  }
  auto type = cast<RankedTensorType>(function.getResultTypes()[port.index]);
  const StringRef name = function.getResultAttrOfType<StringAttr>(port.index, spmd::outputName);
  plan_ir::PortOp::create(builder, function.getLoc(), PortDirection::output, name,
                          impliedPortRole(PortDirection::output, name), hostView(port, type), false, 0, {});
}

void EntryLowering::emitSection(spmd::SectionOp section, bool isLast) {
  auto op =
      plan_ir::SectionOp::create(builder, section.getLoc(), section.getName(), section.getKind(), section.getRepeat());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  Block &body = section.getBody().front();
  writer.setPhaseOf(body.front());
  emitInputs(section, isLast);
  if (isLast)
    emitOutputs([&](Operation *producer) { return producer && producer->getParentOp() != section; });
  for (Operation &inner : body.without_terminator()) {
    writer.write(inner);
    if (isLast && section.getRepeat() == 1)
      emitOutputs([&](Operation *producer) { return producer == &inner; });
  }
  if (isLast)
    emitOutputs([](Operation *) { return true; });
  emitDonations(section);
}

/// Copies to the host the outputs with a producer that `isDue` selects. The last section copies an output as soon as it
/// is computed: the host need not wait for the updates.
void EntryLowering::emitOutputs(llvm::function_ref<bool(Operation *)> isDue) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (const Port &port : ports) {
    if (port.isInput)
      continue;
    Value value = terminator->getOperand(port.index);
    if (isDue(spmd::yieldedValue(value).getDefiningOp()) && copiedOut.insert(port.index).second)
      writer.writeCopy(terminator->getLoc(), writer.view(value), hostView(port, typeOf(value)));
  }
}

void EntryLowering::emitInputs(spmd::SectionOp section, bool isLast) {
  for (const Port &port : ports) {
    if (!port.isInput)
      continue;
    BlockArgument argument = function.getArgument(port.index);
    const bool isRead = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return section->isProperAncestor(user) || (isLast && isa<func::ReturnOp>(user));
    });
    if (isRead && copiedIn.insert(argument).second)
      writer.writeCopy(argument.getLoc(), hostView(port, typeOf(argument)), writer.view(argument));
  }
}

/// Copies new weights and states of a section that are not in the buffers of the old ones, in each repetition: the next
/// one reads them. A value that no section computes is an old one, which the first section copies before anything
/// changes it.
void EntryLowering::emitDonations(spmd::SectionOp section) {
  Operation *terminator = function.getBody().front().getTerminator();
  const bool isFirst = section == *function.getOps<spmd::SectionOp>().begin();
  SmallVector<std::pair<OpOperand *, int>> copies;
  for (OpOperand &operand : terminator->getOpOperands()) {
    const int target = assignment.donated(operand.getOperandNumber());
    Operation *producer = operand.get().getDefiningOp();
    if (target >= 0 && assignment.placeOf(operand.get()).buffer != target && (producer ? producer == section : isFirst))
      copies.emplace_back(&operand, target);
  }
  // A buffer is read before it is written. VerifyInput refuses states that exchange their values.
  while (!copies.empty()) {
    auto *next = llvm::find_if(copies, [&](const auto &copy) {
      return llvm::none_of(copies, [&](const auto &other) {
        return &other != &copy && assignment.placeOf(other.first->get()).buffer == copy.second;
      });
    });
    if (next == copies.end())
      llvm::report_fatal_error("states that exchange their values");
    const Value value = next->first->get();
    const RankedTensorType type = typeOf(value);
    writer.writeCopy(terminator->getLoc(), writer.view(assignment.placeOf(value), type),
                     writer.view({next->second, denseLayout(type.getShape())}, type));
    copies.erase(next);
  }
}

void emitBuffers(const PlanBuffers &buffers, OpBuilder &builder) {
  for (int id = 0; id < buffers.size(); ++id) {
    const PlanBuffer &buffer = buffers[id];
    const int64_t bytes = buffer.type.getNumElements() * plan_ir::ViewAttr::elementBytes(buffer.type.getElementType());
    const auto text = [&](const std::string &name) {
      return name.empty() ? StringAttr() : builder.getStringAttr(name);
    };
    plan_ir::BufferOp::create(builder, buffer.location, buffer.symbol.getValue(), buffer.type, buffer.space,
                              *buffer.bufferClass, bytes, text(buffer.entry), text(buffer.parameter),
                              text(buffer.state), buffer.valid, text(buffer.unit), /*begin=*/nullptr, /*end=*/nullptr,
                              /*offset=*/nullptr, /*reserved_from=*/nullptr, buffer.carried);
  }
}

/// The streams that instructions name already; plan-assign-streams creates the others.
void emitStreams(ModuleOp module, OpBuilder &builder) {
  std::set<std::string> named;
  for (auto entry : module.getOps<plan_ir::EntryOp>())
    entry.walk([&](Operation *op) {
      if (const StringRef stream = plan_ir::streamOf(op); !stream.empty())
        named.insert(stream.str());
    });
  for (plan_ir::StreamOp stream : module.getOps<plan_ir::StreamOp>())
    named.erase(stream.getName().str());
  // The writer names a stream by its kind.
  for (const std::string &name : named) {
    const StreamKind kind = symbolizeStreamKind(name).value_or(StreamKind::compute);
    plan_ir::StreamOp::create(builder, module.getLoc(), name, kind,
                              kind == StreamKind::host ? Processor::host : Processor::device);
  }
}

struct LowerToPlan : sluice::impl::LowerToPlanBase<LowerToPlan> {
  using LowerToPlanBase::LowerToPlanBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Recipe> recipe = recipeFor(module, deviceKind);
    if (failed(recipe))
      return signalPassFailure();
    const bool alignsRows = recipe->target.device == TargetDevice::cuda;
    PlanBuffers buffers;
    auto functions = llvm::to_vector(llvm::make_filter_range(
        module.getOps<func::FuncOp>(), [](func::FuncOp f) { return f->hasAttr(model::entryName); }));
    OpBuilder builder(module.getContext());
    std::vector<std::unique_ptr<BufferAssignment>> assignments;
    std::vector<EntryLowering> lowerings;
    for (func::FuncOp function : functions) {
      assignments.push_back(std::make_unique<BufferAssignment>(function, buffers, alignsRows));
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
    emitStreams(module, builder);
    for (func::FuncOp function : functions)
      function.erase();
  }
};

} // namespace
