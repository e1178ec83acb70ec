//===- sluice-import.cpp - models from elsewhere, as textual IR -----------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/WriteOutput.h"
#include "passes/import/zoo/Zoo.h"
#include "runtime/base/Files.h"
#include "runtime/base/Message.h"
#include "tools/CommandLine.h"

#include "mlir/IR/MLIRContext.h"

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
  CommandLine line("Imports a model as textual IR for sluice-compile", "sluice-import");
  line.version(versionText("sluice-import"));
  line.footer("exit codes: 0 done, 1 the config is at fault or the output cannot be written, 2 usage, "
             "70 an internal error");
  std::string config, output, zooName;
  std::vector<std::string> settings;
  ImportOptions options;
  double dropout = 0;
  bool list = false;

  CommandLine &hf = line.subcommand("hf", "a model family by its Hugging Face config.json (gpt2, llama, mistral, qwen2, qwen3)");
  hf.option("config", config, "config.json").required();
  hf.option("--batch", options.batch, "rows of one rank's micro-batch").required();
  hf.option("--sequence", options.sequence, "tokens a row").required();
  const CommandOption dropoutOption = hf.option("--dropout", dropout, "takes the place of all the config's dropouts");
  hf.flag("--train-only", options.trainOnly, "leaves out the entry point that gives logits, which --generate needs");
  hf.option("-o,--output", output, "the file to write, - for standard output").required();

  CommandLine &zoo = line.subcommand("zoo", "a small model of the reference tests");
  zoo.option("name", zooName, "name of the model");
  zoo.option("--set", settings, "key=value");
  zoo.flag("--list", list, "print names, keys and defaults");
  zoo.option("-o,--output", output, "the file to write");

  Result<std::optional<int>> parsed = line.parse(argc, argv);
  if (!parsed.isOk())
    return report(parsed.status());
  if (*parsed)
    return **parsed;
  if (zoo.isChosen()) {
    Status status = list ? writeOutput("-", listZoo()) : importZooModel(zooName, settings, output);
    return status.isOk() ? 0 : report(status);
  }
  constexpr std::int64_t limit = 1 << 30;
  for (auto [name, value] : {std::pair("--batch", options.batch), std::pair("--sequence", options.sequence)})
    if (value < 1 || value > limit)
      return report(Status(StatusCode::usage, std::string(name) + ", expected an integer from 1 to 1073741824 but got " +
                                                  std::to_string(value)));
  if (dropoutOption.isGiven()) {
    if (!(dropout >= 0 && dropout < 1))
      return report(Status(StatusCode::usage, "--dropout, expected a number from 0 to 1 (below 1) but got " +
                                                  dropoutOption.text()));
    options.dropout = dropout;
  }
  Status status = importModel(config, options, output);
  return status.isOk() ? 0 : report(status);
}
