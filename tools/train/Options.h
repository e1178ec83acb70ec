//===- Options.h - the command line of sluice-train ---------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_OPTIONS_H
#define SLUICE_TOOLS_TRAIN_OPTIONS_H

#include "runtime/checkpoint/RunCheckpoints.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/train/Generate.h"
#include "runtime/train/Trainer.h"
#include "tools/train/Config.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct TrainCommand {
  std::string plan;
  std::string trace;
  /// Empty: the one beside the initial weights, if there is text.
  std::string tokenizer;
  /// The local time of strftime_now() in chat templates, "2026-11-29T12:00:00"; empty: that of the start.
  std::string now;
  /// A description of the device, for the utilization; empty: not printed.
  std::string machine;
  /// Prints what the run has opened, before the first step.
  bool verbose = false;
  /// A file with one prompt a line; empty: generate.prompt.
  std::string prompts;
  /// All options that --config can set.
  std::vector<OptionValue> options;
  bool quiet = false;
  /// See ConsoleOptions.
  std::uint64_t logEvery = 0;
  RanksOptions ranks;
  TrainOptions train;
  GenerateOptions generate;
  LaunchOptions launch;
  CheckpointOptions checkpoint;
};

/// As parseCommandLine: nullopt if `command` is complete, else the exit code.
std::optional<int> readTrainCommand(int argc, char **argv, TrainCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_OPTIONS_H
