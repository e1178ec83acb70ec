//===- Exposure.h - the collectives that the kernels of a step wait for ---------------------------===//
#ifndef SLUICE_PASSES_SOLVER_SIMULATE_EXPOSURE_H
#define SLUICE_PASSES_SOLVER_SIMULATE_EXPOSURE_H

#include "passes/solver/simulate/Prediction.h"

namespace sluice {

/// Fills the main stream, the instructions and the collectives of `result` from the last of the runs. `issued` is
/// parallel to the step's tasks.
void describeRun(const plan::PlanT &plan, const SimulatedStep &step, const std::vector<IssuedInstruction> &issued,
                 const std::vector<SimulatedRun> &runs, PredictedStep &result);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_SIMULATE_EXPOSURE_H
