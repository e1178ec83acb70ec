//===- sluice-plan.cpp - looks at plans ---------------------------------------------===//
//
// Usage: sluice-plan describe|print|check|memory|schedule|diff FILE... [--json]
//        sluice-plan memory FILE --machine MACHINE
// Prints to stdout, errors to stderr; the exit codes are those of StatusCode. What each command says is made in
// runtime/plan.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/plan/Commands.h"
#include "tools/CommandLine.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <unistd.h>

using namespace sluice;

int main(int argc, char **argv) {
  CLI::App app("Looks at a plan: contents, checks, memory, schedule.", "sluice-plan");
  app.set_version_flag("--version", versionText("sluice-plan"));
  app.footer("exit codes: 0 done, 1 a file cannot be read (diff: the plans differ), 2 usage, 4 a plan is rejected");
  app.require_subcommand(1);
  PlanCommand command;
  command.isTerminal = isatty(STDOUT_FILENO) == 1;
  std::string names;
  bool isKnown = argc < 2 || argv[1][0] == '-';
  for (const PlanSubcommand &row : planSubcommands()) {
    CLI::App *subcommand = app.add_subcommand(row.name, row.help);
    subcommand->add_option("FILE", command.files, "a plan")->expected(row.minFiles, row.maxFiles)->required();
    subcommand->add_flag("--json", command.json, "print JSON and nothing else");
    if (std::string_view(row.name) == "memory")
      subcommand->add_option("--machine", command.machine, "a description of the device (tools/machines): memory of a rank's process on it");
    names += std::string(names.empty() ? "" : "|") + row.name;
    isKnown = isKnown || std::string_view(argv[1]) == row.name;
  }
  // CLI11 would only report that a subcommand is missing.
  if (!isKnown)
    return report({StatusCode::usage, "unknown subcommand '" + std::string(argv[1]) + "', expected " + names});
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  command.name = app.get_subcommands().front()->get_name();
  const PlanAnswer answer = runPlanCommand(command);
  std::fputs(answer.text.c_str(), stdout);
  if (!answer.status.isOk())
    return report(answer.status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return report(inputError("cannot write to standard output"));
  return answer.exitCode;
}
