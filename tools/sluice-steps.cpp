//===- sluice-steps.cpp - prints digests of a few steps of a plan ----------------------===//
//
// Usage: sluice-steps PLAN
// sluice-mutants starts it for the plan and for the mutants that the checker accepts
// (test/mutants/Mutants.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Reader.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"
#include "tools/steps/StepDigest.h"

#include "runtime/base/Message.h"

#include <CLI/CLI.hpp>

using namespace sluice;

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app(
      "Prints a digest of all numbers of three steps of each entry point of a plan: with overwritten dead bytes, and "
      "with each stream slow.",
      "sluice-steps");
  app.set_version_flag("--version", versionText("sluice-steps"));
  app.footer("exit codes: 0 done, 1 the file cannot be read, 2 usage, 4 the plan is rejected, 5 a rank failed");
  std::string path;
  app.add_option("FILE", path, "a plan for the CPU")->required();
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  Result<PlanFile> file = readCheckedPlan(path);
  return file.isOk() ? printDigests(file->plan) : report(file.status());
}
