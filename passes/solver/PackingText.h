//===- PackingText.h - packing problems and solutions as text -----------------------===//
//
// One line each: `alignment N`, `buffer NAME BYTES BEGIN END`, and with a solution ` OFFSET` after each and `height N`
// at the end. `#` begins a comment. For experiments and for tests with hard problems.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGTEXT_H
#define SLUICE_PASSES_SOLVER_PACKINGTEXT_H

#include "passes/solver/PackingProblem.h"
#include "runtime/base/Status.h"

#include <string_view>

namespace sluice {

/// `solution` may be null.
std::string packingText(const PackingProblem &problem, const PackingSolution *solution = nullptr);

/// Reads a problem; offsets and height, if there are any, go to `solution` where it is not null.
Result<PackingProblem> parsePacking(std::string_view text, PackingSolution *solution = nullptr);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGTEXT_H
