//===- Replicas.cpp - a part of P7: replicas of a value stay equal -----------------===//
//
// Along each axis of the mesh a value is equal on all ranks or may differ. Data inputs differ along Plan.data_axes, a
// parameter along the axes over which it is split or sharded, a view with a valid extent along its axes. The outputs of
// a launch differ along the axes of its inputs; all_gather and all_reduce make values equal along their axes. Two
// checks follow: a value written to a parameter or its state must not differ between ranks that have the same shard, so
// no reduction of its gradient, of an earlier activation, or of the norm is missing; and a sum over the ranks of one
// operation does not add a value that is equal on all of them.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/IntervalMap.h"
#include "runtime/plan/check/Roles.h"

#include <unordered_map>

namespace sluice::check {
namespace {

/// A bit for each axis along which a value may differ; the highest for what depends on parameters or data at all.
using Axes = std::uint64_t;
constexpr Axes depends = Axes(1) << 63;

struct AxesRun {
  std::uint64_t end = 0;
  Axes axes = 0;
};

/// The bytes of one buffer.
class Bytes : public IntervalMap<AxesRun> {
public:
  using IntervalMap::IntervalMap;
  Axes axesOf(std::uint64_t begin, std::uint64_t end) const {
    Axes found = 0;
    read(begin, end, [&](const AxesRun &run) { found |= run.axes; });
    return found;
  }
  /// A strided window leaves bytes between its own as they are.
  void write(std::uint64_t begin, std::uint64_t end, Axes axes, bool isDense) {
    if (begin >= end)
      return;
    if (!isDense)
      axes |= axesOf(begin, end);
    merge(begin, end).axes = axes;
  }
};

class EntryReplicas {
public:
  EntryReplicas(const plan::PlanT &plan, std::uint32_t e, Finding &finding)
      : plan(plan), e(e), finding(finding), bytes(bytesOfBuffers(plan)) {}

  Verdict run() {
    data = of(plan.data_axes);
    for (std::uint32_t p = 0; p < plan.parameters.size(); ++p) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      Axes own = depends | of(parameter.dim < 0 ? std::vector<std::uint32_t>() : parameter.axes);
      if (parameter.split)
        own |= of(parameter.split->axes);
      hold(parameter.buffer, own, p);
      for (const auto &state : parameter.states)
        hold(state->buffer, own, p);
    }
    for (const auto &variable : plan.variables)
      fill(variable->buffer, data | depends);
    const plan::EntryT &entry = *plan.entries[e];
    for (const auto &port : entry.inputs)
      fill(port->view->buffer, isOfStep(port->role) ? 0 : data | depends);
    return followSamples(entry,
                         [&](const plan::InstructionT &instruction, std::uint32_t i) { return visit(instruction, i); });
  }

private:
  static std::vector<Bytes> bytesOfBuffers(const plan::PlanT &plan) {
    std::vector<Bytes> all;
    for (const auto &buffer : plan.buffers)
      all.emplace_back(buffer->bytes);
    return all;
  }
  Axes bit(std::uint32_t axis) const { return plan.mesh[axis]->size > 1 ? Axes(1) << axis : 0; }
  Axes of(const std::vector<std::uint32_t> &axes) const {
    Axes found = 0;
    for (std::uint32_t axis : axes)
      found |= bit(axis);
    return found;
  }
  void fill(std::uint32_t buffer, Axes axes) { bytes[buffer].write(0, plan.buffers[buffer]->bytes, axes, true); }
  void hold(std::uint32_t buffer, Axes axes, std::uint32_t parameter) {
    fill(buffer, axes);
    held[buffer] = {axes, parameter};
  }
  std::string namesOf(Axes axes) const {
    std::string names;
    for (std::uint32_t axis = 0; axis < plan.mesh.size() && axis < 63; ++axis)
      if (axes & (Axes(1) << axis))
        names += (names.empty() ? "'" : ", '") + plan.mesh[axis]->name + "'";
    return names;
  }

  Axes validAxes(const plan::ViewT &view) const {
    Axes found = 0;
    for (const auto &valid : view.valid)
      found |= of(valid->axes);
    return found;
  }
  Axes read(const plan::ViewT &view) { return bytes[view.buffer].axesOf(view.offset, endOf(view)) | validAxes(view); }
  std::uint64_t endOf(const plan::ViewT &view) const {
    // All repetitions of a port's slices at once.
    return view.repetition_stride ? plan.buffers[view.buffer]->bytes : view.offset + viewBytes(view).value_or(0);
  }

  Verdict write(const plan::ViewT &view, Axes axes, std::uint32_t i) {
    bytes[view.buffer].write(view.offset, endOf(view), axes, isDense(view) && view.repetition_stride == 0);
    const auto found = held.find(view.buffer);
    if (found == held.end())
      return {};
    ++finding.facts;
    if (!(axes & ~found->second.axes))
      return {};
    return refuse(7, place(plan, e, i) + " writes '" + plan.buffers[view.buffer]->name + "' of parameter '" +
                         plan.parameters[found->second.parameter]->name +
                         "', which all ranks with this shard must write equally, but the value may differ along " +
                         namesOf(axes & ~found->second.axes & ~depends));
  }

  Verdict visit(const plan::InstructionT &instruction, std::uint32_t i) {
    if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
      SLUICE_CHECK(checkScalars(*launch, i));
      if (computesEach(*findKernelRecord(plan.kernels[launch->kernel])) &&
          launch->inputs.size() == launch->outputs.size()) {
        for (std::size_t k = 0; k < launch->outputs.size(); ++k)
          SLUICE_CHECK(write(*launch->outputs[k], read(*launch->inputs[k]) | validAxes(*launch->outputs[k]), i));
        return {};
      }
      Axes axes = 0;
      for (const auto &view : launch->inputs)
        axes |= read(*view);
      for (const auto &view : launch->outputs)
        axes |= readsOutput(plan, *launch) ? read(*view) : validAxes(*view);
      for (const auto &view : launch->outputs)
        SLUICE_CHECK(write(*view, axes, i));
    } else if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
      return write(*copy->destination, read(*copy->source), i);
    } else if (const plan::FillT *fill = instruction.operation.AsFill()) {
      return write(*fill->destination, 0, i);
    } else if (const plan::CollectiveT *collective = instruction.operation.AsCollective()) {
      return visit(*collective, i);
    }
    return {};
  }

  /// The learning rate, the clip coefficient and the guard of an update are those of all ranks.
  Verdict checkScalars(const plan::LaunchT &launch, std::uint32_t i) {
    const KernelRecord &record = *findKernelRecord(plan.kernels[launch.kernel]);
    if (record.outputs.empty() || record.outputs.begin()->count != OperandCount::each || computesEach(record))
      return {};
    const auto operands = inputRecords(record, attributesOf(launch), launch.inputs.size());
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (operands[k]->count != OperandCount::each) {
        ++finding.facts;
        if (const Axes axes = read(*launch.inputs[k]) & ~depends)
          return refuse(7,
                        concat(place(plan, e, i), " reads '", plan.buffers[launch.inputs[k]->buffer]->name,
                               "', which must be equal on all ranks, but the value may differ along ", namesOf(axes)));
      }
    return {};
  }

  Verdict visit(const plan::CollectiveT &collective, std::uint32_t i) {
    const Axes along = of(collective.axes);
    const bool adds = collective.op == plan::ReduceOp::sum || collective.op == plan::ReduceOp::premul_sum;
    // The ranks receive different chunks.
    const bool differs =
        collective.kind == plan::CollectiveKind::reduce_scatter || collective.kind == plan::CollectiveKind::all_to_all;
    std::vector<Axes> sources;
    for (std::size_t s = 0; s < collective.segments.size(); ++s) {
      const Axes source = read(*collective.segments[s]->source);
      if (const Axes same = along & ~data & ~source; adds && (source & depends) && same)
        return refuse(7, place(plan, e, i) + ", segment " + std::to_string(s) +
                             ", adds up what is the same on all ranks along " + namesOf(same) +
                             ", expected parts of a sum");
      finding.facts += adds;
      sources.push_back(source);
    }
    for (std::size_t s = 0; s < collective.segments.size(); ++s)
      SLUICE_CHECK(write(*collective.segments[s]->destination, differs ? sources[s] | along : sources[s] & ~along, i));
    return {};
  }

  struct ParameterAxes {
    Axes axes = 0;
    std::uint32_t parameter = 0;
  };
  const plan::PlanT &plan;
  std::uint32_t e;
  Finding &finding;
  Axes data = 0;
  /// By buffer.
  std::vector<Bytes> bytes;
  /// Buffers of parameters and states.
  std::unordered_map<std::uint32_t, ParameterAxes> held;
};

} // namespace

Verdict replicasAgree(const plan::PlanT &plan, Findings &findings) {
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    SLUICE_CHECK(EntryReplicas(plan, e, findings[7]).run());
  return {};
}

} // namespace sluice::check
