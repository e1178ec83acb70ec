//===- Subcommands.h - the subcommands of sluice-plan and their options ---------------------===//
#ifndef SLUICE_TOOLS_PLAN_SUBCOMMANDS_H
#define SLUICE_TOOLS_PLAN_SUBCOMMANDS_H

#include "runtime/report/commands/PlanCommand.h"

#include <functional>
#include <span>

namespace CLI {
class App;
}

namespace sluice {

struct Subcommand {
  const char *name, *help;
  /// Adds the options to the parser of the subcommand. The result runs the subcommand with the parsed values.
  std::function<PlanCommandResult()> (*addOptions)(CLI::App &parser);
};

/// In the order of the help.
std::span<const Subcommand> subcommands();

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_SUBCOMMANDS_H
