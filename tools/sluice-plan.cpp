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

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <unistd.h>

using namespace sluice;

namespace {

int report(const Status &status) {
  std::fputs(messageText(status).c_str(), stderr);
  return int(status.code());
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Looks at a plan: what it holds, whether it is sound, what memory it needs, when what runs.", "sluice-plan");
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText("sluice-plan"));
  app.footer("exit codes: 0 done, 1 a file cannot be read (diff: the plans differ), 2 usage, 4 a plan is refused");
  PlanCommand command;
  command.isTerminal = isatty(STDOUT_FILENO) == 1;
  for (const PlanSubcommand &row : planSubcommands()) {
    CLI::App *subcommand = app.add_subcommand(row.name, row.help);
    subcommand->add_option("FILE", command.files, "a plan")->expected(row.minFiles, row.maxFiles)->required();
    subcommand->add_flag("--json", command.json, "print JSON and nothing else");
    if (std::string_view(row.name) == "memory")
      subcommand->add_option("--machine", command.machine, "a description of the device (tools/machines): what a rank's process takes of it");
    subcommand->callback([&command, &row] { command.name = row.name; });
  }
  // CLI11 would only say that a subcommand is missing.
  std::string names;
  bool known = argc < 2 || argv[1][0] == '-';
  for (const PlanSubcommand &row : planSubcommands()) {
    names += std::string(names.empty() ? "" : "|") + row.name;
    known = known || std::string(argv[1]) == row.name;
  }
  if (!known)
    return report(Status(StatusCode::usage, "unknown subcommand '" + std::string(argv[1]) + "', expected " + names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    return app.exit(done);
  } catch (const CLI::ParseError &error) {
    return report(usageError(error.what()));
  }
  const PlanAnswer answer = runPlanCommand(command);
  std::fputs(answer.text.c_str(), stdout);
  if (!answer.status.isOk())
    return report(answer.status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return report(inputError("cannot write to standard output"));
  return answer.exitCode;
}
