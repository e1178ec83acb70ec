//===- UnitPlan.h - the unit of each parameter -----------------------------------------===//
//
// A unit is a set of parameters that are gathered and reduced together; parameters of no unit belong to `root`. By
// blocks, a parameter belongs to the outermost block with all its uses, and one without uses to the outermost block
// whose path is a prefix of its name. By table, globs that match the parameter take precedence over globs that match a
// block around its uses, and an inner block over an outer one. By bytes, parameters are in order of first use.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_UNITPLAN_H
#define SLUICE_PASSES_SOLVER_UNITPLAN_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct UnitParameter {
  std::string name;
  /// The path of blocks around each use, as "h.0/attn"; empty for a use outside blocks.
  std::vector<std::string> uses;
  std::vector<std::string> aliases = {};
  std::uint64_t bytes = 0;
  /// Position of the first op that uses it.
  std::size_t firstUse = ~std::size_t(0);
};

struct UnitRequest {
  enum class Kind : std::uint8_t { root, blocks, bytes, table } kind = Kind::blocks;
  std::uint64_t bytes = 0;
  /// From the name of a unit to globs over blocks and parameters.
  std::vector<std::pair<std::string, std::vector<std::string>>> table = {};
  std::function<bool(const std::string &glob, const std::string &name)> matches = {};
};

struct UnitPlan {
  /// The index of the root.
  static constexpr std::size_t root = 0;
  /// Names, `root` first, then in the order of their first op.
  std::vector<std::string> units;
  /// For each parameter the index of its unit.
  std::vector<std::size_t> unitOf;
  /// For each unit the paths of the blocks whose ops belong to it; empty for `root`.
  std::vector<std::vector<std::string>> blocks;
  /// An error of the table; empty: none.
  std::string error;
};

/// `blocks`: paths of all blocks, each after those around it, in the order of their first op, whose positions are in
/// `firstOps`.
UnitPlan planUnits(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks,
                   const std::vector<std::size_t> &firstOps, const UnitRequest &request);

/// Moves these parameters from units that have other parameters too into a new unit after it, with the unit's name and
/// `suffix`, which has no blocks.
void separateUnits(UnitPlan &plan, const std::vector<bool> &isSeparated, const std::string &suffix);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_UNITPLAN_H
