//===- PlanRun.h - running a plan's entry points with random inputs ---------------------===//
#ifndef SLUICE_TEST_CUDA_PLANRUN_H
#define SLUICE_TEST_CUDA_PLANRUN_H

#include "runtime/executor/RankGroup.h"

#include <string>
#include <vector>

namespace sluice::test {

/// Makes it a plan for the device, "cpu" or "cuda": with its workspace caps, except for host instructions.
void retarget(plan::PlanT &plan, const std::string &device);

/// Random inputs of a step, the same for every executor of that rank.
void fillInputs(const plan::EntryT &entry, Executor &executor, int step);

/// The results of a run: outputs of each step, and the parameters.
struct Outcome {
  std::vector<std::vector<double>> values;
  std::vector<std::string> names;
};
/// Runs `init`, then so many steps of each other entry point, alternately.
Status runAll(const plan::PlanT &plan, RankGroup &group, int steps, Outcome &outcome);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_PLANRUN_H
