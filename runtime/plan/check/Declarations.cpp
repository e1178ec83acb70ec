//===- Declarations.cpp - P1, P4 and P8 for what a plan declares of buffers and inputs ---------===//
//
// The checks rely on these declarations: which buffers are gathered, which persist, and which inputs are equal on all
// ranks. Each has a defined meaning, which the instructions and tables contradict if it is false:
//
//   - a buffer is gathered exactly if it has a unit; then it belongs to an entry point, and only gathers of its unit,
//   or
//     copies of their chunks, write it;
//   - an all_gather of a unit writes gathered buffers of that unit, or chunks in communication buffers; a parameter's
//     shard is gathered by its own unit, once, and an optimizer state is not;
//   - the inputs of the step (learning rate, loss scale, step, seed) are scalars of their types, and the inputs of an
//     entry point are those of its function in the unsharded program.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/Roles.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sluice::check {
namespace {

using plan::BufferClass;

template <typename... Parts> Verdict bad(int property, const Parts &...parts) {
  return refuse(property, concat(parts...));
}

Verdict checkGathered(const plan::PlanT &plan) {
  for (const auto &buffer : plan.buffers) {
    const bool isGathered = buffer->class_ == BufferClass::gathered;
    if (isGathered != (buffer->unit >= 0))
      return bad(4, "buffer '", buffer->name, "' ",
                 (isGathered ? "is gathered but has no unit" : "has a unit but is not gathered"));
  }
  return {};
}

using Shards = std::map<std::uint32_t, const plan::ParameterT *>;

/// The parameter of each shard, by buffer.
Shards shardsOf(const plan::PlanT &plan) {
  Shards shards;
  for (const auto &parameter : plan.parameters)
    shards[parameter->buffer] = parameter.get();
  return shards;
}

class GatherWrites {
public:
  explicit GatherWrites(const plan::PlanT &plan) : plan(plan), shards(shardsOf(plan)) {}

  Verdict run() {
    for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
      Verdict verdict;
      forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
        if (!verdict)
          verdict = check(instruction);
        if (verdict && verdict->message.front() == ' ')
          verdict->message = place(plan, e, i) + verdict->message;
      });
      if (verdict)
        return verdict;
    }
    return {};
  }

private:
  const plan::BufferT &bufferOf(const plan::ViewT &view) const { return *plan.buffers[view.buffer]; }

  /// The message begins with a space.
  Verdict check(const plan::InstructionT &instruction) const {
    const plan::CollectiveT *collective = instruction.operation.AsCollective();
    const bool gathers = collective && collective->kind == plan::CollectiveKind::all_gather;
    std::set<std::pair<std::uint32_t, std::uint64_t>> sources;
    for (std::size_t s = 0; gathers && s < collective->segments.size(); ++s) {
      const plan::SegmentT &segment = *collective->segments[s];
      if (instruction.unit >= 0 && bufferOf(*segment.source).class_ == BufferClass::optimizer)
        return bad(8, " gathers the optimizer state '", bufferOf(*segment.source).name,
                   "', expected a shard of its unit");
      if (instruction.unit >= 0 && !sources.insert({segment.source->buffer, segment.source->offset}).second)
        return bad(8, " gathers buffer '", bufferOf(*segment.source).name, "' twice");
      const plan::BufferT &target = bufferOf(*segment.destination);
      const auto shard = shards.find(segment.source->buffer);
      // The parts of one operation are gathered for a different one, without a unit.
      if (shard != shards.end() && instruction.unit != std::int64_t(shard->second->unit) &&
          (instruction.unit >= 0 || !shard->second->split))
        return bad(4, " gathers the shard '", bufferOf(*segment.source).name, "' of unit '",
                   plan.units[shard->second->unit]->name, "'");
      if (instruction.unit >= 0 && target.class_ != BufferClass::communication && target.unit != instruction.unit)
        return bad(4, " writes buffer '", target.name, "', expected a gathered buffer of its unit");
    }
    Verdict verdict;
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      const plan::BufferT &target = bufferOf(view);
      if (!verdict && isWrite && target.unit >= 0 && !(gathers && instruction.unit == target.unit) &&
          !copiesChunks(instruction))
        verdict = bad(4, " writes the gathered buffer '", target.name, "' without a gather of its unit");
    });
    return verdict;
  }

  bool copiesChunks(const plan::InstructionT &instruction) const {
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    return launch && plan.kernels[launch->kernel] == "copy" &&
           bufferOf(*launch->inputs[0]).class_ == BufferClass::communication;
  }

  const plan::PlanT &plan;
  const Shards shards;
};

/// The inputs of an entry point are those of its function, in their order, with their roles, types and extents: of one
/// rank and one micro-batch.
Verdict checkInputs(const plan::ProgramT &program, const plan::EntryT &entry, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t k = 0; k < std::max<std::size_t>(entry.inputs.size(), end - first); ++k) {
    const std::string *expected = first + k < end ? &program.names[program.input_names[first + k]] : nullptr;
    if (k >= entry.inputs.size())
      return bad(1, "'", entry.name, "', missing input '", *expected, "' of the unsharded program");
    const plan::PortT &port = *entry.inputs[k];
    const std::string name = "input '" + port.name + "' of '" + entry.name + "'";
    if (!expected || *expected != port.name)
      return bad(1, name, " is not in the unsharded program at its position");
    if (const plan::PortRole role = program.input_roles[first + k]; role != port.role)
      return bad(1, name, ", expected the role ", plan::EnumNamePortRole(role), " of the unsharded program but got ",
                 plan::EnumNamePortRole(port.role));
    const std::uint32_t id = program.inputs[first + k];
    if (id == 0)
      return bad(1, name, ", expected a value of the unsharded program");
    const plan::ProgramTypeT &type = *program.types[program.values[id - 1]];
    if (type.dtype != port.view->dtype || type.shape != port.view->shape)
      return bad(1, name, ", expected ", typeText(type.dtype, type.shape), " as in the unsharded program but got ",
                 typeText(port.view->dtype, port.view->shape));
  }
  return {};
}

/// What the host writes by roles: scalars once in a step, other inputs for each micro-batch.
Verdict checkRoles(const plan::EntryT &entry) {
  for (const auto &port : entry.inputs) {
    const std::string name = "input '" + port->name + "' of '" + entry.name + "'";
    const bool isFloat = port->view->dtype <= plan::DType::f16;
    if (port->role == plan::PortRole::constant && port->per_repetition)
      return bad(1, name, ", expected one value of the step");
    if (port->role == plan::PortRole::constant)
      continue;
    if (isOfStep(port->role) && (!port->view->shape.empty() || port->per_repetition ||
                                 (isInteger(port->role) ? port->view->dtype != plan::DType::i64 : !isFloat)))
      return bad(1, name, ", expected one scalar ", (isInteger(port->role) ? "i64" : "of a floating-point type"));
    if (port->role == plan::PortRole::row && (!port->view->shape.empty() || port->view->dtype != plan::DType::i64))
      return bad(1, name, ", expected a scalar i64");
    if (!isOfStep(port->role) && !port->per_repetition && !entry.sections.empty() && entry.sections[0]->repeat > 1)
      return bad(1, name, ", expected a slice for each micro-batch");
  }
  for (const auto &port : entry.outputs)
    if (port->per_repetition)
      return bad(1, "output '", port->name, "' of '", entry.name, "', expected one value of the step");
  return {};
}

/// The entry point that is not in the unsharded program computes the initial values from the seed.
Verdict checkInitialization(const plan::PlanT &plan, const std::set<std::string> &recorded) {
  const int initialization = findEntry(plan, initName);
  for (int e = 0; e < int(plan.entries.size()); ++e) {
    const plan::EntryT &entry = *plan.entries[std::size_t(e)];
    if ((e == initialization) == recorded.contains(entry.name))
      return bad(1, "entry point '", entry.name, "', expected ",
                 e == initialization ? "it outside of the unsharded program" : "a function of the unsharded program");
    for (const auto &section : entry.sections)
      if (e == initialization && section->repeat != 1)
        return bad(1, "section '", section->name, "' of '", initName, "', expected one repetition but got ",
                   section->repeat);
    for (const auto &port : entry.inputs)
      if (e == initialization && port->role != plan::PortRole::seed)
        return bad(1, "input '", port->name, "' of '", initName, "', expected only the seed");
  }
  return {};
}

} // namespace

Verdict portsAreRecorded(const plan::PlanT &plan, Findings &findings) {
  for (const auto &entry : plan.entries)
    SLUICE_CHECK(checkRoles(*entry));
  if (!plan.program || plan.program->functions.empty())
    return {};
  std::set<std::string> recorded;
  std::uint32_t first = 0;
  for (const auto &function : plan.program->functions) {
    const std::string &name = plan.program->names[function->name];
    recorded.insert(name);
    const std::uint32_t begin = std::exchange(first, function->inputs_end);
    if (const int e = findEntry(plan, name); e >= 0)
      SLUICE_CHECK(checkInputs(*plan.program, *plan.entries[std::size_t(e)], begin, first));
  }
  findings[1].facts += plan.program->inputs.size();
  return checkInitialization(plan, recorded);
}

Verdict declarationsHold(const plan::PlanT &plan, Findings &findings) {
  SLUICE_CHECK(checkGathered(plan));
  return GatherWrites(plan).run();
}

} // namespace sluice::check
