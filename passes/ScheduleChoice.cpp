//===- ScheduleChoice.cpp - values of schedule settings that are compared --------------------===//
#include "passes/ScheduleChoice.h"

#include "passes/solver/choose/PlanStages.h"

#include <algorithm>
#include <span>

namespace sluice {
namespace {

const RecipeValue automatic = stringifyEnum(ReshardAfterBackward::automatic).str(),
                  always = stringifyEnum(ReshardAfterBackward::always).str(),
                  last = stringifyEnum(ReshardAfterBackward::last).str();

/// Calls `visit` for each collective of a unit in the training step of the plan.
template <typename Visit> void forEachCollective(const plan::PlanT &plan, Visit &&visit) {
  if (const std::optional<std::uint32_t> entry = trainedEntry(plan))
    forEachInstruction(*plan.entries[*entry], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      if (const auto *collective = instruction.operation.AsCollective(); collective && instruction.unit >= 0)
        visit(instruction, *collective);
    });
}

/// The table of a value by unit; that of a value for all units has the entry `*`.
RecipeTable tableOf(const RecipeValue &value) {
  if (const auto *table = std::get_if<RecipeTable>(&value))
    return *table;
  return {{{"*", value}}};
}

void setEntry(RecipeTable &table, const std::string &name, RecipeValue value) {
  std::erase_if(table.entries, [&](const RecipeTableEntry &entry) { return entry.name == name; });
  table.entries.push_back({name, std::move(value)});
  std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
}

/// Units of gathers in the order of the forward that may stay gathered.
std::vector<std::string> keepableUnits(const plan::PlanT &plan, const Recipe &recipe) {
  std::vector<std::string> units;
  if (recipe.gradient.microbatches == 1)
    return units;
  forEachCollective(plan, [&](const plan::InstructionT &instruction, const plan::CollectiveT &collective) {
    const std::string &unit = plan.units[static_cast<std::size_t>(instruction.unit)]->name;
    const Recipe::Sharding::Reshard &forward = recipe.sharding.reshardAfterForward.at(unit);
    const bool isFree = std::holds_alternative<ReshardRule>(forward) || forward == Recipe::Sharding::Reshard(false);
    if (instruction.phase == plan::Phase::forward && collective.kind == plan::CollectiveKind::all_gather && isFree &&
        recipe.sharding.reshardAfterBackward.at(unit) == ReshardAfterBackward::automatic &&
        std::ranges::find(units, unit) == units.end())
      units.push_back(unit);
  });
  return units;
}

ChosenValues replaceValues(ChosenValues values, const ChosenValues &changes) {
  for (const auto &[key, value] : changes) {
    std::erase_if(values, [&](const auto &other) { return other.first == key; });
    values.emplace_back(key, value);
  }
  return values;
}

} // namespace

std::vector<std::int64_t> comparedNumbers(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t mostInSteps = 8;
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = first; number < last; number = number < mostInSteps ? number + 1 : 2 * number)
    numbers.push_back(number);
  numbers.push_back(std::max(first, last));
  return numbers;
}

std::vector<ChosenValues> reduceBufferAlternatives(const plan::PlanT &plan) {
  std::int64_t reductions = 0;
  forEachCollective(plan, [&](const plan::InstructionT &instruction, const plan::CollectiveT &collective) {
    reductions += instruction.phase == plan::Phase::backward && collective.kind != plan::CollectiveKind::all_gather;
  });
  std::vector<ChosenValues> alternatives;
  for (std::int64_t number : comparedNumbers(1, std::min<std::int64_t>(reductions, 1024)))
    alternatives.push_back({{reduceBuffersKey, number}});
  return alternatives;
}

std::vector<ChosenValues> afterBackwardAlternatives(const plan::PlanT &plan, const Recipe &recipe,
                                                    const RecipeValue &reshard) {
  RecipeValue base = recipe.value(afterBackwardKey);
  if (auto *table = std::get_if<RecipeTable>(&base))
    for (RecipeTableEntry &entry : table->entries)
      entry.value = entry.value == automatic ? always : entry.value;
  else
    base = always;
  const std::vector<std::string> units = keepableUnits(plan, recipe);
  std::vector<ChosenValues> alternatives;
  for (std::int64_t kept : comparedNumbers(0, static_cast<std::int64_t>(units.size()))) {
    if (kept == 0) {
      alternatives.push_back({{afterBackwardKey, base}});
      continue;
    }
    RecipeTable backward = tableOf(base), forward = tableOf(reshard);
    for (const std::string &unit : std::span(units).first(static_cast<std::size_t>(kept))) {
      setEntry(backward, unit, last);
      setEntry(forward, unit, false);
    }
    alternatives.push_back({{afterBackwardKey, std::move(backward)}, {afterForwardKey, std::move(forward)}});
  }
  return alternatives;
}

Status compareSetting(mlir::ModuleOp from, const char *key, const std::vector<ChosenValues> &alternatives,
                      bool isPriced, PlanComparison &comparison, PlanChoice &choice) {
  const ChosenValues common = choice.values;
  ComparedSetting setting{key, {}, 0};
  const auto add = [&](std::size_t index, const PlanChoice &compared) {
    setting.plans.push_back(
        {alternatives[index].front().second, compared.plan.liveBytes, *compared.seconds, compared.isFeasible});
  };
  add(0, choice);
  for (std::size_t index = 1; index < alternatives.size(); ++index) {
    PlanChoice compared;
    compared.values = replaceValues(common, alternatives[index]);
    SLUICE_ASSIGN_OR_RETURN(compared.plan, comparison.compileCompared(from, compared.values));
    SLUICE_RETURN_IF_ERROR(comparison.judge(compared));
    add(index, compared);
    if (!isBetter(compared, choice) || (isPriced && !comparison.isWorthItsMemory(compared, choice)))
      continue;
    setting.chosen = index;
    compared.budget = std::move(choice.budget);
    compared.prefetch = std::move(choice.prefetch);
    compared.compared = std::move(choice.compared);
    choice = std::move(compared);
  }
  if (!comparison.hasBudget() && setting.chosen > 0) {
    SLUICE_ASSIGN_OR_RETURN(choice.plan, comparison.compile(from, choice.values));
  }
  choice.compared.push_back(std::move(setting));
  return Status::ok();
}

} // namespace sluice
