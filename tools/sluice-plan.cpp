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
  CommandLine line("Looks at a plan: what it holds, whether it is sound, what memory it needs, when what runs.", "sluice-plan");
  line.version(versionText("sluice-plan"));
  line.footer("exit codes: 0 done, 1 a file cannot be read (diff: the plans differ), 2 usage, 4 a plan is refused");
  PlanCommand command;
  command.isTerminal = isatty(STDOUT_FILENO) == 1;
  std::vector<CommandLine *> subcommands;
  for (const PlanSubcommand &row : planSubcommands()) {
    CommandLine &subcommand = line.subcommand(row.name, row.help);
    subcommand.option("FILE", command.files, "a plan").expected(row.minFiles, row.maxFiles).required();
    subcommand.flag("--json", command.json, "print JSON and nothing else");
    if (std::string_view(row.name) == "memory")
      subcommand.option("--machine", command.machine, "a description of the device (tools/machines): what a rank's process takes of it");
    subcommands.push_back(&subcommand);
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
  Result<std::optional<int>> parsed = line.parse(argc, argv);
  if (!parsed.isOk())
    return report(parsed.status());
  if (*parsed)
    return **parsed;
  for (std::size_t i = 0; i < subcommands.size(); ++i)
    if (subcommands[i]->isChosen())
      command.name = planSubcommands()[i].name;
  const PlanAnswer answer = runPlanCommand(command);
  std::fputs(answer.text.c_str(), stdout);
  if (!answer.status.isOk())
    return report(answer.status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return report(inputError("cannot write to standard output"));
  return answer.exitCode;
}
