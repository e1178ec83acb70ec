//===- PackingText.h - placement problems as text ------------------------------------------===//
//
// The text form of MiniMalloc (github.com/google/minimalloc): the header `id,lower,upper,size`, then a line for each
// buffer with its lifespan [lower, upper) and its bytes. A placement has a fifth column, `offset`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGTEXT_H
#define SLUICE_PASSES_SOLVER_PACKINGTEXT_H

#include "passes/solver/PackingProblem.h"
#include "runtime/base/Status.h"

#include <string_view>

namespace sluice {

/// Errors begin with `path` and the line.
Result<PackingProblem> parsePacking(std::string_view text, const std::string &path);

/// The problem with the offsets of the solution, in the order of its buffers.
std::string packingText(const PackingProblem &problem, const PackingSolution &solution);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGTEXT_H
