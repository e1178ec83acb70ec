//===- sluice-plan.cpp - prints and checks plans ------------------------------------===//
//
// Usage: sluice-plan describe|print|check|memory|schedule|diff FILE... [--json]
//        sluice-plan check FILE --mutate N [--seed S]
//        sluice-plan memory FILE [--machine MACHINE | --at INSTRUCTION | --account fsdp1|fsdp2] [--checkpoint]
//        sluice-plan memory FILE --html PAGE [--machine MACHINE]
//        sluice-plan explain FILE [NAME] [--entry NAME] [--json]
//        sluice-plan simulate FILE --machine MACHINE [--entry NAME] [--trace TRACE] [--json]
//        sluice-plan compare FILE TRACE [--machine MACHINE] [--entry NAME] [--json]
//        sluice-plan calibrate -o MACHINE [--threads T,...] [--quick]
//        sluice-plan pack FILE --capacity BYTES -o OUT
// Prints to stdout, errors to stderr; the exit codes are those of StatusCode. The subcommands are in runtime/plan.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/plan/Commands.h"
#include "tools/CommandLine.h"
#include "tools/plan/Compare.h"
#include "tools/plan/Explain.h"
#include "tools/plan/MemoryPage.h"
#include "tools/plan/Mutants.h"
#include "tools/plan/Pack.h"
#include "tools/plan/Simulate.h"

#include <CLI/CLI.hpp>
#include <string>
#include <unistd.h>

using namespace sluice;

int main(int argc, char **argv) {
  CLI::App app("Prints, checks and compares plans.", "sluice-plan");
  app.set_version_flag("--version", versionText("sluice-plan"));
  app.footer("exit codes: 0 done, 1 a file cannot be read or written (diff: the plans differ; check --mutate: a mutant "
             "survived), 2 usage, 3 no placement (pack), 4 a plan is rejected");
  app.require_subcommand(1);
  PlanCommand command;
  command.isTerminal = isatty(STDOUT_FILENO) == 1;
  MemoryPageCommand page;
  std::uint64_t mutants = 0, seed = 0;
  std::string names;
  bool isKnown = argc < 2 || argv[1][0] == '-';
  for (const PlanSubcommand &row : planSubcommands()) {
    CLI::App *subcommand = app.add_subcommand(row.name, row.help);
    subcommand->add_option("FILE", command.files, "a plan")->expected(row.files)->required();
    subcommand->add_flag("--json", command.json, "print only JSON");
    if (std::string_view(row.name) == "check") {
      auto *mutate =
          subcommand
              ->add_option("--mutate", mutants,
                           "check this number of wrong copies of the plan, and execute those that are accepted")
              ->check(integerFrom(1));
      subcommand->add_option("--seed", seed, "choice of the wrong copies")->check(integerFrom(0))->needs(mutate);
    }
    if (std::string_view(row.name) == "memory") {
      auto *machine = subcommand->add_option(
          "--machine", command.machine, "a description of a device (tools/machines): memory of a rank's process on it");
      subcommand->add_option("--at", command.at, "print only the live bytes by class and by unit at this instruction")
          ->check(integerFrom(0))
          ->excludes(machine);
      subcommand
          ->add_option("--account", command.account,
                       "print only the live bytes that PyTorch FSDP1 or FSDP2 would hold for the same model and "
                       "recipe: fsdp1 or fsdp2")
          ->check([](const std::string &name) -> std::string {
            return name == "fsdp1" || name == "fsdp2" ? "" : "expected fsdp1 or fsdp2 but got '" + name + "'";
          })
          ->excludes("--machine")
          ->excludes("--at");
      subcommand
          ->add_flag("--checkpoint", command.checkpoint,
                     "include the host memory that a run with --checkpoint needs in addition")
          ->excludes("--at")
          ->excludes("--account");
      auto *html = subcommand->add_option(
          "--html", page.output,
          "write a page for a browser: memory, buffers, streams, with --machine predicted times");
      html->check(nonEmptyPath());
      for (const char *other : {"--json", "--at", "--account", "--checkpoint"})
        html->excludes(other);
    }
    names += std::string(names.empty() ? "" : "|") + row.name;
    isKnown = isKnown || std::string_view(argv[1]) == row.name;
  }
  PackCommand pack;
  CLI::App *packSubcommand = app.add_subcommand("pack", "places buffers with lifespans in an arena");
  packSubcommand->add_option("FILE", pack.input, "text with the columns id,lower,upper,size; lifespans are half-open")
      ->required();
  packSubcommand->add_option("--capacity", pack.capacity, "bytes of the arena")->required()->check(integerFrom(0));
  packSubcommand->add_option("-o", pack.output, "the same text with the column offset")
      ->required()
      ->check(nonEmptyPath());
  SimulateCommand simulate;
  CLI::App *simulateSubcommand = app.add_subcommand("simulate", "predicts the time of a step on a machine");
  simulateSubcommand->add_option("FILE", simulate.plan, "a plan")->required();
  simulateSubcommand->add_option("--machine", simulate.machine, "a description of the machine (tools/machines)")
      ->required()
      ->check(nonEmptyPath());
  simulateSubcommand->add_option("--trace", simulate.trace, "write a Chrome trace of the predicted step")
      ->check(nonEmptyPath());
  simulateSubcommand->add_option("--entry", simulate.entry, "the entry point")->capture_default_str();
  simulateSubcommand->add_flag("--json", simulate.json, "print only JSON");
  CompareCommand compare;
  CLI::App *compareSubcommand = app.add_subcommand("compare", "compares measured times of a trace with predicted ones");
  compareSubcommand->add_option("FILE", compare.plan, "a plan")->required();
  compareSubcommand->add_option("TRACE", compare.trace, "a trace of its steps, written by sluice-train --trace")
      ->required();
  compareSubcommand
      ->add_option("--machine", compare.machine,
                   "a description of the machine (default: only the measured times are listed)")
      ->check(nonEmptyPath());
  compareSubcommand->add_option("--entry", compare.entry, "the entry point")->capture_default_str();
  compareSubcommand->add_flag("--json", compare.json, "print only JSON");
  ExplainCommand explain;
  CLI::App *explainSubcommand =
      app.add_subcommand("explain", "buffers at the peak, activations by unit, gathered units, recompute regions");
  explainSubcommand->add_option("FILE", explain.plan, "a plan")->required();
  explainSubcommand->add_option("NAME", explain.name, "only this unit, parameter or buffer");
  explainSubcommand->add_option("--entry", explain.entry, "the entry point")->capture_default_str();
  explainSubcommand->add_flag("--json", explain.json, "print only JSON");
  app.add_subcommand("calibrate", "measures this machine's CPU, and writes a machine file");
  for (std::string_view name : {"explain", "pack", "simulate", "compare", "calibrate"}) {
    names += "|" + std::string(name);
    isKnown = isKnown || argv[1] == name;
  }
  // Kernels are not in this program.
  if (argc > 1 && std::string_view(argv[1]) == "calibrate") {
    const std::string program = siblingProgram("sluice-calibrate");
    execv(program.c_str(), argv + 1);
    return report(failedError("cannot start '" + program + "', which measures"));
  }
  // CLI11 reports an unknown subcommand as a missing one.
  if (!isKnown)
    return report({StatusCode::usage, "unknown subcommand '" + std::string(argv[1]) + "', expected " + names});
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  command.name = app.get_subcommands().front()->get_name();
  if (!page.output.empty()) {
    page.plan = command.files.front();
    page.machine = command.machine;
  }
  const PlanCommandResult result = packSubcommand->parsed()       ? runPack(pack)
                                   : simulateSubcommand->parsed() ? runSimulate(simulate)
                                   : compareSubcommand->parsed()  ? runCompare(compare)
                                   : explainSubcommand->parsed()  ? runExplain(explain)
                                   : !page.output.empty()         ? runMemoryPage(page)
                                   : mutants > 0                  ? runMutants(command, mutants, seed)
                                                                  : runPlanCommand(command);
  return finish(result.text, result.status, result.exitCode);
}
