//===- Loops.h - windows of buffers as nested loops ----------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_LOOPS_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_LOOPS_H

#include "runtime/plan/check/proof/Indexing.h"

namespace sluice::check::proof {

/// `extent` elements of the buffer at distance `stride`, whose indices in the root are at distance `step`.
struct Loop {
  std::int64_t extent = 1, stride = 0, step = 0;
  bool operator==(const Loop &) const = default;
};

/// One past the last element, relative to the first.
std::int64_t spanOf(std::span<const Loop> loops);

/// Sorts and joins loops, but not across the end of a bound; false if inner loops are longer than a step of the outer
/// ones.
bool normalize(std::vector<Loop> &loops, std::span<const Bound> bounds = {});

/// True if the windows from the elements `a` and `b` on share no element; false if that is not known.
bool areDisjoint(std::int64_t a, const std::vector<Loop> &first, std::int64_t b, const std::vector<Loop> &second);

/// Facts leave out loops of one repetition. Adds one that `like` has, if that is all that is missing.
void completeLoops(std::vector<Loop> &loops, const std::vector<Loop> &like);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_LOOPS_H
