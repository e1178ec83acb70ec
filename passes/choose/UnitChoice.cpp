//===- UnitChoice.cpp - parameters before and after the blocks as units ----------------------===//
#include "dialect/model/Attributes.h"
#include "passes/choose/Choice.h"
#include "passes/recipe/ModelUnits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace mlir;

namespace sluice {
namespace {

struct Range {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = -1;
  void add(std::int64_t position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

/// The table of `sharding.units` in which each outermost block is a unit, the parameters that the forward reads only
/// before the first block are the unit `embedding`, and those that it reads only after the last block the unit `head`.
/// nullopt if that is one unit as with "block", or if a block has one of these names. The module is after the phase
/// `optimize`.
std::optional<RecipeTable> splitRootUnit(ModuleOp module) {
  Range blocks;
  std::map<std::string, Range> uses;
  std::int64_t position = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (model::entryOf(function) == EntryKind::train)
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!op->hasAttr(model::phaseName) || model::phaseOf(op) > Phase::loss || isa<model::ReadOp>(op))
          return;
        ++position;
        if (!model::blockOf(op).empty())
          blocks.add(position);
        for (Value operand : op->getOperands())
          if (auto read = operand.getDefiningOp<model::ReadOp>(); read && !read.getState())
            uses[read.getParameter().str()].add(position);
      });

  const ModelUnits units(module, Recipe::Sharding());
  RecipeTable table;
  Strings embedding, head;
  bool hasOthers = false;
  for (model::ParameterOp parameter : units.parameters()) {
    const std::string name = parameter.getSymName().str();
    if (units.ofParameter(name) != units.root())
      continue;
    const auto used = uses.find(name);
    if (used != uses.end() && used->second.last < blocks.first)
      embedding.push_back(name);
    else if (used != uses.end() && used->second.first > blocks.last)
      head.push_back(name);
    else
      hasOthers = true;
  }
  if (blocks.last < 0 || int(!embedding.empty()) + int(!head.empty()) + int(hasOthers) < 2)
    return std::nullopt;
  for (const std::string &unit : units.plan().units)
    if (unit != units.root())
      table.entries.push_back({unit, Strings{unit}});
  for (const auto &[name, members] : {std::pair("embedding", embedding), std::pair("head", head)}) {
    if (std::ranges::count(table.entries, name, &RecipeTableEntry::name))
      return std::nullopt;
    if (!members.empty())
      table.entries.push_back({name, members});
  }
  std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
  return table;
}

} // namespace

Choice chooseUnits(const Recipe &, const Machine *) {
  return {.key = keys::units,
          .first = {{keys::units, std::string("block")}},
          .next = [isTried = false](const Progress &progress) mutable -> Result<std::optional<Decided>> {
            std::optional<RecipeTable> split;
            if (!std::exchange(isTried, true))
              split = splitRootUnit(progress.from);
            return split ? std::optional(withValues(progress.before, {{keys::units, std::move(*split)}}))
                         : std::nullopt;
          },
          .isOuter = true};
}

} // namespace sluice
