//===- UnitPlan.h - which unit each parameter belongs to -------------------------------===//
//
// A unit is a set of parameters that are gathered and reduced together; what no unit takes belongs to `root`. By blocks, a
// parameter belongs to the outermost block that holds all its uses, and one without uses goes by its name: to the
// outermost block whose path its name begins with. By table, what names the parameter goes before what names a block
// around its uses, and an inner block before an outer one. By bytes, parameters are taken in order of first use.
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
  /// Place of the first op that uses it.
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
  /// Names, `root` first, then in the order of their first op.
  std::vector<std::string> units;
  /// For each parameter the index of its unit.
  std::vector<std::size_t> unitOf;
  /// For each unit the blocks whose ops are its own, by path; empty for `root`.
  std::vector<std::vector<std::string>> blocks;
  /// What is wrong with the table: "<what>, expected <x> but got <y>".
  std::string error;
};

/// `blocks`: paths of all blocks, each behind those around it, in the order of their first op, whose places are in
/// `firstOps`.
UnitPlan planUnits(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks,
                   const std::vector<std::size_t> &firstOps, const UnitRequest &request);

/// Takes those parameters out of units that have others as well: into one behind, of the unit's name and `suffix`, which has
/// no blocks.
void setApart(UnitPlan &plan, const std::vector<bool> &isApart, const std::string &suffix);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_UNITPLAN_H
