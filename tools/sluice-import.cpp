//===- sluice-import.cpp - models from elsewhere, as textual IR -----------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/WriteOutput.h"
#include "passes/import/zoo/Zoo.h"
#include "runtime/base/Files.h"
#include "runtime/base/Message.h"

#include "mlir/IR/MLIRContext.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <iostream>

using namespace sluice;

static int report(const Status &status) {
  std::cerr << messageText(status);
  return static_cast<int>(status.code());
}

static Status importModel(const std::string &config, const ImportOptions &options, const std::string &output) {
  SLUICE_RETURN_IF_ERROR(checkNoInput(output, {config}));
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, importHuggingFace(&context, config, options));
  return writeOutput(output, printModule(module.get()));
}

static Status importZooModel(const std::string &name, const std::vector<std::string> &settings,
                             const std::string &output) {
  if (name.empty())
    return Status(StatusCode::usage, "zoo model, expected its name but got nothing")
        .withNote("sluice-import zoo --list prints every model");
  if (output.empty())
    return Status(StatusCode::usage, "--output is missing, expected the file to write, or - for standard output");
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, importZoo(&context, name, settings));
  return writeOutput(output, printModule(module.get()));
}

int main(int argc, char **argv) {
  CLI::App app("Imports a model as textual IR for sluice-compile", "sluice-import");
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText("sluice-import"));
  app.footer("exit codes: 0 done, 1 the config is at fault or the output cannot be written, 2 usage, "
             "70 an internal error");
  std::string config, output, zooName;
  std::vector<std::string> settings;
  ImportOptions options;
  double dropout = 0;
  bool list = false;

  CLI::App *hf = app.add_subcommand("hf", "a model family by its Hugging Face config.json (gpt2, llama, mistral, qwen2, qwen3)");
  hf->add_option("config", config, "config.json")->required();
  hf->add_option("--batch", options.batch, "rows of one rank's micro-batch")->required();
  hf->add_option("--sequence", options.sequence, "tokens a row")->required();
  CLI::Option *dropoutOption = hf->add_option("--dropout", dropout, "takes the place of all the config's dropouts");
  hf->add_flag("--train-only", options.trainOnly, "leaves out the entry point that gives logits, which --generate needs");
  hf->add_option("-o,--output", output, "the file to write, - for standard output")->required();

  CLI::App *zoo = app.add_subcommand("zoo", "a small model of the reference tests");
  zoo->add_option("name", zooName, "name of the model");
  zoo->add_option("--set", settings, "key=value");
  zoo->add_flag("--list", list, "print names, keys and defaults");
  zoo->add_option("-o,--output", output, "the file to write");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    return app.exit(done);
  } catch (const CLI::ParseError &error) {
    return report(usageError(error.what()));
  }
  if (zoo->parsed()) {
    Status status = list ? writeOutput("-", listZoo()) : importZooModel(zooName, settings, output);
    return status.isOk() ? 0 : report(status);
  }
  constexpr std::int64_t limit = 1 << 30;
  for (auto [name, value] : {std::pair("--batch", options.batch), std::pair("--sequence", options.sequence)})
    if (value < 1 || value > limit)
      return report(Status(StatusCode::usage, std::string(name) + ", expected an integer from 1 to 1073741824 but got " +
                                                  std::to_string(value)));
  if (dropoutOption->count()) {
    if (!(dropout >= 0 && dropout < 1))
      return report(Status(StatusCode::usage, "--dropout, expected a number from 0 to 1 (below 1) but got " +
                                                  dropoutOption->results().front()));
    options.dropout = dropout;
  }
  Status status = importModel(config, options, output);
  return status.isOk() ? 0 : report(status);
}
