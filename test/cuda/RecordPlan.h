//===- RecordPlan.h - a plan through the executor, recorded and compared -----------------===//
//
// Nothing is executed: the ranks of a plan are threads with an executor each, and an NCCL that only records. Every
// entry point is run three times (issued; captured; replayed) and every call is compared with the plan (PlanCalls.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_RECORDPLAN_H
#define SLUICE_TEST_CUDA_RECORDPLAN_H

#include "test/cuda/PlanCalls.h"

namespace sluice::test {

/// "" or the first error of any rank. `counts` are rank 0's.
std::string recordPlan(const plan::PlanT &plan, CallCounts &counts);

/// Makes changes to the calls of rank 0, one at a time; returns the result of the comparison for each.
std::vector<std::string> spoilPlan(const plan::PlanT &plan);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_RECORDPLAN_H
