//===- Witness.h - the text of a counterexample ------------------------------------===//
//
// Names issued instructions relative to the current one, and states which order between two of them is missing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_WITNESS_H
#define SLUICE_RUNTIME_PLAN_CHECK_WITNESS_H

#include "runtime/plan/check/Access.h"
#include "runtime/plan/check/StreamOrder.h"

namespace sluice::check {

class Witness {
public:
  /// Keeps references to its arguments.
  Witness(const plan::PlanT &plan, std::uint32_t entry, const Actions &actions, const StreamOrder &order)
      : plan(plan), e(entry), actions(actions), order(order) {}

  /// An instruction with its repetition, and its step if that is not the current one.
  std::string describe(Instance id) const;
  /// Refuses the current instruction.
  Verdict refuse(int property, const std::string &what, std::vector<std::string> notes = {}) const;
  /// The same for its access to bytes of a buffer that is not ordered after `first`.
  Verdict unordered(int property, const std::string &what, Instance first, std::uint32_t buffer, std::uint64_t begin,
                    std::uint64_t end) const;
  /// `other`: the stream that is not waited for; `after`: the instruction that a record should follow.
  std::string missingOrder(std::size_t other, const char *after) const;
  /// State of a gathered buffer, `before` if it was never gathered.
  std::vector<std::string> history(Instance gatheredBy, Instance releasedBy) const;
  std::vector<std::string> recordsOf(std::uint32_t event) const;

private:
  const plan::PlanT &plan;
  std::uint32_t e;
  const Actions &actions;
  const StreamOrder &order;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_WITNESS_H
