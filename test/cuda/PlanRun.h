//===- PlanRun.h - running a plan's entry points with made-up inputs --------------------===//
#ifndef SLUICE_TEST_CUDA_PLANRUN_H
#define SLUICE_TEST_CUDA_PLANRUN_H

#include "runtime/executor/RankGroup.h"

#include <string>
#include <vector>

namespace sluice::test {

/// A plan for a CPU as one for CUDA: workspace caps of that device, but for what the host runs.
void retarget(plan::PlanT &plan);

/// Random inputs of a step, the same for every executor of that rank.
void fillInputs(const plan::EntryT &entry, Executor &executor, int step);

/// Everything that a run left: outputs of each step, and the parameters.
struct Outcome {
  std::vector<std::vector<double>> values;
  std::vector<std::string> names;
};
/// Runs `init`, then so many steps of all other entry points in turn.
Status runAll(const plan::PlanT &plan, RankGroup &group, int steps, Outcome &outcome);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_PLANRUN_H
