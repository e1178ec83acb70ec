//===- PackingChecker.h - verification of a packing ---------------------------------===//
//
// Decides by a sweep over time, without the solver's code or data structures.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGCHECKER_H
#define SLUICE_PASSES_SOLVER_PACKINGCHECKER_H

#include "passes/solver/PackingProblem.h"
#include "runtime/base/Status.h"

namespace sluice {

/// Ok where every buffer has an aligned offset, none reaches over the height, and no two that live at one instant share
/// a byte. Otherwise an error with the two buffers and the bytes.
Status checkPacking(const PackingProblem &problem, const PackingSolution &solution);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGCHECKER_H
