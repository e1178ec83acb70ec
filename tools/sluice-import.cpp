//===- sluice-import.cpp - imports models as textual IR -------------------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/WriteOutput.h"
#include "passes/import/zoo/Zoo.h"
#include "runtime/base/File.h"
#include "runtime/base/Message.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace sluice;

static Status importModel(const std::string &config, const ImportOptions &options, bool verbose,
                          const std::string &output) {
  SLUICE_RETURN_IF_ERROR(checkNoInput(output, {config}));
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(ImportedModel model, importHuggingFace(&context, config, options));
  if (verbose)
    for (const std::string &field : model.fieldsWithoutEffect)
      llvm::errs() << noteText("no effect on the computation: " + field);
  return writeOutput(output, printModule(model.module.get()));
}

static Status importZooModel(const std::string &name, const std::vector<std::string> &settings,
                             const std::string &output) {
  if (name.empty())
    return Status(StatusCode::usage, "missing name of the zoo model")
        .withNote("sluice-import zoo --list prints every model");
  if (output.empty())
    return Status(StatusCode::usage, "--output is missing, expected the file to write, or - for standard output");
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, importZoo(&context, name, settings));
  return writeOutput(output, printModule(module.get()));
}

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app("Imports a model as textual IR for sluice-compile", "sluice-import");
  app.set_version_flag("--version", versionText("sluice-import"));
  app.footer(
      "exit codes: 0 done, 1 the config is invalid or the output cannot be written, 2 usage, 70 an internal error");
  app.require_subcommand(1);
  std::string config, output, zooName;
  std::vector<std::string> settings;
  ImportOptions options;
  double dropout = 0;
  bool list = false, verbose = false;

  const CLI::Range extent(std::int64_t(1), std::int64_t(1) << 30);
  CLI::App *hf = app.add_subcommand("hf", "a model family by its Hugging Face config.json: " + familyNames());
  hf->add_option("config", config, "config.json")->required();
  hf->add_option("--batch", options.batch, "rows of one rank's micro-batch")->required()->check(extent);
  hf->add_option("--sequence", options.sequence, "tokens of a row")->required()->check(extent);
  const CLI::Option *dropoutOption = hf->add_option("--dropout", dropout, "replaces all dropouts of the config");
  hf->add_flag("--allow-longer", options.allowLonger,
               "accepts a sequence longer than max_position_embeddings, if positions are rotary");
  hf->add_flag("--verbose", verbose, "lists the fields of the config that do not change the computation");
  hf->add_flag("--train-only", options.trainOnly,
               "leaves out the entry point that gives logits, which --generate needs");
  hf->add_option("-o,--output", output, "the file to write, - for standard output")->required();

  CLI::App *zoo = app.add_subcommand("zoo", "a small model of the reference tests");
  zoo->add_option("name", zooName, "name of the model");
  zoo->add_option("--set", settings, "key=value");
  zoo->add_flag("--list", list, "print names, keys and defaults");
  zoo->add_option("-o,--output", output, "the file to write");

  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  if (zoo->parsed())
    return report(list ? writeOutput("-", listZoo()) : importZooModel(zooName, settings, output));
  if (dropoutOption->count() != 0) {
    if (!(dropout >= 0 && dropout < 1))
      return report(Status(StatusCode::usage, "--dropout, expected a number from 0 to 1 (below 1) but got " +
                                                  dropoutOption->results().front()));
    options.dropout = dropout;
  }
  return report(importModel(config, options, verbose, output));
}
