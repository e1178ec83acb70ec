//===- Commands.h - the subcommands of sluice-plan that print a plan --------------------===//
//
// Each takes files and gives text and an exit code, so that tests need no process.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_COMMANDS_H
#define SLUICE_TOOLS_PLAN_COMMANDS_H

#include "runtime/base/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct PlanCommand {
  std::string name;
  std::vector<std::string> files;
  bool json = false;
  /// Pictures use Unicode blocks on a terminal and ASCII elsewhere.
  bool isTerminal = false;
  /// For `memory`: a description of the device (MachineFile.h); empty: none.
  std::string machine = {};
  /// For `memory`: print only the live bytes at this instruction.
  std::optional<std::uint32_t> at = {};
  /// For `memory`: print only what this framework would hold; empty: none.
  std::string account = {};
  /// For `memory`: include what a run with --checkpoint needs.
  bool checkpoint = false;
};

struct PlanCommandResult {
  /// For standard output, also if the status is not ok.
  std::string text;
  Status status;
  /// If the status is ok: 0, or 1 if `diff` found a difference.
  int exitCode = 0;
};
PlanCommandResult runPlanCommand(const PlanCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_COMMANDS_H
