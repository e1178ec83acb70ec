//===- UnitPlan.h - which unit each parameter belongs to -------------------------------===//
//
// A unit is a set of parameters that are gathered and reduced together. A parameter belongs to the outermost block that
// holds all its uses; what no block holds belongs to `root`. One without uses goes by its name: to the outermost block
// whose path its name begins with.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_UNITPLAN_H
#define SLUICE_PASSES_SOLVER_UNITPLAN_H

#include <cstddef>
#include <string>
#include <vector>

namespace sluice {

struct UnitParameter {
  std::string name;
  /// The outermost block of each use; empty for a use outside blocks.
  std::vector<std::string> blocks;
};

struct UnitPlan {
  /// Names, `root` first, then the blocks that hold parameters, in the order given.
  std::vector<std::string> units;
  /// For each parameter the index of its unit.
  std::vector<std::size_t> unitOf;
};

/// `blocks`: outermost blocks in the order of their first op. With `byBlock` false all parameters belong to `root`.
UnitPlan planUnits(const std::vector<UnitParameter> &parameters, const std::vector<std::string> &blocks, bool byBlock);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_UNITPLAN_H
