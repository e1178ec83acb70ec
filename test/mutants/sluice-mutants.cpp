//===- sluice-mutants.cpp - tries wrong copies of a plan ---------------------------------===//
//
// Usage: sluice-mutants PLAN MUTANTS [--fields] [--only NAME] [--seed S] [--survivors FOLDER] [--json]
// Counts, by kind or by field of the schema, the mutants that the checker refuses, and executes the others. The exit
// code is 1 if one survived.
//
//===----------------------------------------------------------------------===//
#include "test/mutants/Mutants.h"
#include "tools/CommandLine.h"

#include <CLI/CLI.hpp>

using namespace sluice;

int main(int argc, char **argv) {
  CLI::App app("Makes wrong copies of a plan, and executes those that the checker accepts.", "sluice-mutants");
  app.footer("exit codes: 0 done, 1 a mutant survived or a file cannot be read, 2 usage, 4 the plan is rejected");
  std::string path;
  MutantOptions options;
  app.add_option("PLAN", path, "a plan")->required();
  app.add_option("MUTANTS", options.mutants, "number of mutants")->required()->check(integerFrom(1));
  app.add_option("--seed", options.seed, "choice of the mutants")->check(integerFrom(0));
  app.add_flag("--fields", options.fields, "change the fields of the schema, each in turn");
  app.add_option("--only", options.only, "the only kind or field");
  app.add_option("--survivors", options.survivors, "a folder for the mutants that survive");
  app.add_flag("--json", options.json, "print only JSON");
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  Result<MutantTrial> trial = tryMutants(path, options, siblingProgram("sluice-steps"));
  return trial.isOk() ? finish(trial->text, {}, trial->hasSurvivor) : report(trial.status());
}
