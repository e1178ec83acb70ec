//===- RunAlone.h - an executor in a world of one rank -----------------------------===//
#ifndef SLUICE_TEST_UNIT_EXECUTOR_RUNALONE_H
#define SLUICE_TEST_UNIT_EXECUTOR_RUNALONE_H

#include "runtime/executor/Executor.h"
#include "test/unit/PlanBuilder.h"

namespace sluice::test {

inline Result<std::unique_ptr<Executor>> runAlone(const plan::PlanT &plan, const ExecutorOptions &options = {}) {
  return Executor::create(plan, createLocalWorld(1), 0, options);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EXECUTOR_RUNALONE_H
