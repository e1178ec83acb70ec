//===- EmitEntries.cpp - entry points and their instructions ------------------------===//
#include "passes/emit/EmitContext.h"

#include "dialect/plan/Accesses.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sluice {
namespace {

class EntryWriter {
public:
  EntryWriter(EmitContext &context) : context(context) {}

  plan::InstructionT instruction(Operation *op) {
    plan::InstructionT result;
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](plan_ir::LaunchOp launch) { result.operation.Set(write(launch)); })
        .Case([&](plan_ir::CollectiveOp collective) { result.operation.Set(write(collective)); })
        .Case([&](plan_ir::CopyOp copy) {
          plan::CopyT written;
          written.source = viewOf(context, copy.getSource());
          written.destination = viewOf(context, copy.getDestination());
          result.operation.Set(std::move(written));
        })
        .Case([&](plan_ir::FillOp fill) {
          plan::FillT written;
          written.destination = viewOf(context, fill.getDestination());
          written.value = fill.getValue().convertToDouble();
          result.operation.Set(std::move(written));
        })
        .Case([&](plan_ir::RecordOp record) {
          plan::RecordT written;
          written.event = record.getEvent();
          result.operation.Set(std::move(written));
        })
        .Case([&](plan_ir::WaitOp wait) {
          plan::WaitT written;
          written.event = wait.getEvent();
          written.carried = wait.getCarried();
          result.operation.Set(std::move(written));
        })
        .Case([&](plan_ir::ReleaseOp release) {
          plan::ReleaseT written;
          for (auto buffer : release.getBuffers().getAsRange<FlatSymbolRefAttr>())
            written.buffers.push_back(context.buffers.lookup(buffer.getAttr()));
          result.operation.Set(std::move(written));
        })
        .Default([&](Operation *other) { context.error(other) << "cannot be emitted, expected an instruction"; });
    if (result.operation.type != plan::Operation::NONE)
      writeCommon(result, op);
    return result;
  }

private:
  std::vector<std::unique_ptr<plan::ViewT>> views(ArrayAttr attributes) {
    std::vector<std::unique_ptr<plan::ViewT>> results;
    for (auto view : attributes.getAsRange<plan_ir::ViewAttr>())
      results.push_back(viewOf(context, view));
    return results;
  }

  plan::LaunchT write(plan_ir::LaunchOp op) {
    plan::LaunchT launch;
    launch.kernel = indexOf(context.kernels, context.plan.kernels, op.getKernel());
    launch.attributes = attributesOf(op.getSettings().getValue());
    launch.inputs = views(op.getInputs());
    launch.outputs = views(op.getOutputs());
    // Value ids refer to the unsharded program, so a plan without it has none.
    if (context.plan.program && !context.plan.program->values.empty()) {
      for (std::int64_t id : op.getInputValues())
        launch.input_values.push_back(id);
      for (std::int64_t id : op.getOutputValues())
        launch.output_values.push_back(id);
    }
    launch.reduction = planEnum<plan::ReductionClass>(findKernelRecord(op.getKernel())->reduction);
    launch.workspace = op.getWorkspace();
    launch.flops = op.getFlops();
    launch.bytes = op.getTraffic();
    launch.sm_margin = op.getSmMargin();
    return launch;
  }

  plan::CollectiveT write(plan_ir::CollectiveOp op) {
    plan::CollectiveT collective;
    collective.kind = planEnum<plan::CollectiveKind>(op.getKind());
    collective.op = planEnum<plan::ReduceOp>(op.getOp());
    collective.scale = op.getScale().convertToDouble();
    for (auto axis : op.getAxes().getAsRange<StringAttr>())
      collective.axes.push_back(context.axes.lookup(axis.getValue()));
    // The communicators of the CPU add in a stated order; a library's order is fixed by its version.
    if (collective.op != plan::ReduceOp::none)
      collective.reduction =
          context.plan.target->device == "cpu" ? plan::ReductionClass::ordered : plan::ReductionClass::fixed;
    for (auto [source, destination] : llvm::zip(op.getSources().getAsRange<plan_ir::ViewAttr>(),
                                                op.getDestinations().getAsRange<plan_ir::ViewAttr>())) {
      collective.dtype = dtypeOf(source.getElementType());
      auto segment = std::make_unique<plan::SegmentT>();
      segment->source = viewOf(context, source);
      segment->destination = viewOf(context, destination);
      collective.segments.push_back(std::move(segment));
    }
    return collective;
  }

  void writeCommon(plan::InstructionT &result, Operation *op) {
    if (auto stream = op->getAttrOfType<FlatSymbolRefAttr>("stream"))
      result.stream = context.streams.lookup(stream.getValue());
    else
      context.error(op) << "has no stream";
    const When when = plan_ir::whenOf(op);
    result.when = planEnum<plan::When>(when.getKind());
    result.repetitions.assign(when.getRepetitions().begin(), when.getRepetitions().end());
    result.phase = planEnum<plan::Phase>(plan_ir::phaseOf(op));
    if (auto invocation = op->getAttrOfType<IntegerAttr>("invocation"))
      result.invocation = invocation.getInt();
    if (auto unit = op->getAttrOfType<StringAttr>("unit"))
      if (auto it = context.units.find(unit.getValue()); it != context.units.end())
        result.unit = it->second;
    result.recompute = op->hasAttr("recompute");
    if (std::string text = locationText(op->getLoc()); !text.empty())
      result.location = indexOf(context.locations, context.plan.locations, text);
  }

  EmitContext &context;
};

/// The elements of a constant in row-major order, as little-endian bytes.
static std::vector<std::uint8_t> bytesOf(DenseElementsAttr values) {
  const llvm::ArrayRef<char> raw = values.getRawData();
  std::vector<std::uint8_t> bytes(raw.begin(), raw.end());
  if (values.isSplat()) {
    bytes.clear();
    for (std::int64_t i = 0; i < values.getNumElements(); ++i)
      bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  return bytes;
}

std::unique_ptr<plan::PortT> portOf(EmitContext &context, plan_ir::PortOp op) {
  auto port = std::make_unique<plan::PortT>();
  port->name = op.getName().str();
  port->view = viewOf(context, op.getView());
  port->per_repetition = op.getPerRepetition();
  port->limit = op.getLimit();
  port->role = planEnum<plan::PortRole>(op.getRole());
  if (auto values = dyn_cast_if_present<DenseElementsAttr>(op.getValuesAttr()))
    port->values = bytesOf(values);
  return port;
}

} // namespace

void emitEntries(EmitContext &context) {
  EntryWriter writer(context);
  for (auto op : llvm::make_early_inc_range(context.module.getOps<plan_ir::EntryOp>())) {
    plan::EntryT entry;
    entry.name = op.getSymName().str();
    entry.events = op.getEvents();
    for (auto port : op.getBody().getOps<plan_ir::PortOp>())
      (port.getDirection() == PortDirection::input ? entry.inputs : entry.outputs).push_back(portOf(context, port));
    for (auto part : op.getBody().getOps<plan_ir::SectionOp>()) {
      plan::SectionT section;
      section.name = part.getName().str();
      section.repeat = part.getRepeat();
      section.kind = planEnum<plan::SectionKind>(part.getKind());
      for (Operation &inner : llvm::make_early_inc_range(part.getBody().front())) {
        context.writer.addInstruction(writer.instruction(&inner));
        inner.erase();
      }
      context.writer.endSection(section);
    }
    context.writer.endEntry(entry);
    op.erase();
  }
}

} // namespace sluice
