//===- ScheduleChoice.cpp - units between micro-batches, and reductions in flight --------------===//
#include "passes/choose/Search.h"
#include "passes/solver/choose/PlanStages.h"

#include <algorithm>
#include <span>

namespace sluice {
namespace {

RecipeValue valueOf(ReshardAfterBackward mode) { return stringifyEnum(mode).str(); }

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
  if (!recipe.gradient.hasMicrobatches())
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

/// 'sharding.reshard_after_backward' with no unit that stays gathered.
RecipeValue neverGathered(const Recipe &recipe) {
  RecipeValue value = recipe.value(keys::reshardAfterBackward);
  auto *table = std::get_if<RecipeTable>(&value);
  if (!table)
    return valueOf(ReshardAfterBackward::always);
  for (RecipeTableEntry &entry : table->entries)
    if (entry.value == valueOf(ReshardAfterBackward::automatic))
      entry.value = valueOf(ReshardAfterBackward::always);
  return value;
}

/// The alternatives for a plan, which has the first of them.
using ListAlternatives = std::vector<ChosenValues> (*)(const PlanChoice &choice, const Recipe &recipe);

std::vector<ChosenValues> reduceBufferAlternatives(const PlanChoice &choice, const Recipe &) {
  std::int64_t reductions = 0;
  forEachCollective(
      choice.plan.file.plan, [&](const plan::InstructionT &instruction, const plan::CollectiveT &collective) {
        reductions += instruction.phase == plan::Phase::backward && collective.kind != plan::CollectiveKind::all_gather;
      });
  std::vector<ChosenValues> alternatives;
  for (std::int64_t number : comparedNumbers(1, std::min<std::int64_t>(reductions, 1024)))
    alternatives.push_back({{keys::reduceBuffers, number}});
  return alternatives;
}

std::vector<ChosenValues> afterBackwardAlternatives(const PlanChoice &choice, const Recipe &recipe) {
  const std::vector<std::string> units = keepableUnits(choice.plan.file.plan, recipe);
  std::vector<ChosenValues> alternatives;
  for (std::int64_t kept : comparedNumbers(0, static_cast<std::int64_t>(units.size()))) {
    RecipeTable backward = tableOf(neverGathered(recipe)),
                forward = tableOf(valueOf(choice.values, keys::reshardAfterForward, recipe));
    for (const std::string &unit : std::span(units).first(static_cast<std::size_t>(kept))) {
      setEntry(backward, unit, valueOf(ReshardAfterBackward::last));
      setEntry(forward, unit, false);
    }
    alternatives.push_back(
        {{keys::reshardAfterBackward, std::move(backward)}, {keys::reshardAfterForward, std::move(forward)}});
  }
  return alternatives;
}

/// The alternatives of a list after its first.
auto inOrder(ListAlternatives list, const Recipe &recipe) {
  return [list, &recipe, alternatives = std::vector<ChosenValues>(),
          index = std::size_t(0)](const Progress &progress) mutable -> Result<std::optional<Decided>> {
    if (index++ == 0)
      alternatives = list(progress.best, recipe);
    if (index >= alternatives.size())
      return std::optional<Decided>();
    return std::optional(withValues(progress.before, alternatives[index]));
  };
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

Choice chooseAfterBackward(const Recipe &recipe, const Machine *) {
  return {.key = keys::reshardAfterBackward,
          .first = {{keys::reshardAfterBackward, neverGathered(recipe)}},
          .next = inOrder(afterBackwardAlternatives, recipe),
          .price = Price::timeAndMemory,
          .isListed = true};
}

Choice chooseReduceBuffers(const Recipe &recipe, const Machine *) {
  return {.key = keys::reduceBuffers,
          .first = {{keys::reduceBuffers, std::int64_t(1)}},
          .next = inOrder(reduceBufferAlternatives, recipe),
          .from = "partition",
          .isListed = true};
}

} // namespace sluice
