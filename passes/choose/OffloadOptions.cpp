//===- OffloadOptions.cpp - units whose states are in host memory -----------------------------===//
#include "passes/choose/OffloadOptions.h"

#include "passes/recipe/Keys.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

std::string nameOf(Offloaded tensors) { return stringifyEnum(tensors).str(); }

/// The tensors of a unit that the recipe keeps in host memory between steps.
Strings statesOf(const Recipe &recipe, const std::string &unit) {
  Strings states;
  for (Offloaded state : {Offloaded::parameters, Offloaded::optimizer})
    if (recipe.memory.offloads(state, unit))
      states.push_back(nameOf(state));
  return states;
}

/// By how much longer the step is than the base plan's, in units of BudgetCost::time.
Result<std::int64_t> addedTime(const CompiledPlan &plan, const OffloadOptions &options, const Machine &machine) {
  SLUICE_ASSIGN_OR_RETURN(const double seconds, predictSeconds(plan.file.plan, machine));
  return std::llround((seconds - options.baseSeconds) * 1e12);
}

} // namespace

RecipeTable offloadTable(const OffloadOptions &options, std::size_t kind, std::size_t units) {
  RecipeTable table;
  for (std::size_t u = 0; u < units; ++u)
    table.entries.push_back({options.units[u], options.tensors[kind]});
  return table;
}

Result<OffloadOptions> findOffloadOptions(const plan::PlanT &base, const PlanStages &stages,
                                          const StageFreedom &freedom, const Machine &machine,
                                          CompileOffloaded compile) {
  OffloadOptions options;
  std::vector<std::pair<std::int64_t, std::string>> units;
  for (const auto &unit : base.units) {
    std::int64_t bytes = 0;
    for (std::uint32_t parameter : unit->parameters)
      bytes += static_cast<std::int64_t>(base.buffers[base.parameters[parameter]->buffer]->bytes);
    if (bytes > 0)
      units.emplace_back(bytes, unit->name);
  }
  std::ranges::stable_sort(units, {}, [](const auto &unit) { return unit.first; });
  for (auto &[bytes, name] : units) {
    options.unitBytes.push_back(bytes);
    options.units.push_back(std::move(name));
  }
  SLUICE_ASSIGN_OR_RETURN(options.baseSeconds, predictSeconds(base, machine));
  const Strings optimizer = {nameOf(Offloaded::optimizer)},
                all = {nameOf(Offloaded::parameters), nameOf(Offloaded::optimizer)};
  for (const Strings &tensors : {optimizer, all}) {
    options.tensors.push_back(tensors);
    SLUICE_ASSIGN_OR_RETURN(const CompiledPlan plan,
                            compile(offloadTable(options, options.kinds.size(), options.units.size())));
    SLUICE_ASSIGN_OR_RETURN(const PlanStages offloaded, readStages(plan.file.plan, freedom, &machine));
    OffloadKind kind;
    SLUICE_ASSIGN_OR_RETURN(kind.time, addedTime(plan, options, machine));
    const std::vector<std::int64_t> &before = stages.problem.live, &after = offloaded.problem.live;
    for (std::size_t k = 0; before.size() == after.size() && k < before.size(); ++k)
      kind.savedBytes.push_back(before[k] - after[k]);
    if (std::ranges::any_of(kind.savedBytes, [](std::int64_t bytes) { return bytes > 0; }))
      options.kinds.push_back(std::move(kind));
    else
      options.tensors.pop_back();
  }
  return options;
}

Result<std::int64_t> timeOfFirstUnit(const OffloadOptions &options, std::size_t kind, const Machine &machine,
                                     CompileOffloaded compile) {
  SLUICE_ASSIGN_OR_RETURN(const CompiledPlan plan, compile(offloadTable(options, kind, 1)));
  return addedTime(plan, options, machine);
}

RecipeValue offloadValue(const Recipe &recipe, RecipeTable table, const PlanStages &stages,
                         const std::vector<std::uint32_t> &chosen) {
  const std::string activations = nameOf(Offloaded::activations);
  const RecipeValue given = recipe.value(keys::memoryOffload);
  Strings others;
  if (std::holds_alternative<Strings>(given))
    others = statesOf(recipe, "");
  else if (const auto *entries = std::get_if<RecipeTable>(&given)) {
    table = *entries;
    for (RecipeTableEntry &entry : table.entries)
      std::erase(std::get<Strings>(entry.value), activations);
  }
  const bool hasUnits = !table.entries.empty();
  for (std::size_t s = 0; s < stages.stages.size(); ++s) {
    if (stages.stages[s].alternatives[chosen[s]].hostBytes == 0)
      continue;
    const std::string &block = stages.stages[s].block;
    auto entry = std::ranges::find(table.entries, block, &RecipeTableEntry::name);
    if (entry == table.entries.end())
      entry = table.entries.insert(entry, {block, statesOf(recipe, block)});
    std::get<Strings>(entry->value).push_back(activations);
  }
  if (table.entries.empty())
    return others;
  if (!hasUnits)
    table.entries.push_back({"*", others});
  std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
  return table;
}

} // namespace sluice
