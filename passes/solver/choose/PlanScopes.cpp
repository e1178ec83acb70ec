//===- PlanScopes.cpp - the uses of units in a plan ------------------------------------------===//
#include "passes/solver/choose/PlanScopes.h"

#include "passes/solver/simulate/CostModel.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Profile.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

class ScopeReader {
public:
  ScopeReader(const plan::PlanT &plan, std::uint32_t entry, const Machine &machine) : plan(plan), costs(plan, machine) {
    const EntryProfile profile = profileEntry(plan, entry, plan::Space::device);
    for (const auto &unit : plan.units)
      if (unit->root)
        root = static_cast<int>(&unit - plan.units.data());
    forEachInstruction(*plan.entries[entry],
                       [&](const plan::InstructionT &instruction, std::uint32_t index, std::uint32_t) {
                         if (instruction.phase <= plan::Phase::backward)
                           add(instruction, static_cast<std::int64_t>(profile.live[index]));
                       });
  }

  PlanScopes take() { return std::move(result); }

private:
  void add(const plan::InstructionT &instruction, std::int64_t live) {
    const bool isBackward = instruction.phase == plan::Phase::backward;
    // As spmd-hoist-gathers: a direction begins in the root.
    if (root >= 0)
      scopeOf(root, isBackward);
    const bool isGather = gathers(instruction), isLaunch = instruction.operation.type == plan::Operation::Launch;
    if (instruction.unit >= 0 && (isGather || isLaunch)) {
      const std::size_t scope = scopeOf(instruction.unit, isBackward);
      if (isGather)
        addGather(instruction, scope);
    }
    if (result.problem.scopes.empty())
      return;
    PrefetchScope &current = result.problem.scopes.back();
    current.live = std::max(current.live, live);
    if (!isLaunch)
      return;
    const double seconds = secondsOf(instruction);
    current.compute += seconds;
    forEachView(instruction, [&](const plan::ViewT &view, bool isWritten) {
      if (isWritten)
        writers[view.buffer] = {result.problem.scopes.size() - 1, seconds};
    });
  }

  /// The launches that write what a gather reads move with it.
  void addPreparation(const plan::InstructionT &gather, PrefetchScope &gathered) {
    forEachView(gather, [&](const plan::ViewT &view, bool isWritten) {
      const auto writer = isWritten ? writers.end() : writers.find(view.buffer);
      if (writer == writers.end())
        return;
      result.problem.scopes[writer->second.scope].compute -= writer->second.seconds;
      gathered.prepare += writer->second.seconds;
      writers.erase(writer);
    });
  }

  /// Copies of activations are at fixed positions.
  bool gathers(const plan::InstructionT &instruction) const {
    if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
      return instruction.unit >= 0 && collective->kind == plan::CollectiveKind::all_gather;
    const plan::CopyT *copy = instruction.operation.AsCopy();
    return instruction.unit >= 0 && copy && plan.buffers[copy->source->buffer]->space == plan::Space::host &&
           plan.buffers[copy->source->buffer]->class_ != plan::BufferClass::activation &&
           plan.buffers[copy->destination->buffer]->space == plan::Space::device;
  }

  void addGather(const plan::InstructionT &instruction, std::size_t scope) {
    PrefetchScope &gathered = result.problem.scopes[scope];
    // A copy from the host and its gather are one after the other; anything between them is a second gather.
    if (gathered.bytes > 0 && scope + 1 != result.problem.scopes.size())
      result.isByUnit = false;
    addPreparation(instruction, gathered);
    gathered.gather += secondsOf(instruction);
    if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
      gathered.bytes += static_cast<std::int64_t>(collectiveBytes(*collective));
    else
      gathered.bytes += static_cast<std::int64_t>(viewBytes(*instruction.operation.AsCopy()->source).value_or(0));
  }

  std::size_t scopeOf(int unit, bool isBackward) {
    const auto [known, isNew] = places.try_emplace({unit, isBackward}, result.problem.scopes.size());
    if (isNew) {
      result.problem.scopes.push_back({.backward = isBackward});
      result.units.push_back(plan.units[static_cast<std::size_t>(unit)]->name);
    }
    return known->second;
  }

  double secondsOf(const plan::InstructionT &instruction) {
    const InstructionCost cost = costs.cost(instruction);
    return cost.latency + cost.work;
  }

  const plan::PlanT &plan;
  CostModel costs;
  int root = -1;
  /// By buffer: the launch that wrote it last, and the scope that it is counted in.
  struct Writer {
    std::size_t scope = 0;
    double seconds = 0;
  };
  std::map<std::uint32_t, Writer> writers;
  /// By unit and direction.
  std::map<std::pair<int, bool>, std::size_t> places;
  PlanScopes result;
};

} // namespace

PlanScopes readScopes(const plan::PlanT &plan, std::uint32_t entry, const Machine &machine) {
  return ScopeReader(plan, entry, machine).take();
}

} // namespace sluice
