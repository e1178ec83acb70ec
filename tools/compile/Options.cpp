//===- Options.cpp - the command line of sluice-compile -----------------------------------===//
#include "tools/compile/Options.h"

#include "passes/Pipeline.h"
#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "tools/CommandLine.h"

#include <CLI/CLI.hpp>

namespace sluice {
namespace {

Status findLastPhase(const std::string &compileTo, CompileCommand &command) {
  command.emits = compileTo.empty() || compileTo == "emit";
  command.last = compileTo.empty() ? nullptr : findPhase(compileTo);
  if (command.emits || command.last)
    return Status::ok();
  std::string names;
  for (const PipelinePhase &phase : pipelinePhases())
    names += phase.name.str() + ", ";
  return Status(StatusCode::usage, "--compile-to, expected one of " + names + "emit but got '" + compileTo + "'");
}

Status checkFiles(const CompileCommand &command) {
  if (command.input.empty())
    return command.printRecipe ? Status::ok() : Status(StatusCode::usage, "missing argument 'model', a file of IR");
  if (!command.verify.empty()) {
    const char *other = !command.output.empty() ? "-o" : !command.emits ? "--compile-to" : "--print-recipe";
    return command.output.empty() && command.emits && !command.printRecipe
               ? Status::ok()
               : Status(StatusCode::usage, concat("'--verify' cannot be combined with '", other, "'"))
                     .withNote("'--verify' compares a plan and writes none");
  }
  if (command.output.empty() && command.emits && !command.printRecipe && !command.comparesVariants())
    return Status(StatusCode::usage, "missing option '-o', the path of the plan");
  if (command.json && !command.comparesVariants())
    return Status(StatusCode::usage, "--json is for variants").withNote("give --what-if, --pareto or --fit");
  return Status::ok();
}

std::string footer() {
  std::string text = "Phases:";
  for (const PipelinePhase &phase : pipelinePhases())
    text += "\n  " + phase.name.str() + ": " + phase.doc.str();
  return text + "\n  emit: the plan's bytes\n\nexit codes: 0 done, 1 the model or the recipe is invalid or an output "
                "cannot be "
                "written, 2 usage, 3 over the memory budget, 4 the plan of --verify is damaged or differs, 70 an "
                "internal error";
}

} // namespace

std::optional<int> readCompileOptions(int argc, char **argv, CompileCommand &command) {
  CLI::App app("Compiles a model with a recipe to a plan.", "sluice-compile");
  std::string compileTo;
  app.add_option("model", command.input, "the model, or a file of --dump-phases; - is standard input");
  app.add_option("--recipe", command.recipe, "the recipe, a TOML file")->check(nonEmptyPath());
  app.add_option("--set", command.settings, "key=value, replaces a value of the recipe; can be repeated")
      ->allow_extra_args(false);
  app.add_option("-o,--output", command.output, "the plan to write (with --compile-to: IR, else standard output)");
  app.add_option("--compile-to", compileTo, "stop after this phase and write the IR");
  app.add_option("--dump-phases", command.dumpPhases, "write the IR after each phase into this folder")
      ->check(nonEmptyPath());
  app.add_option("--verify", command.verify, "compile, and compare with this plan instead of writing one")
      ->check(nonEmptyPath());
  auto *whatIf = app.add_option("--what-if", command.whatIf,
                                "KEY=V1,V2,...: compile a variant for each value and compare them; KEY is a key of the "
                                "recipe, batch or sequence; can be repeated for all combinations");
  whatIf->allow_extra_args(false);
  auto *fit = app.add_option("--fit", command.fit, "find the largest batch or sequence that fits the memory")
                  ->check(CLI::IsMember({"batch", "sequence"}));
  auto *pareto = app.add_flag("--pareto", command.pareto,
                              "mark the variants for which no other needs less memory and time; without --what-if, of "
                              "recompute, strategy, prefetch and offload");
  app.add_option("--machine", command.machine,
                 "a description of the machine, to predict the step time of variants and of choices within a budget")
      ->check(nonEmptyPath());
  auto *worlds = app.add_option("--worlds", command.worlds,
                                "numbers of ranks, separated by commas: -o is a folder with a plan for each, of "
                                "which sluice-train takes the one for the ranks that start; the axis shard has them")
                     ->delimiter(',')
                     ->allow_extra_args(false)
                     ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 20));
  app.add_flag("--json", command.json, "print the variants as JSON");
  pareto->needs("--machine")->excludes(fit);
  app.add_option("--decisions", command.decisions,
                 "write the choices of recompute.policy = \"budget\" and their alternatives, as JSON")
      ->check(nonEmptyPath());
  app.add_flag("--print-recipe", command.printRecipe, "print every value of the recipe and its origin");
  app.add_flag("--recipe-keys", command.recipeKeys, "print all keys of the recipe as a table in Markdown");
  for (auto *option : {whatIf, fit, pareto, worlds})
    for (const char *other : {"--compile-to", "--dump-phases", "--verify", "--print-recipe", "--decisions"})
      option->excludes(other);
  for (auto *option : {whatIf, fit, pareto})
    worlds->excludes(option);
  app.set_version_flag("--version", versionText("sluice-compile"));
  app.footer(footer());
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return done;
  if (command.recipeKeys)
    return std::nullopt;
  Status status = findLastPhase(compileTo, command);
  if (status.isOk())
    status = checkFiles(command);
  return status.isOk() ? std::nullopt : std::optional(report(status));
}

} // namespace sluice
