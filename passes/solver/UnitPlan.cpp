//===- UnitPlan.cpp - the unit of each parameter ---------------------------------------===//

#include "passes/solver/UnitPlan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice {

namespace {

/// The name of the root in tables of units.
constexpr const char *rootName = "root";

std::string outermost(const std::string &path) { return path.substr(0, path.find('/')); }

bool isInside(const std::string &path, const std::string &block) {
  return path == block ||
         (path.size() > block.size() && path.compare(0, block.size(), block) == 0 && path[block.size()] == '/');
}

/// Names of a block: its path, the path with dots, and its last component.
std::vector<std::string> namesOf(const std::string &path) {
  std::string dotted = path;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  return {path, dotted, path.substr(path.rfind('/') + 1)};
}

bool beginsWithBlock(const std::string &parameter, const std::string &block) {
  return parameter.size() > block.size() && parameter.compare(0, block.size(), block) == 0 &&
         parameter[block.size()] == '.';
}

class Planner {
public:
  Planner(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks,
          const std::vector<std::size_t> &firstOps, const UnitRequest &request)
      : parameters(parameters), blocks(blocks), firstOps(firstOps), request(request) {}

  UnitPlan run() {
    owners.assign(parameters.size(), "");
    switch (request.kind) {
    case UnitRequest::Kind::root:
      break;
    case UnitRequest::Kind::blocks:
      byBlocks();
      break;
    case UnitRequest::Kind::bytes:
      byBytes();
      break;
    case UnitRequest::Kind::table:
      byTable();
      break;
    }
    return finish();
  }

private:
  struct Unit {
    std::vector<std::string> blocks;
    std::size_t first = ~std::size_t(0);
    std::size_t order = 0;
  };

  Unit &unit(const std::string &name) {
    auto [it, isNew] = units.try_emplace(name);
    if (isNew)
      it->second.order = units.size();
    return it->second;
  }

  void own(std::size_t parameter, const std::string &name) {
    owners[parameter] = name;
    if (!name.empty())
      unit(name).first = std::min(unit(name).first, parameters[parameter].firstUse);
  }

  void addBlock(const std::string &name, std::size_t block) {
    unit(name).blocks.push_back(blocks[block]);
    unit(name).first = std::min(unit(name).first, firstOps[block]);
  }

  void byBlocks() {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const UnitParameter &parameter = parameters[p];
      std::string block;
      if (!parameter.uses.empty()) {
        block = outermost(parameter.uses.front());
        for (const std::string &use : parameter.uses)
          if (outermost(use) != block)
            block.clear();
      } else {
        // The longest match, so that "h.1" does not match the parameters of "h.1.x".
        for (const std::string &other : blocks)
          if (other.find('/') == std::string::npos && beginsWithBlock(parameter.name, other) &&
              other.size() > block.size())
            block = other;
      }
      if (std::ranges::find(blocks, block) != blocks.end())
        own(p, block);
    }
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (units.count(blocks[b]))
        addBlock(blocks[b], b);
  }

  void byBytes() {
    std::vector<std::size_t> order(parameters.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, {}, [&](std::size_t p) { return parameters[p].firstUse; });
    std::uint64_t held = 0;
    std::size_t count = 0;
    for (std::size_t p : order) {
      // A parameter used in several blocks would stay gathered from the first to the last: it belongs to the root.
      const auto &uses = parameters[p].uses;
      auto isElsewhere = [&](const std::string &use) { return outermost(use) != outermost(uses.front()); };
      if (uses.empty() || std::ranges::any_of(uses, isElsewhere))
        continue;
      if (count == 0 || held + parameters[p].bytes > request.bytes) {
        ++count;
        held = 0;
      }
      held += parameters[p].bytes;
      own(p, "unit." + std::to_string(count - 1));
    }
  }

  bool matches(const std::string &glob, const std::vector<std::string> &names) const {
    return std::ranges::any_of(names, [&](const std::string &name) { return request.matches(glob, name); });
  }

  /// The unit whose list matches one of `names`, an exact name before a glob, or empty. Two units are an error.
  std::string named(const std::vector<std::string> &names, const std::string &owner) {
    for (bool exact : {true, false}) {
      std::string found;
      for (const auto &[name, globs] : request.table)
        for (const std::string &glob : globs) {
          bool isExact = std::ranges::find(names, glob) != names.end();
          if (exact ? !isExact : !matches(glob, names))
            continue;
          if (!found.empty() && found != name && error.empty())
            error = owner + " is in two units, '" + found + "' and '" + name + "'";
          found = name;
        }
      if (!found.empty())
        return found;
    }
    return "";
  }

  void byTable() {
    std::map<std::string, std::string> ofBlock;
    for (const auto &[name, globs] : request.table) {
      if (name != rootName)
        unit(name);
      for (const std::string &glob : globs) {
        bool used = std::ranges::any_of(parameters, [&](const UnitParameter &parameter) {
          return request.matches(glob, parameter.name) || matches(glob, parameter.aliases);
        });
        used = used ||
               std::ranges::any_of(blocks, [&](const std::string &block) { return matches(glob, namesOf(block)); });
        if (!used && error.empty())
          error = "glob '" + glob + "' of unit '" + name + "' matches no block or parameter";
      }
    }
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (std::string name = named(namesOf(blocks[b]), "block '" + blocks[b] + "'"); !name.empty()) {
        ofBlock[blocks[b]] = name;
        if (name != rootName)
          addBlock(name, b);
      }
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const UnitParameter &parameter = parameters[p];
      std::vector<std::string> names = {parameter.name};
      names.insert(names.end(), parameter.aliases.begin(), parameter.aliases.end());
      std::string name = named(names, "parameter '" + parameter.name + "'");
      if (name.empty())
        name = byUses(parameter, ofBlock);
      own(p, name == rootName ? "" : name);
    }
  }

  /// The unit of the innermost block in the table that is around all uses.
  std::string byUses(const UnitParameter &parameter, const std::map<std::string, std::string> &ofBlock) {
    std::vector<std::string> found;
    for (const std::string &use : parameter.uses) {
      std::string best, unit;
      for (const auto &[block, name] : ofBlock)
        if (isInside(use, block) && block.size() >= best.size())
          best = block, unit = name;
      if (std::ranges::find(found, unit) == found.end())
        found.push_back(unit);
    }
    if (parameter.uses.empty()) {
      std::string best, unit;
      for (const auto &[block, name] : ofBlock)
        for (const std::string &own : namesOf(block))
          if (beginsWithBlock(parameter.name, own) && own.size() > best.size())
            best = own, unit = name;
      return unit;
    }
    if (found.size() == 1)
      return found.front();
    // Shared with the root, it belongs to the root. Shared between others, it is an error.
    if (std::ranges::find(found, "") == found.end() && error.empty())
      error = "parameter '" + parameter.name + "' is used in two units, '" + found[0] + "' and '" + found[1] +
              "', and named by none";
    return "";
  }

  UnitPlan finish() {
    UnitPlan plan;
    plan.error = error;
    plan.units.push_back(rootName);
    plan.blocks.push_back({});
    std::vector<std::pair<std::string, const Unit *>> order;
    for (const auto &[name, unit] : units)
      order.push_back({name, &unit});
    std::ranges::stable_sort(order, {},
                             [](const auto &entry) { return std::pair(entry.second->first, entry.second->order); });
    std::map<std::string, std::size_t> index;
    for (const auto &[name, unit] : order) {
      index[name] = plan.units.size();
      plan.units.push_back(name);
      plan.blocks.push_back(unit->blocks);
    }
    for (const std::string &owner : owners)
      plan.unitOf.push_back(owner.empty() ? 0 : index[owner]);
    return plan;
  }

  const std::vector<UnitParameter> &parameters;
  const std::vector<std::string> &blocks;
  const std::vector<std::size_t> &firstOps;
  const UnitRequest &request;
  std::vector<std::string> owners;
  std::map<std::string, Unit> units;
  std::string error;
};

} // namespace

UnitPlan planUnits(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks,
                   const std::vector<std::size_t> &firstOps, const UnitRequest &request) {
  return Planner(parameters, blocks, firstOps, request).run();
}

void separateUnits(UnitPlan &plan, const std::vector<bool> &isSeparated, const std::string &suffix) {
  for (std::size_t unit = plan.units.size(); unit-- > 0;) {
    // The root exists even if all parameters are in blocks.
    bool others = unit == UnitPlan::root;
    std::vector<std::size_t> separated;
    for (std::size_t p = 0; p < plan.unitOf.size(); ++p)
      if (plan.unitOf[p] == unit && isSeparated[p])
        separated.push_back(p);
      else if (plan.unitOf[p] == unit)
        others = true;
    if (separated.empty() || !others)
      continue;
    for (std::size_t &other : plan.unitOf)
      other += other > unit;
    for (std::size_t p : separated)
      plan.unitOf[p] = unit + 1;
    const auto next = static_cast<std::ptrdiff_t>(unit + 1);
    plan.units.insert(plan.units.begin() + next, plan.units[unit] + suffix);
    plan.blocks.insert(plan.blocks.begin() + next, std::vector<std::string>());
  }
}

} // namespace sluice
