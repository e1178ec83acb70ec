//===- sluice-plan.cpp - prints and checks plans ------------------------------------===//
//
// Usage: sluice-plan describe|print|check|memory|schedule|diff FILE... [--json]
//        sluice-plan memory FILE [--machine MACHINE | --at INSTRUCTION | --account fsdp1|fsdp2] [--checkpoint]
//        sluice-plan memory FILE --html PAGE [--machine MACHINE]
//        sluice-plan explain FILE [NAME] [--entry NAME] [--json]
//        sluice-plan simulate FILE --machine MACHINE [--entry NAME] [--trace TRACE] [--json]
//        sluice-plan compare FILE TRACE [--machine MACHINE] [--entry NAME] [--json]
//        sluice-plan calibrate -o MACHINE [--threads T,...] [--quick]
//        sluice-plan pack FILE --capacity BYTES -o OUT
// Prints to stdout, errors to stderr; the exit codes are those of StatusCode. tools/plan/Subcommands.cpp has the table.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"
#include "tools/plan/Subcommands.h"

#include <CLI/CLI.hpp>
#include <string>
#include <unistd.h>

using namespace sluice;

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app("Prints, checks and compares plans.", "sluice-plan");
  app.set_version_flag("--version", versionText("sluice-plan"));
  app.footer("exit codes: 0 done, 1 a file cannot be read or written (diff: the plans differ), 2 usage, 3 no placement "
             "(pack), 4 a plan is rejected");
  app.require_subcommand(1);
  const std::string first = argc > 1 ? argv[1] : "";
  bool isKnown = argc < 2 || first.starts_with("-");
  std::string names;
  std::function<PlanCommandResult()> run;
  for (const Subcommand &row : subcommands()) {
    CLI::App *parser = app.add_subcommand(row.name, row.help);
    parser->callback([&run, body = row.addOptions(*parser)] { run = body; });
    isKnown = isKnown || first == row.name;
    names += row.name + std::string("|");
  }
  app.add_subcommand("calibrate", "measures this machine's CPU, and writes a machine file");
  // Kernels are not in this program.
  if (first == "calibrate") {
    const std::string program = siblingProgram("sluice-calibrate");
    execv(program.c_str(), argv + 1);
    return report(failedError("cannot start '" + program + "', which measures"));
  }
  // CLI11 reports an unknown subcommand as a missing one.
  if (!isKnown)
    return report({StatusCode::usage, "unknown subcommand '" + first + "', expected " + names + "calibrate"});
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  const PlanCommandResult result = run();
  return finish(result.text, result.status, result.exitCode);
}
