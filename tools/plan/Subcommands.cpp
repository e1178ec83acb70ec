//===- Subcommands.cpp - the subcommands of sluice-plan and their options -------------------===//
#include "tools/plan/Subcommands.h"

#include "tools/CommandLine.h"
#include "tools/plan/Compare.h"
#include "tools/plan/Pack.h"
#include "tools/plan/PredictedPage.h"
#include "tools/plan/Simulate.h"

#include "runtime/plan/Reader.h"
#include "runtime/report/Explain.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <unistd.h>

namespace sluice {
namespace {

using Run = std::function<PlanCommandResult()>;

/// Options common to the subcommands that only print one plan, or two.
std::shared_ptr<PlanCommand> addPlans(CLI::App &parser, int plans) {
  auto command = std::make_shared<PlanCommand>();
  command->name = parser.get_name();
  command->isTerminal = isatty(STDOUT_FILENO) == 1;
  parser.add_option("FILE", command->files, "a plan")->expected(plans)->required();
  parser.add_flag("--json", command->json, "print only JSON");
  return command;
}

template <int plans> Run addPrinted(CLI::App &parser) {
  return [command = addPlans(parser, plans)] { return runPlanCommand(*command); };
}

Run addMemory(CLI::App &parser) {
  auto command = addPlans(parser, 1);
  auto page = std::make_shared<std::string>();
  auto *machine = parser.add_option("--machine", command->machine,
                                    "a description of a device (tools/machines): memory of a rank's process on it");
  parser.add_option("--at", command->at, "print only the live bytes by class and by unit at this instruction")
      ->check(integerFrom(0))
      ->excludes(machine);
  parser
      .add_option("--account", command->account,
                  "print only the live bytes that PyTorch FSDP1 or FSDP2 would hold for the same model and recipe: "
                  "fsdp1 or fsdp2")
      ->check([](const std::string &name) -> std::string {
        return name == "fsdp1" || name == "fsdp2" ? "" : "expected fsdp1 or fsdp2 but got '" + name + "'";
      })
      ->excludes("--machine")
      ->excludes("--at");
  parser
      .add_flag("--loss-in-model", command->hasLossInModel,
                "with --account fsdp2: the model computes the loss, as one of torch.export does")
      ->needs("--account");
  parser
      .add_flag("--checkpoint", command->checkpoint,
                "include the host memory that a run with --checkpoint needs in addition")
      ->excludes("--at")
      ->excludes("--account");
  auto *html = parser.add_option(
      "--html", *page, "write a page for a browser: memory, buffers, streams, with --machine predicted times");
  html->check(nonEmptyPath());
  for (const char *other : {"--json", "--at", "--account", "--checkpoint"})
    html->excludes(other);
  return [command, page] {
    return page->empty() ? runPlanCommand(*command) : runMemoryPage({command->files.front(), *page, command->machine});
  };
}

void addEntry(CLI::App &parser, std::string &entry) {
  parser.add_option("--entry", entry, "the entry point")->capture_default_str();
}

Run addExplain(CLI::App &parser) {
  struct Options {
    std::string plan, name, entry = "train_step";
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  parser.add_option("FILE", options->plan, "a plan")->required();
  parser.add_option("NAME", options->name, "only this unit, parameter or buffer");
  addEntry(parser, options->entry);
  parser.add_flag("--json", options->json, "print only JSON");
  const auto text = [options]() -> Result<std::string> {
    SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readCheckedPlan(options->plan));
    SLUICE_ASSIGN_OR_RETURN(const std::uint32_t entry, entryIndex(file.plan, options->entry));
    return explainPlan(file.plan, entry, options->name, options->json);
  };
  return [text]() -> PlanCommandResult {
    Result<std::string> explained = text();
    return {explained.isOk() ? *explained : "", explained.status(), 0};
  };
}

Run addPack(CLI::App &parser) {
  auto command = std::make_shared<PackCommand>();
  parser.add_option("FILE", command->input, "text with the columns id,lower,upper,size; lifespans are half-open")
      ->required();
  parser.add_option("--capacity", command->capacity, "bytes of the arena")->required()->check(integerFrom(0));
  parser.add_option("-o", command->output, "the same text with the column offset")->required()->check(nonEmptyPath());
  return [command] { return runPack(*command); };
}

Run addSimulate(CLI::App &parser) {
  auto command = std::make_shared<SimulateCommand>();
  parser.add_option("FILE", command->plan, "a plan")->required();
  parser.add_option("--machine", command->machine, "a description of the machine (tools/machines)")
      ->required()
      ->check(nonEmptyPath());
  parser.add_option("--trace", command->trace, "write a Chrome trace of the predicted step")->check(nonEmptyPath());
  addEntry(parser, command->entry);
  parser.add_flag("--json", command->json, "print only JSON");
  return [command] { return runSimulate(*command); };
}

Run addCompare(CLI::App &parser) {
  auto command = std::make_shared<CompareCommand>();
  parser.add_option("FILE", command->plan, "a plan")->required();
  parser.add_option("TRACE", command->trace, "a trace of its steps, written by sluice-train --trace")->required();
  parser
      .add_option("--machine", command->machine,
                  "a description of the machine (default: only the measured times are listed)")
      ->check(nonEmptyPath());
  addEntry(parser, command->entry);
  parser.add_flag("--json", command->json, "print only JSON");
  return [command] { return runCompare(*command); };
}

constexpr Subcommand rows[] = {
    {"describe", "contents of the plan: mesh, units, events, collectives, memory", addPrinted<1>},
    {"print", "all of the plan, one line per instruction", addPrinted<1>},
    {"check", "prove the plan's properties; exit code 4 if one is refused", addPrinted<1>},
    {"memory", "bytes by class and tensors that are live at the peak, and a diagram of the step", addMemory},
    {"schedule", "a diagram of the work of each stream", addPrinted<1>},
    {"diff", "differences between two plans; exit code 1 if there are any", addPrinted<2>},
    {"explain", "buffers at the peak, activations by unit, gathered units, recompute regions", addExplain},
    {"pack", "places buffers with lifespans in an arena", addPack},
    {"simulate", "predicts the time of a step on a machine", addSimulate},
    {"compare", "compares measured times of a trace with predicted ones", addCompare},
};

} // namespace

std::span<const Subcommand> subcommands() { return rows; }

} // namespace sluice
