//===- sluice-plan.cpp - looks at plans ---------------------------------------------===//
//
// Usage: sluice-plan describe|print|check|memory|schedule|diff FILE... [--json]
// Prints to stdout, errors to stderr; the exit codes are those of StatusCode. What each command says is made in
// runtime/plan.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Commands.h"

#include <CLI/CLI.hpp>

#include <cctype>
#include <cstdio>
#include <string>
#include <unistd.h>

using namespace sluice;

namespace {

int report(const Status &status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  for (const std::string &note : status.notes())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  return int(status.code());
}

/// CLI11's sentences in the form of our diagnostics.
std::string usageText(std::string text) {
  // Names of options keep their capitals.
  if (text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1])))
    text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
    text.pop_back();
  return text;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Looks at a plan: what it holds, whether it is sound, what memory it needs, when what runs.", "sluice-plan");
  app.require_subcommand(1);
  app.footer("exit codes: 0 done, 1 a file cannot be read (diff: the plans differ), 2 usage, 4 a plan is refused");
  PlanCommand command;
  command.isTerminal = isatty(STDOUT_FILENO) == 1;
  for (const PlanSubcommand &row : planSubcommands()) {
    CLI::App *subcommand = app.add_subcommand(row.name, row.help);
    subcommand->add_option("FILE", command.files, "a plan")->expected(row.minFiles, row.maxFiles)->required();
    subcommand->add_flag("--json", command.json, "print JSON and nothing else");
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
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    return report(Status(StatusCode::usage, usageText(error.what())));
  }
  const PlanAnswer answer = runPlanCommand(command);
  std::fputs(answer.text.c_str(), stdout);
  if (!answer.status.isOk())
    return report(answer.status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return report(inputError("cannot write to standard output"));
  return answer.exitCode;
}
