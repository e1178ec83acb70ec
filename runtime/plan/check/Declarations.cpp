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

} // namespace

Verdict inputsAreRecorded(const plan::PlanT &plan, Findings &findings) {
  std::map<std::string, std::map<std::string, plan::PortRole>> recorded;
  if (plan.program) {
    std::uint32_t input = 0;
    for (const auto &function : plan.program->functions)
      for (auto &roles = recorded[plan.program->names[function->name]]; input < function->inputs_end; ++input)
        roles.emplace(plan.program->names[plan.program->input_names[input]], plan.program->input_roles[input]);
  }
  for (const auto &entry : plan.entries) {
    const auto function = recorded.find(entry->name);
    for (const auto &port : entry->inputs) {
      const std::string name = "input '" + port->name + "' of '" + entry->name + "'";
      if (function != recorded.end()) {
        const auto role = function->second.find(port->name);
        if (role == function->second.end())
          return bad(1, name, " is not in the unsharded program");
        if (role->second != port->role)
          return bad(1, name, ", expected the role ", plan::EnumNamePortRole(role->second),
                     " of the unsharded program but got ", plan::EnumNamePortRole(port->role));
      }
      if (!isOfStep(port->role))
        continue;
      const bool isFloat = port->view->dtype <= plan::DType::f16;
      if (!port->view->shape.empty() || port->per_repetition ||
          (isInteger(port->role) ? port->view->dtype != plan::DType::i64 : !isFloat))
        return bad(1, name, ", expected one scalar ", (isInteger(port->role) ? "i64" : "of a floating-point type"));
    }
  }
  return {};
}

Verdict declarationsHold(const plan::PlanT &plan, Findings &findings) {
  SLUICE_CHECK(checkGathered(plan));
  return GatherWrites(plan).run();
}

} // namespace sluice::check
