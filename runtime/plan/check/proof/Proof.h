//===- Proof.h - P9, and the rest of P7: the plan computes the unsharded program ------------===//
//
// Each entry point is followed instruction by instruction in issue order, with the mesh coordinates and the number of
// the repetition as symbols. P2 to P4 and P11 are proved before: an instruction reads the bytes of the last write
// before it in issue order. Every buffer is related to values of the
// program (Contents.h). A launch must correspond to an op of the program on operands that hold the op's operands, or a
// shard of them by which the kernel may be divided (KernelRules.h); its outputs then hold the op's results. At the end,
// parameters, states and outputs must hold what the program writes and returns.
//
// The ids of values in launches only choose the op to compare with. A wrong id leads to a refusal, never to a proof.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_PROOF_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_PROOF_H

#include "runtime/plan/check/Check.h"

#include <string>

namespace sluice::check::proof {

/// Of one entry point. P1 to P6, P8 and P10 to P12 hold.
struct Result {
  Verdict refusal;
  /// Why the property is neither proved nor refused; empty if it is proved.
  std::string notProved;
  /// Launches and segments of collectives that were related to the program.
  std::uint64_t facts = 0;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_PROOF_H
