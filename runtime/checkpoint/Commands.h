//===- Commands.h - the subcommands of sluice-checkpoint -------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_COMMANDS_H
#define SLUICE_RUNTIME_CHECKPOINT_COMMANDS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct CheckpointSubcommand {
  const char *name;
  const char *help;
  /// Names of the positional arguments, in capitals.
  std::vector<const char *> arguments;
};
std::span<const CheckpointSubcommand> checkpointSubcommands();

struct CheckpointCommand {
  std::string name;
  std::vector<std::string> paths;
  bool json = false;
  /// For `convert`.
  std::uint64_t shards = 1;
  /// For `export`; empty: as in the checkpoint.
  std::string dtype = {};
  std::uint64_t shardBytes = 5'000'000'000;
};

struct CheckpointCommandResult {
  /// For standard output, also if the status is not ok.
  std::string text;
  Status status;
  /// If the status is ok: 0, or 1 if `diff` found a difference.
  int exitCode = 0;
};
CheckpointCommandResult runCheckpointCommand(const CheckpointCommand &command);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_COMMANDS_H
