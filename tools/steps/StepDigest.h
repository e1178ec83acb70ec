//===- StepDigest.h - all numbers of a few steps of a plan, as a digest ----------------===//
//
// Two plans compute the same if they have the same digest: the learning-rate schedule, initial weights, every output of
// every step, and every parameter, optimizer state and variable after the last one, on each rank, at the position in
// the global tensor that the plan declares. The data are random, and the weights differ from each other: the initial
// values of most plans contain constants, which hide an exchange.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_STEPS_STEPDIGEST_H
#define SLUICE_TOOLS_STEPS_STEPDIGEST_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <string>

namespace sluice {

struct StepDigestOptions {
  /// Bytes are overwritten when their lifespan ends (runtime/executor/Poison.h); then instructions run one at a time.
  bool poison = false;
  /// Each command of this stream (index in Plan.streams) begins late, on all ranks, so that an access that is not
  /// ordered after it is early. Steps overlap as in training.
  std::optional<std::uint32_t> slowStream = {};
};

/// Initializes, then runs three steps of each entry point, with all ranks as threads of this process, on the CPU. The
/// result is one line: the digest of all values, the digest of the names, sizes and positions of all tensors, then for
/// each tensor a weighted sum of its elements and the sum of their magnitudes. The sums differ little if only the order
/// of additions differs. The plan is not checked: a wrong one may do anything to this process.
Result<std::string> digestSteps(const plan::PlanT &plan, const StepDigestOptions &options);

/// Writes the lines of digestSteps() to stdout, each after a word: `poisoned`, then `slow-N` for stream N, which is
/// slow. Returns an exit code.
int printDigests(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_TOOLS_STEPS_STEPDIGEST_H
