//===- sluice-checkpoint.cpp - lists, verifies and converts training checkpoints ---------===//
//
// Usage: sluice-checkpoint list|show|verify FOLDER [--json]
//        sluice-checkpoint diff CHECKPOINT OTHER [--json]
//        sluice-checkpoint convert CHECKPOINT OUT [--shards N]
//        sluice-checkpoint export CHECKPOINT OUT [--dtype DTYPE] [--shard-size BYTES]
// Prints to stdout, errors to stderr; the exit codes are those of StatusCode. The subcommands are in
// runtime/checkpoint.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/checkpoint/Commands.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"

#include <CLI/CLI.hpp>

using namespace sluice;

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app("Lists, verifies and converts training checkpoints.", "sluice-checkpoint");
  app.set_version_flag("--version", versionText("sluice-checkpoint"));
  app.footer("exit codes: 0 done, 1 a file cannot be read or written (diff: the checkpoints differ), 2 usage, 4 a "
             "checkpoint is damaged");
  app.require_subcommand(1);
  CheckpointCommand command;
  command.paths.resize(2);
  std::string names;
  bool isKnown = argc < 2 || argv[1][0] == '-';
  for (const CheckpointSubcommand &row : checkpointSubcommands()) {
    CLI::App *subcommand = app.add_subcommand(row.name, row.help);
    for (std::size_t i = 0; i < row.arguments.size(); ++i)
      subcommand->add_option(row.arguments[i], command.paths[i])->required()->check(nonEmptyPath());
    const std::string name = row.name;
    names += (names.empty() ? "" : "|") + name;
    isKnown = isKnown || argv[1] == name;
    if (name == "convert")
      subcommand->add_option("--shards", command.shards, "number of shards")
          ->check(integerFrom(1))
          ->capture_default_str();
    else if (name == "export") {
      subcommand->add_option("--dtype", command.dtype, "dtype of the weights (default: as in the checkpoint)")
          ->check(CLI::IsMember({"f32", "bf16", "f16", "f64"}));
      subcommand->add_option("--shard-size", command.shardBytes, "most bytes of tensors in a file")
          ->check(integerFrom(1))
          ->capture_default_str();
    } else {
      subcommand->add_flag("--json", command.json, "print only JSON");
    }
  }
  // CLI11 reports an unknown subcommand as a missing one.
  if (!isKnown)
    return report({StatusCode::usage, "unknown subcommand '" + std::string(argv[1]) + "', expected " + names});
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  command.name = app.get_subcommands().front()->get_name();
  const CheckpointCommandResult result = runCheckpointCommand(command);
  return finish(result.text, result.status, result.exitCode);
}
