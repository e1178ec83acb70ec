//===- PlanCommand.h - the subcommands of sluice-plan that print a plan -----------------===//
//
// Each takes files or a plan and gives text and an exit code. The C interface has the same reports.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_COMMANDS_PLANCOMMAND_H
#define SLUICE_RUNTIME_REPORT_COMMANDS_PLANCOMMAND_H

#include "runtime/plan/Plan.h"

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
  /// Of the account of FSDP2: the model computes the loss (Fsdp2Options).
  bool hasLossInModel = false;
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
/// The same for a plan that was read, which is checked here; all but `diff`. `files` is not read.
PlanCommandResult runPlanCommand(const plan::PlanT &plan, const PlanCommand &command);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_COMMANDS_PLANCOMMAND_H
