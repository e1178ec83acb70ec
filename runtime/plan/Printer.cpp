//===- Printer.cpp - a plan as text -------------------------------------------------===//
//
// See Printer.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Printer.h"

#include "runtime/base/Text.h"

namespace sluice {
namespace {

std::string listText(const std::vector<std::int64_t> &list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + std::to_string(list[i]);
  return text + "]";
}

std::string attributesText(const std::vector<std::unique_ptr<plan::AttributeT>> &attributes) {
  if (attributes.empty())
    return "";
  std::string text = " {";
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const plan::AttributeT &attribute = *attributes[i];
    text += (i ? ", " : "") + attribute.name + " = ";
    text += attribute.kind == 0   ? std::to_string(attribute.integer)
            : attribute.kind == 1 ? formatNumber(attribute.number)
                                  : listText(attribute.list);
  }
  return text + "}";
}

std::string viewsText(const plan::PlanT &plan, const std::vector<std::unique_ptr<plan::ViewT>> &views) {
  std::string text;
  for (std::size_t i = 0; i < views.size(); ++i)
    text += (i ? ", " : "") + printView(plan, *views[i]);
  return text;
}

std::string collectiveText(const plan::PlanT &plan, const plan::CollectiveT &collective) {
  std::string text = std::string(plan::EnumNameCollectiveKind(collective.kind)) + " over " +
                     axesName(plan, collective.axes) + " " + plan::EnumNameDType(collective.dtype);
  if (collective.op != plan::ReduceOp::none)
    text += std::string(" ") + plan::EnumNameReduceOp(collective.op);
  if (collective.op == plan::ReduceOp::premul_sum)
    text += " scale " + formatNumber(collective.scale);
  for (std::size_t i = 0; i < collective.segments.size(); ++i)
    text += (i ? ", " : " ") + printView(plan, *collective.segments[i]->source) + " -> " +
            printView(plan, *collective.segments[i]->destination);
  return text;
}

std::string whenText(const plan::InstructionT &instruction) {
  if (instruction.when != plan::When::list)
    return plan::EnumNameWhen(instruction.when);
  std::string text = "in";
  for (std::size_t i = 0; i < instruction.repetitions.size(); ++i)
    text += (i ? "," : ":") + std::to_string(instruction.repetitions[i]);
  return text;
}

void printHead(const plan::PlanT &plan, std::string &out) {
  out += "plan '" + plan.name + "' version " + std::to_string(plan.major) + "." + std::to_string(plan.minor) +
         " catalogue " + std::to_string(plan.catalogue) + "\n";
  out += "digest " + digestText(plan) + "\n";
  out += "target " + plan.target->device + " threads " + std::to_string(plan.target->threads);
  if (!plan.target->isa.empty())
    out += " isa " + plan.target->isa;
  if (!plan.target->arch.empty())
    out += " arch " + plan.target->arch;
  out += "\nmesh";
  for (const auto &axis : plan.mesh)
    out += " " + axis->name + "=" + std::to_string(axis->size);
  out += "\nmicrobatches " + std::to_string(plan.microbatches) + " batch " + std::to_string(plan.batch) + " sequence " +
         std::to_string(plan.sequence) + "\n";
  for (const auto &arena : plan.arenas)
    out += std::string("arena ") + plan::EnumNameSpace(arena->space) + " bytes " + std::to_string(arena->bytes) +
           " persistent " + std::to_string(arena->persistent) + " peak_live " + std::to_string(arena->peak_live) +
           " workspace " + std::to_string(arena->workspace) + " align " + std::to_string(arena->alignment) +
           (arena->pinned ? " pinned" : "") + "\n";
  for (const auto &stream : plan.streams)
    out += "stream " + stream->name + " on " + plan::EnumNameProcessor(stream->processor) + " workspace " +
           std::to_string(stream->workspace) + " priority " + std::to_string(stream->priority) + "\n";
}

void printBuffers(const plan::PlanT &plan, std::string &out) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    out += "buffer " + std::to_string(b) + " %" + buffer.name + ":" + typeText(buffer.dtype, buffer.shape) + " " +
           plan::EnumNameSpace(buffer.space) + " " + plan::EnumNameBufferClass(buffer.class_) + " at " +
           std::to_string(buffer.offset) + " bytes " + std::to_string(buffer.bytes);
    if (buffer.entry < 0)
      out += " persistent";
    else
      out += " " + plan.entries[buffer.entry]->name + " [" + std::to_string(buffer.begin) + ", " +
             std::to_string(buffer.end) + ")" +
             (buffer.reserved_from == 0 ? std::string() : " reserved_from " + std::to_string(buffer.reserved_from));
    if (buffer.unit >= 0)
      out += " unit " + plan.units[buffer.unit]->name;
    out += "\n";
  }
}

void printParameters(const plan::PlanT &plan, std::string &out) {
  for (const auto &unit : plan.units) {
    out += "unit " + unit->name + (unit->reshard_after_forward ? " reshard_after_forward" : "") + "\n";
    for (std::uint32_t p : unit->parameters) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      out += "  parameter " + parameter.name + ":" + typeText(parameter.dtype, parameter.shape);
      for (const std::string &alias : parameter.aliases)
        out += " also " + alias;
      if (parameter.dim >= 0)
        out += (isFlat(parameter) ? " flat" : " dim " + std::to_string(parameter.dim)) + " over " +
               axesName(plan, parameter.axes) + " chunk " + std::to_string(parameter.chunk);
      if (const plan::TensorSplitT *split = parameter.split.get()) {
        out += " part dim " + std::to_string(split->dim) + " over " + axesName(plan, split->axes) + " extent " +
               std::to_string(split->extent);
        if (split->segments != 1)
          out += " segments " + std::to_string(split->segments);
      }
      out += " in %" + plan.buffers[parameter.buffer]->name;
      for (const auto &state : parameter.states)
        out += " " + state->name + " %" + plan.buffers[state->buffer]->name;
      if (parameter.initializer)
        out += std::string(" init ") + plan::EnumNameInitializerKind(parameter.initializer->kind) + "(" +
               formatNumber(parameter.initializer->a) + ", " + formatNumber(parameter.initializer->b) + ") key " +
               std::to_string(parameter.key);
      out += std::string(parameter.frozen ? " frozen" : "") + "\n";
    }
  }
  for (const auto &variable : plan.variables)
    out += "variable " + variable->name + " in %" + plan.buffers[variable->buffer]->name + "\n";
}

void printPorts(const plan::PlanT &plan, const char *kind, const std::vector<std::unique_ptr<plan::PortT>> &ports,
                std::string &out) {
  for (const auto &port : ports) {
    out += std::string("  ") + kind + " " + port->name + " " + printView(plan, *port->view);
    if (port->per_repetition)
      out += " per repetition";
    if (port->limit != 0)
      out += " below " + std::to_string(port->limit);
    out += "\n";
  }
}

void printEntry(const plan::PlanT &plan, const plan::EntryT &entry, std::string &out) {
  out += "entry " + entry.name + " events " + std::to_string(entry.events) + "\n";
  printPorts(plan, "input", entry.inputs, out);
  printPorts(plan, "output", entry.outputs, out);
  std::uint32_t i = 0;
  for (const auto &section : entry.sections) {
    out += "  section " + section->name + " repeat " + std::to_string(section->repeat) + "\n";
    for (const auto &instruction : section->instructions) {
      out += "    " + std::to_string(i++) + " " + plan.streams[instruction->stream]->name + " " +
             whenText(*instruction) + " " + plan::EnumNamePhase(instruction->phase);
      if (instruction->pass != 0)
        out += " pass " + std::to_string(instruction->pass);
      out += instruction->unit >= 0 ? " " + plan.units[instruction->unit]->name : std::string(" -");
      if (instruction->recompute)
        out += " recompute";
      out += ": " + printOperation(plan, *instruction);
      if (instruction->location >= 0)
        out += " loc(" + plan.locations[instruction->location] + ")";
      out += "\n";
    }
  }
}

} // namespace

std::string printView(const plan::PlanT &plan, const plan::ViewT &view) {
  std::string text = "%" + plan.buffers[view.buffer]->name;
  if (view.offset != 0 || view.repetition_stride != 0) {
    text += "[" + std::to_string(view.offset);
    if (view.repetition_stride != 0)
      text += " + r*" + std::to_string(view.repetition_stride);
    text += "]";
  }
  text += ":" + typeText(view.dtype, view.shape);
  if (!isDense(view))
    text += " strides" + listText(view.strides);
  for (const auto &valid : view.valid)
    text += " valid(dim " + std::to_string(valid->dim) + ": " + std::to_string(valid->chunk) + " of " +
            std::to_string(valid->total) + (valid->axes.empty() ? "" : " over " + axesName(plan, valid->axes)) + ")";
  return text;
}

std::string printOperation(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  const plan::OperationUnion &operation = instruction.operation;
  switch (operation.type) {
  case plan::Operation::Launch: {
    const plan::LaunchT &launch = *operation.AsLaunch();
    std::string text = plan.kernels[launch.kernel] + "(" + viewsText(plan, launch.inputs) + ") -> " +
                       viewsText(plan, launch.outputs) + attributesText(launch.attributes);
    if (launch.workspace != 0)
      text += " workspace " + std::to_string(launch.workspace);
    return text;
  }
  case plan::Operation::Collective:
    return collectiveText(plan, *operation.AsCollective());
  case plan::Operation::Copy:
    return "copy " + printView(plan, *operation.AsCopy()->source) + " -> " +
           printView(plan, *operation.AsCopy()->destination);
  case plan::Operation::Fill:
    return "fill " + printView(plan, *operation.AsFill()->destination) + " with " +
           formatNumber(operation.AsFill()->value);
  case plan::Operation::Record:
    return "record " + std::to_string(operation.AsRecord()->event);
  case plan::Operation::Wait:
    return "wait " + std::to_string(operation.AsWait()->event) + (operation.AsWait()->carried ? " carried" : "");
  case plan::Operation::Release: {
    std::string text = "release";
    for (std::uint32_t buffer : operation.AsRelease()->buffers)
      text += " %" + plan.buffers[buffer]->name;
    return text;
  }
  default:
    return "nothing";
  }
}

std::string printPlan(const plan::PlanT &plan) {
  std::string out;
  printHead(plan, out);
  printParameters(plan, out);
  printBuffers(plan, out);
  for (const auto &entry : plan.entries)
    printEntry(plan, *entry, out);
  for (const std::string &line : plan.recipe)
    out += "recipe " + line + "\n";
  return out;
}

} // namespace sluice
