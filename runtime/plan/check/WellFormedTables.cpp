//===- WellFormedTables.cpp - P1 for everything but instructions -----------------------===//
//
// Ids in range, ranges inside their arena, alignment, sizes = shape x dtype without overflow, no unknown kind, resource
// caps. Every index is compared before it is used.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/Roles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

namespace sluice::check {
namespace {

// Limits of untrusted plans: far above the sizes of real plans, far below those that would exhaust a machine.
constexpr std::uint64_t maxWorld = 1 << 20;
constexpr std::size_t maxAxes = 8;
constexpr std::size_t maxStreams = 64;
constexpr std::uint64_t maxArenaBytes = std::uint64_t(1) << 48;
constexpr std::uint32_t maxAlignment = 1 << 20;
constexpr std::uint32_t maxRepeat = 1 << 20;
constexpr std::uint32_t maxThreads = 1 << 16;

template <typename... Parts> Verdict bad(const Parts &...parts) { return refuse(1, concat(parts...)); }

std::string inQuotes(const std::string &name) { return "'" + name + "'"; }

Verdict checkMesh(const plan::PlanT &plan) {
  if (plan.mesh.empty() || plan.mesh.size() > maxAxes)
    return bad("mesh, expected 1 to ", maxAxes, " axes but got ", plan.mesh.size());
  std::set<std::string> names;
  std::uint64_t world = 1;
  for (const auto &axis : plan.mesh) {
    if (axis->name.empty() || !names.insert(axis->name).second)
      return bad("mesh axis " + inQuotes(axis->name) + ", its name is empty or used twice");
    if (axis->size == 0)
      return bad("mesh axis " + inQuotes(axis->name) + ", expected a size of at least 1 but got 0");
    if (axis->role > plan::AxisRole::MAX)
      return bad("mesh axis ", inQuotes(axis->name), ", unknown role ", int(axis->role));
    world *= axis->size;
    if (world > maxWorld)
      return bad("mesh, expected at most ", maxWorld, " ranks");
  }
  return {};
}

Verdict checkArenas(const plan::PlanT &plan) {
  std::set<plan::Space> spaces;
  for (const auto &arena : plan.arenas) {
    if (arena->space > plan::Space::MAX || !spaces.insert(arena->space).second)
      return bad("arena, expected one for each known memory space but got space ", int(arena->space),
                 (arena->space > plan::Space::MAX ? "" : " twice"));
    const std::string name = std::string("arena of ") + plan::EnumNameSpace(arena->space);
    if (arena->bytes > maxArenaBytes || arena->workspace > maxArenaBytes)
      return bad(name, ", expected at most ", formatBytes(maxArenaBytes), " but got ",
                 std::max(arena->bytes, arena->workspace), " bytes");
    if (!std::has_single_bit(arena->alignment) || arena->alignment > maxAlignment)
      return bad(name, ", expected an alignment that is a power of two up to ", maxAlignment, " but got ",
                 arena->alignment);
    if (arena->pinned && arena->space != plan::Space::host)
      return bad(name + ", only host memory can be pinned");
    if (arena->persistent > arena->bytes)
      return bad(name, ", expected at most ", arena->bytes, " persistent bytes but got ", arena->persistent);
  }
  return {};
}

Verdict checkStreams(const plan::PlanT &plan) {
  if (plan.streams.size() > maxStreams)
    return bad("streams, expected at most ", maxStreams, " but got ", plan.streams.size());
  std::set<std::string> names;
  std::uint64_t workspace = 0;
  for (const auto &stream : plan.streams) {
    if (stream->name.empty() || !names.insert(stream->name).second)
      return bad("stream " + inQuotes(stream->name) + ", its name is empty or used twice");
    if (stream->processor > plan::Processor::MAX)
      return bad("stream ", inQuotes(stream->name), ", unknown processor ", int(stream->processor));
    if (stream->kind > plan::StreamKind::MAX)
      return bad("stream ", inQuotes(stream->name), ", unknown kind ", int(stream->kind));
    if (stream->workspace > maxArenaBytes)
      return bad("stream ", inQuotes(stream->name), ", expected at most ", formatBytes(maxArenaBytes),
                 " of workspace but got ", stream->workspace, " bytes");
    workspace += stream->workspace;
  }
  std::uint64_t declared = 0;
  for (const auto &arena : plan.arenas)
    declared += arena->workspace;
  if (declared != workspace)
    return bad("workspace, expected the arenas to declare the ", workspace, " bytes of the streams but got ", declared);
  return {};
}

Verdict checkBuffer(const plan::PlanT &plan, std::size_t index) {
  const plan::BufferT &buffer = *plan.buffers[index];
  const auto name = [&] { return concat("buffer ", index, " ", inQuotes(buffer.name)); };
  if (buffer.space > plan::Space::MAX || buffer.class_ > plan::BufferClass::MAX || buffer.dtype > plan::DType::MAX)
    return bad(name() + ", unknown space, class or dtype");
  const plan::ArenaT *arena = arenaOf(plan, buffer.space);
  if (!arena)
    return bad(name() + ", missing arena of " + plan::EnumNameSpace(buffer.space));
  if (buffer.shape.size() > maxDims)
    return bad(name(), ", expected at most ", maxDims, " dims but got ", buffer.shape.size());
  const std::optional<std::uint64_t> count = elementCount(buffer.shape);
  std::uint64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, std::uint64_t(dtypeBytes(baseType(buffer.dtype))), &bytes))
    return bad(name() + ", its shape " + formatShape(buffer.shape) + " is negative or overflows");
  if (buffer.bytes != bytes)
    return bad(name(), ", expected ", bytes, " bytes for ", typeText(buffer.dtype, buffer.shape), " but got ",
               buffer.bytes);
  if (buffer.offset % arena->alignment != 0)
    return bad(name(), ", expected an offset aligned to ", arena->alignment, " but got ", buffer.offset);
  if (buffer.offset > arena->bytes || bytes > arena->bytes - buffer.offset)
    return bad(name(), ", expected it inside the ", arena->bytes, " bytes of its arena but it ends at ", buffer.offset,
               " + ", bytes);
  if (buffer.unit < -1 || buffer.unit >= std::int64_t(plan.units.size()))
    return bad(name(), ", unit ", buffer.unit, " does not exist");
  if (buffer.entry < -1 || buffer.entry >= std::int64_t(plan.entries.size()))
    return bad(name(), ", entry point ", buffer.entry, " does not exist");
  if (buffer.entry == -1) {
    if (buffer.begin != 0 || buffer.end != 0 || buffer.reserved_from != 0)
      return bad(name() + ", a persistent buffer has no lifespan");
    if (buffer.offset + bytes > arena->persistent)
      return bad(name(), ", expected it inside the ", arena->persistent, " persistent bytes but it ends at ",
                 buffer.offset + bytes);
    return {};
  }
  const std::uint32_t instructions = instructionCount(*plan.entries[buffer.entry]);
  if (buffer.begin >= buffer.end || buffer.end > instructions)
    return bad(name(), ", expected a lifespan within the ", instructions, " instructions of its entry point but got [",
               buffer.begin, ", ", buffer.end, ")");
  if (buffer.reserved_from > instructions)
    return bad(name(), ", its bytes are reserved from instruction ", buffer.reserved_from,
               ", but its entry point has only ", instructions);
  return {};
}

/// An arena, and its persistent part, end with their last buffer, up to the alignment. The buffers are inside it.
Verdict checkArenaEnds(const plan::PlanT &plan) {
  for (const auto &arena : plan.arenas) {
    std::uint64_t persistent = 0, all = arena->persistent;
    for (const auto &buffer : plan.buffers)
      if (buffer->space == arena->space)
        for (std::uint64_t *end : {&all, &persistent})
          if (end == &all || buffer->entry == -1)
            *end = std::max(*end, buffer->offset + buffer->bytes);
    for (const auto &[what, bytes, end] :
         {std::tuple("persistent ", arena->persistent, persistent), std::tuple("", arena->bytes, all)})
      if (bytes - end >= arena->alignment)
        return bad("arena of ", plan::EnumNameSpace(arena->space), ", expected the ", end, " ", what,
                   "bytes of its buffers but got ", bytes);
  }
  return {};
}

/// Axes exist and each is named once.
bool axesAreSound(const plan::PlanT &plan, const std::vector<std::uint32_t> &axes) {
  std::set<std::uint32_t> seen;
  for (std::uint32_t axis : axes)
    if (axis >= plan.mesh.size() || !seen.insert(axis).second)
      return false;
  return true;
}

/// Only the numbers that the kind uses are set.
Verdict checkInitializer(const std::string &name, const plan::InitializerT *initializer) {
  if (!initializer)
    return {};
  using enum plan::InitializerKind;
  const auto [kind, a, b] = std::tuple(initializer->kind, initializer->a, initializer->b);
  if (kind > plan::InitializerKind::MAX)
    return bad(name, ", unknown initializer");
  const bool isRandom = kind == normal || kind == uniform;
  if (!std::isfinite(a) || !std::isfinite(b) || (!isRandom && (b != 0 || initializer->zero_row != -1)) ||
      ((kind == zeros || kind == ones) && a != 0) || initializer->zero_row < -1)
    return bad(name, ", its initializer has a number that '", plan::EnumNameInitializerKind(kind), "' does not use");
  return {};
}

/// Names that refer to a row of a table: each is used once. Aliases are further names of parameters.
Verdict checkNames(const plan::PlanT &plan) {
  std::set<std::string_view> names;
  const auto add = [&](const char *what, const std::string &name) -> Verdict {
    return name.empty() || !names.insert(name).second
               ? bad(what, " ", inQuotes(name), ", its name is empty or used twice")
               : Verdict();
  };
  for (const auto &parameter : plan.parameters)
    SLUICE_CHECK(add("parameter", parameter->name));
  for (const auto &parameter : plan.parameters)
    for (const std::string &alias : parameter->aliases)
      SLUICE_CHECK(add("alias", alias));
  for (const auto &variable : plan.variables)
    SLUICE_CHECK(add("variable", variable->name));
  names.clear();
  for (const auto &unit : plan.units)
    SLUICE_CHECK(add("unit", unit->name));
  names.clear();
  for (const auto &buffer : plan.buffers)
    SLUICE_CHECK(add("buffer", buffer->name));
  names.clear();
  for (const std::string &kernel : plan.kernels)
    SLUICE_CHECK(add("kernel", kernel));
  for (const auto &parameter : plan.parameters) {
    names.clear();
    for (const auto &state : parameter->states)
      SLUICE_CHECK(add("state", state->name));
    if (!std::ranges::is_sorted(parameter->states, {}, &plan::StateT::name))
      return bad("parameter ", inQuotes(parameter->name), ", expected its states in alphabetical order");
  }
  return {};
}

Verdict checkParameter(const plan::PlanT &plan, const plan::ParameterT &parameter) {
  const auto name = [&] { return "parameter " + inQuotes(parameter.name); };
  if (parameter.dtype > plan::DType::MAX)
    return bad(name() + ", unknown dtype");
  if (parameter.shape.size() > maxDims || !elementCount(parameter.shape))
    return bad(name() + ", its shape " + formatShape(parameter.shape) + " has too many dims, is negative or overflows");
  if (parameter.unit >= plan.units.size())
    return bad(name(), ", unit ", parameter.unit, " does not exist");
  if (parameter.dim < -1 || parameter.dim > std::int64_t(parameter.shape.size()) ||
      (parameter.dim >= 0 && parameter.shape.empty()))
    return bad(name(), ", dim ", parameter.dim, " does not exist");
  if (parameter.shape.size() == 1 && parameter.dim == 1)
    return bad(name() + ", expected dim 0 for elements of one dim but got 1");
  if (!axesAreSound(plan, parameter.axes))
    return bad(name() + ", its axes are not distinct axes of the mesh");
  if (const plan::TensorSplitT *split = parameter.split.get()) {
    if (split->dim >= parameter.shape.size() || !axesAreSound(plan, split->axes))
      return bad(name() + ", its split needs a different dim and distinct axes of the mesh");
    for (std::uint32_t axis : split->axes)
      if (std::find(parameter.axes.begin(), parameter.axes.end(), axis) != parameter.axes.end())
        return bad(name() + ", axis '" + plan.mesh[axis]->name + "' both splits it and shards its parts");
    const std::uint64_t parts = groupSize(plan, split->axes);
    const auto extent = static_cast<std::uint64_t>(parameter.shape[split->dim]);
    // Chunks of a segment may be larger than its share, for example if heads are not divided, but the first rank's is
    // full.
    if (split->segments == 0 || split->extent <= 0 || extent % split->segments != 0 ||
        std::uint64_t(split->extent) % split->segments != 0 || std::uint64_t(split->extent) > extent ||
        (unsigned __int128)(split->extent) * parts < extent)
      return bad(name(), ", expected parts of ", parts, " ranks that partition dim ", split->dim, " of ", extent,
                 " in ", split->segments, " segments but got parts of ", split->extent);
  }
  if (parameter.buffer >= plan.buffers.size())
    return bad(name(), ", buffer ", parameter.buffer, " does not exist");
  SLUICE_CHECK(checkInitializer(name(), parameter.initializer.get()));
  for (const auto &state : parameter.states)
    if (state->buffer >= plan.buffers.size())
      return bad(name(), ", buffer ", state->buffer, " of its state ", inQuotes(state->name), " does not exist");
  return {};
}

/// The axes that data differ along, as positions in the mesh.
Verdict checkDataAxes(const plan::PlanT &plan) {
  for (std::size_t i = 0; i < plan.data_axes.size(); ++i)
    if (plan.data_axes[i] >= plan.mesh.size() || (i > 0 && plan.data_axes[i] <= plan.data_axes[i - 1]))
      return bad("data axes, expected axes of the mesh in ascending order but got ", plan.data_axes[i], " at position ",
                 i);
  return {};
}

Verdict checkLearningRate(const plan::PlanT &plan) {
  const plan::LearningRateT *rate = plan.learning_rate.get();
  if (!rate) {
    for (const auto &entry : plan.entries)
      for (const auto &port : entry->inputs)
        if (port->role == plan::PortRole::learning_rate)
          return bad("entry point " + inQuotes(entry->name) + " has the port " + inQuotes(port->name) +
                     " but the plan has no learning rate");
    return {};
  }
  if (rate->shape > plan::RateShape::MAX)
    return bad("learning rate, unknown shape ", int(rate->shape));
  for (double value : {rate->peak, rate->minimum})
    if (!std::isfinite(value) || value < 0)
      return bad("learning rate, expected a finite number of at least 0 but got " + formatNumber(value));
  return {};
}

/// Each port has a role of its direction, an output that of its name, and no other port has it unless it is `data` or
/// `constant`.
Verdict checkPorts(const plan::EntryT &entry, bool isInput) {
  std::set<plan::PortRole> seen;
  std::set<std::string> names;
  for (const auto &port : isInput ? entry.inputs : entry.outputs) {
    const auto name = [&] {
      return concat(isInput ? "input " : "output ", inQuotes(port->name), " of ", inQuotes(entry.name));
    };
    if (port->role > plan::PortRole::MAX)
      return bad(name(), ", unknown role ", int(port->role));
    if (!fits(port->role, isInput))
      return bad(name(), ", expected a role of ", isInput ? "inputs" : "outputs", " but got ",
                 plan::EnumNamePortRole(port->role));
    if (!isShared(port->role) && !seen.insert(port->role).second)
      return bad(name(), " has the role of another: ", plan::EnumNamePortRole(port->role));
    if (port->name.empty() || !names.insert(port->name).second)
      return bad(name(), ", its name is empty or used twice");
    if (const plan::PortRole role = roleOfOutput(port->name); !isInput && port->role != role)
      return bad(name(), ", expected the role ", plan::EnumNamePortRole(role), " of its name but got ",
                 plan::EnumNamePortRole(port->role));
  }
  return {};
}

Verdict checkEntry(const plan::EntryT &entry) {
  SLUICE_CHECK(checkPorts(entry, /*isInput=*/true));
  SLUICE_CHECK(checkPorts(entry, /*isInput=*/false));
  std::uint64_t instructions = 0;
  for (const auto &section : entry.sections) {
    if (section->kind > plan::SectionKind::MAX)
      return bad("section ", inQuotes(section->name), " of ", inQuotes(entry.name), ", unknown kind ",
                 int(section->kind));
    if (section->repeat == 0 || section->repeat > maxRepeat)
      return bad("section ", inQuotes(section->name), " of ", inQuotes(entry.name), ", expected 1 to ", maxRepeat,
                 " repetitions but got ", section->repeat);
    instructions += section->instructions.size();
  }
  // Each event is recorded and waited for, so there are fewer events than instructions.
  if (entry.events > instructions)
    return bad("entry point ", inQuotes(entry.name), ", expected at most ", instructions, " events but got ",
               entry.events);
  return {};
}

} // namespace

Verdict wellFormedTables(const plan::PlanT &plan, Findings &findings) {
  for (std::size_t rows : {plan.mesh.size(), plan.arenas.size(), plan.streams.size(), plan.entries.size(),
                           plan.buffers.size(), plan.units.size(), plan.parameters.size(), plan.variables.size()})
    findings[1].facts += rows;
  SLUICE_CHECK(checkMesh(plan));
  SLUICE_CHECK(checkArenas(plan));
  SLUICE_CHECK(checkStreams(plan));
  SLUICE_CHECK(checkDataAxes(plan));
  std::set<std::string> names;
  for (const auto &entry : plan.entries) {
    if (entry->name.empty() || !names.insert(entry->name).second)
      return bad("entry point " + inQuotes(entry->name) + ", its name is empty or used twice");
    SLUICE_CHECK(checkEntry(*entry));
  }
  SLUICE_CHECK(checkLearningRate(plan));
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    SLUICE_CHECK(checkBuffer(plan, b));
  SLUICE_CHECK(checkArenaEnds(plan));
  std::vector<bool> inUnit(plan.parameters.size());
  for (const auto &unit : plan.units)
    if (!std::isfinite(unit->gradient_divisor) || std::signbit(unit->gradient_divisor))
      return bad("unit ", inQuotes(unit->name), ", expected a finite divisor of at least 0 but got ",
                 formatNumber(unit->gradient_divisor));
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    for (std::uint32_t p : plan.units[u]->parameters) {
      if (p >= plan.parameters.size())
        return bad("unit ", inQuotes(plan.units[u]->name), ", parameter ", p, " does not exist");
      if (plan.parameters[p]->unit != u || inUnit[p])
        return bad("parameter " + inQuotes(plan.parameters[p]->name) +
                   ", expected exactly one unit to list it, the one that it names");
      inUnit[p] = true;
    }
  for (std::size_t p = 0; p < plan.parameters.size(); ++p) {
    SLUICE_CHECK(checkParameter(plan, *plan.parameters[p]));
    if (!inUnit[p])
      return bad("parameter " + inQuotes(plan.parameters[p]->name) + ", its unit does not name it");
  }
  for (const auto &variable : plan.variables) {
    if (variable->buffer >= plan.buffers.size() || plan.buffers[variable->buffer]->entry != -1)
      return bad("variable " + inQuotes(variable->name) + ", expected a persistent buffer");
    SLUICE_CHECK(checkInitializer("variable " + inQuotes(variable->name), variable->initializer.get()));
  }
  SLUICE_CHECK(checkNames(plan));
  if (!plan.target)
    return bad("plan, expected a target");
  if (const int e = findEntry(plan, "train_step"); e >= 0 && !plan.entries[std::size_t(e)]->sections.empty())
    if (const std::uint32_t repeat = plan.entries[std::size_t(e)]->sections[0]->repeat; plan.microbatches != repeat)
      return bad("plan, expected the ", repeat, " micro-batches of 'train_step' but got ", plan.microbatches);
  if (plan.target->threads > maxThreads)
    return bad("target, expected at most ", maxThreads, " threads but got ", plan.target->threads);
  return {};
}

} // namespace sluice::check
