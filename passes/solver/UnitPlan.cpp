//===- UnitPlan.cpp - which unit each parameter belongs to -----------------------------===//

#include "passes/solver/UnitPlan.h"

#include <algorithm>

namespace sluice {

namespace {

/// The block that a parameter belongs to; empty for the root.
std::string blockOf(const UnitParameter &parameter, const std::vector<std::string> &blocks) {
  if (!parameter.blocks.empty()) {
    const std::string &first = parameter.blocks.front();
    bool same = std::all_of(parameter.blocks.begin(), parameter.blocks.end(),
                            [&](const std::string &block) { return block == first; });
    return same ? first : std::string();
  }
  // The longest of the names, so that "h.1" does not take what is "h.1.x"'s.
  std::string best;
  for (const std::string &block : blocks)
    if (parameter.name.size() > block.size() && parameter.name.compare(0, block.size(), block) == 0 &&
        parameter.name[block.size()] == '.' && block.size() > best.size())
      best = block;
  return best;
}

} // namespace

UnitPlan planUnits(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks, bool byBlock) {
  std::vector<std::string> owners;
  for (const UnitParameter &parameter : parameters)
    owners.push_back(byBlock ? blockOf(parameter, blocks) : std::string());

  UnitPlan plan;
  plan.units.push_back("root");
  for (const std::string &block : blocks)
    if (!block.empty() && std::find(owners.begin(), owners.end(), block) != owners.end())
      plan.units.push_back(block);
  for (const std::string &owner : owners) {
    auto unit = owner.empty() ? plan.units.begin() : std::find(plan.units.begin(), plan.units.end(), owner);
    // A use in a block that is not among the blocks: nobody's, so the root's.
    plan.unitOf.push_back(unit == plan.units.end() ? 0 : static_cast<std::size_t>(unit - plan.units.begin()));
  }
  return plan;
}

} // namespace sluice
