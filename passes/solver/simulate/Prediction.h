//===- Prediction.h - predicted time of the steps of a plan ---------------------------------------===//
//
// Simulates one rank: all ranks of a plan run the same instructions, so they reach each collective at the same time,
// and the result takes the same time for any number of ranks. Three runs of an entry point follow each other as in
// training: the host issues a run when the outputs of the one before are written. The last run is the prediction.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_SIMULATE_PREDICTION_H
#define SLUICE_PASSES_SOLVER_SIMULATE_PREDICTION_H

#include "passes/solver/simulate/CostModel.h"
#include "passes/solver/simulate/StreamSimulator.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// An issued instruction that does work.
struct PredictedInstruction {
  IssuedInstruction issued;
  /// Seconds from the begin of the run.
  double begin = 0, end = 0;
  /// Seconds that the instruction takes alone.
  double alone = 0;
};

struct PredictedCollective {
  /// Position in PredictedStep::instructions.
  std::size_t instruction = 0;
  double seconds = 0;
  /// Seconds in which the main stream waits for the collective or runs it.
  double exposed = 0;
  /// The instruction that waits, and the reason; empty if none does.
  std::string because;
};

struct PredictedStep {
  std::string entry;
  /// A lower bound if rates are unknown.
  double seconds = 0;
  bool isComplete = true;
  /// Tokens of all ranks in a step; 0 for models without tokens.
  std::uint64_t tokens = 0;
  /// Of one rank, without recomputation (entryFlops), and its peak (rankPeakFlops) for the type of most of them.
  std::uint64_t flops = 0;
  std::optional<double> peakFlops;
  DType productType = DType::f32;
  /// The stream whose kernels work longest; its seconds of work, and of waits for collectives and for other work.
  std::uint32_t mainStream = 0;
  double work = 0, exposed = 0, otherWaits = 0;
  std::vector<PredictedInstruction> instructions;
  std::vector<PredictedCollective> collectives;
  /// Rates that the machine file does not have, and rates that are used for other kernels or types; with numbers of
  /// instructions.
  std::map<std::string, std::uint64_t> unknown, assumptions;

  /// tokens, FLOPs and peak by the seconds of a step; nullopt if the step is not complete.
  std::optional<double> tokensPerSecond() const;
  std::optional<double> mfu() const;
};

/// The plan was checked. Refused: a plan without costs, with more instructions than reports list, or for another device
/// or more ranks than the machine has.
Result<PredictedStep> predictStep(const plan::PlanT &plan, const Machine &machine, std::uint32_t entry);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_SIMULATE_PREDICTION_H
