//===- Printer.cpp - a plan as text -------------------------------------------------===//
//
// See Printer.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/Printer.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Roles.h"

namespace sluice {
namespace {

std::string listText(const std::vector<std::int64_t> &list) { return "[" + join(list, ", ") + "]"; }

std::string attributeText(const plan::AttributeT &attribute) {
  return attribute.name + " = " +
         (attribute.kind == 0   ? std::to_string(attribute.integer)
          : attribute.kind == 1 ? formatNumber(attribute.number)
                                : listText(attribute.list));
}

std::string viewsText(const plan::PlanT &plan, const std::vector<std::unique_ptr<plan::ViewT>> &views) {
  return join(views, ", ", [&](const auto &view) { return printView(plan, *view); });
}

std::string collectiveText(const plan::PlanT &plan, const plan::CollectiveT &collective) {
  std::string text = std::string(plan::EnumNameCollectiveKind(collective.kind)) + " over " +
                     axesName(plan, collective.axes) + " " + plan::EnumNameDType(collective.dtype);
  if (collective.op != plan::ReduceOp::none)
    text += std::string(" ") + plan::EnumNameReduceOp(collective.op);
  if (collective.op == plan::ReduceOp::premul_sum)
    text += " scale " + formatNumber(collective.scale);
  return text + " " + join(collective.segments, ", ", [&](const auto &segment) {
           return printView(plan, *segment->source) + " -> " + printView(plan, *segment->destination);
         });
}

std::string whenText(const plan::InstructionT &instruction) {
  return instruction.when == plan::When::listed ? "in:" + join(instruction.repetitions, ",")
                                                : plan::EnumNameWhen(instruction.when);
}

/// "(role)" where the name implies no role or another one.
template <typename Role>
std::string otherRole(Role role, std::optional<Role> implied, const char *(*nameOfRole)(Role)) {
  return implied == role ? std::string() : concat("(", nameOfRole(role), ")");
}

void printHead(const plan::PlanT &plan, std::string &out) {
  out += concat("plan '", plan.name, "' version ", plan.major, ".", plan.minor, " catalogue ", plan.catalogue, "\n");
  out += "digest " + digestText(plan) + "\n";
  out += concat("target ", plan.target->device, " threads ", plan.target->threads);
  if (!plan.target->isa.empty())
    out += " isa " + plan.target->isa;
  if (!plan.target->arch.empty())
    out += " arch " + plan.target->arch;
  out += "\nmesh";
  for (const auto &axis : plan.mesh)
    out += concat(" ", axis->name, otherRole(axis->role, impliedAxisRole(axis->name), plan::EnumNameAxisRole), "=",
                  axis->size);
  out += concat("\nmicrobatches ", plan.microbatches, " batch ", plan.batch, " sequence ", plan.sequence, "\n");
  for (const auto &arena : plan.arenas)
    out += concat("arena ", plan::EnumNameSpace(arena->space), " bytes ", arena->bytes, " persistent ",
                  arena->persistent, " peak_live ", arena->peak_live, " workspace ", arena->workspace, " align ",
                  arena->alignment, (arena->pinned ? " pinned" : ""), "\n");
  for (const auto &stream : plan.streams)
    out += concat("stream ", stream->name,
                  otherRole(stream->kind, impliedStreamKind(stream->name), plan::EnumNameStreamKind), " on ",
                  plan::EnumNameProcessor(stream->processor), " workspace ", stream->workspace, " priority ",
                  stream->priority, "\n");
}

void printBuffers(const plan::PlanT &plan, std::string &out) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    out += concat("buffer ", b, " %", buffer.name, ":", typeText(buffer.dtype, buffer.shape), " ",
                  plan::EnumNameSpace(buffer.space), " ", plan::EnumNameBufferClass(buffer.class_), " at ",
                  buffer.offset, " bytes ", buffer.bytes);
    if (buffer.entry < 0)
      out += " persistent";
    else
      out += concat(" ", plan.entries[buffer.entry]->name, " [", buffer.begin, ", ", buffer.end, ")",
                    (buffer.reserved_from == 0 ? std::string() : concat(" reserved_from ", buffer.reserved_from)));
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
        out += concat((isFlat(parameter) ? " flat" : concat(" dim ", parameter.dim)), " over ",
                      axesName(plan, parameter.axes), " chunk ", parameter.chunk);
      if (const plan::TensorSplitT *split = parameter.split.get()) {
        out += concat(" part dim ", split->dim, " over ", axesName(plan, split->axes), " extent ", split->extent);
        if (split->segments != 1)
          out += concat(" segments ", split->segments);
      }
      out += " in %" + plan.buffers[parameter.buffer]->name;
      for (const auto &state : parameter.states)
        out += " " + state->name + " %" + plan.buffers[state->buffer]->name;
      if (parameter.initializer)
        out += concat(" init ", plan::EnumNameInitializerKind(parameter.initializer->kind), "(",
                      formatNumber(parameter.initializer->a), ", ", formatNumber(parameter.initializer->b), ") key ",
                      parameter.key);
      if (parameter.initializer && parameter.initializer->zero_row >= 0)
        out += concat(" zero row ", parameter.initializer->zero_row);
      out += std::string(parameter.frozen ? " frozen" : "") + "\n";
    }
  }
  for (const auto &variable : plan.variables)
    out += "variable " + variable->name + " in %" + plan.buffers[variable->buffer]->name +
           (variable->averaged ? " averaged" : "") + "\n";
}

void printPorts(const plan::PlanT &plan, const char *kind, const std::vector<std::unique_ptr<plan::PortT>> &ports,
                std::string &out) {
  for (const auto &port : ports)
    out += concat("  ", kind, " ", port->name, printPort(plan, *port), "\n");
}

void printEntry(const plan::PlanT &plan, const plan::EntryT &entry, std::string &out) {
  out += concat("entry ", entry.name, " events ", entry.events, "\n");
  printPorts(plan, "input", entry.inputs, out);
  printPorts(plan, "output", entry.outputs, out);
  std::uint32_t i = 0;
  for (const auto &section : entry.sections) {
    out += concat("  section ", section->name,
                  otherRole(section->kind, impliedSectionKind(section->name), plan::EnumNameSectionKind), " repeat ",
                  section->repeat, "\n");
    for (const auto &instruction : section->instructions) {
      out += concat("    ", i++, " ", plan.streams[instruction->stream]->name, " ", whenText(*instruction), " ",
                    plan::EnumNamePhase(instruction->phase));
      if (instruction->invocation != 0)
        out += concat(" invocation ", instruction->invocation);
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

std::string printPort(const plan::PlanT &plan, const plan::PortT &port) {
  return concat(otherRole(port.role, std::optional(impliedPortRole(port.name)), plan::EnumNamePortRole), " ",
                printView(plan, *port.view), port.per_repetition ? " per repetition" : "",
                port.limit == 0 ? std::string() : concat(" below ", port.limit),
                port.values.empty() ? std::string() : concat(" sha256 ", toHex(sha256(port.values))));
}

std::string printView(const plan::PlanT &plan, const plan::ViewT &view) {
  std::string text = "%" + plan.buffers[view.buffer]->name;
  if (view.offset != 0 || view.repetition_stride != 0) {
    text += concat("[", view.offset);
    if (view.repetition_stride != 0)
      text += concat(" + r*", view.repetition_stride);
    text += "]";
  }
  text += ":" + typeText(view.dtype, view.shape);
  if (!isDense(view))
    text += " strides" + listText(view.strides);
  for (const auto &valid : view.valid)
    text += concat(" valid(dim ", valid->dim, ": ", valid->chunk, " of ", valid->total,
                   (valid->axes.empty() ? "" : " over " + axesName(plan, valid->axes)), ")");
  return text;
}

std::string printOperation(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  const plan::OperationUnion &operation = instruction.operation;
  switch (operation.type) {
  case plan::Operation::Launch: {
    const plan::LaunchT &launch = *operation.AsLaunch();
    std::string text =
        plan.kernels[launch.kernel] + "(" + viewsText(plan, launch.inputs) + ") -> " + viewsText(plan, launch.outputs);
    if (!launch.attributes.empty())
      text += concat(" {", join(launch.attributes, ", ", [](const auto &each) { return attributeText(*each); }), "}");
    if (launch.workspace != 0)
      text += concat(" workspace ", launch.workspace);
    if (launch.sm_margin != 0)
      text += concat(" sm_margin ", launch.sm_margin);
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
    return concat("record ", operation.AsRecord()->event);
  case plan::Operation::Wait:
    return concat("wait ", operation.AsWait()->event, (operation.AsWait()->carried ? " carried" : ""));
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
