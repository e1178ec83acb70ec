//===- sluice-import.cpp - imports models as textual IR -------------------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/WriteOutput.h"
#include "passes/import/export/InputOptions.h"
#include "passes/import/stablehlo/Import.h"
#include "passes/import/zoo/Zoo.h"
#include "runtime/base/File.h"
#include "runtime/base/Message.h"
#include "runtime/train/Safetensors.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
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

static Status checkOutput(const std::string &output) {
  return !output.empty()
             ? Status::ok()
             : Status(StatusCode::usage, "--output is missing, expected the file to write, or - for standard output");
}

static Status importZooModel(const std::string &name, const std::vector<std::string> &settings,
                             const std::vector<std::string> &shapes, const std::string &output) {
  if (name.empty())
    return Status(StatusCode::usage, "missing name of the zoo model")
        .withNote("sluice-import zoo --list prints every model");
  SLUICE_RETURN_IF_ERROR(checkOutput(output));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<RowShape> read, readShapes("--shapes", shapes));
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, importZoo(&context, name, settings, read));
  return writeOutput(output, printModule(module.get()));
}

static Status readDropout(const CLI::Option &option, double given, std::optional<double> &dropout) {
  if (option.count() == 0)
    return Status::ok();
  if (!(given >= 0 && given < 1))
    return Status(StatusCode::usage,
                  "--dropout, expected a number from 0 to 1 (below 1) but got " + option.results().front());
  dropout = given;
  return Status::ok();
}

/// Parameters and states as safetensors, in parts of at most 1 MiB.
static Status writeWeights(const std::string &path, const exported::ImportedArchive &imported) {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, tensor] : imported.weights) {
    tensors.push_back({name, tensor->dtype, tensor->shape,
                       [&archive = *imported.archive, tensor](const SafetensorsTensor::Sink &sink) -> Status {
                         const std::uint64_t bytes = tensor->bytesInOrder();
                         std::vector<std::byte> part(std::min<std::uint64_t>(bytes, 1 << 20));
                         for (std::uint64_t at = 0; at < bytes; at += part.size()) {
                           part.resize(std::min<std::uint64_t>(part.size(), bytes - at));
                           SLUICE_RETURN_IF_ERROR(archive.read(*tensor, at, part));
                           SLUICE_RETURN_IF_ERROR(sink(part));
                         }
                         return Status::ok();
                       }});
  }
  return writeSafetensors(path, std::move(tensors));
}

static Status importExport(const std::string &archive, exported::ExportOptions &options,
                           const std::vector<std::string> &inputs, const std::vector<std::string> &symbols,
                           const std::string &weights, bool showReport, bool showJson, const std::string &output) {
  SLUICE_RETURN_IF_ERROR(exported::readInputOptions(inputs, symbols, options));
  SLUICE_RETURN_IF_ERROR(checkNoInput(output, {archive}));
  SLUICE_RETURN_IF_ERROR(checkNoInput(weights, {archive}));
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(exported::ImportedArchive imported, exported::importArchive(&context, archive, options));
  if (showReport)
    for (const std::string &line : imported.report.lines())
      llvm::errs() << line << "\n";
  for (const std::string &warning : imported.report.warnings)
    llvm::errs() << messageText(inputError(warning), false, Severity::warning);
  const bool writesWeights = !weights.empty() && weights != "none";
  if (writesWeights)
    for (const exported::ExportedWeight &weight : imported.weights)
      SLUICE_RETURN_IF_ERROR(weight.tensor->readable);
  SLUICE_RETURN_IF_ERROR(writeOutput(output, printModule(imported.module.get())));
  if (writesWeights)
    SLUICE_RETURN_IF_ERROR(writeWeights(weights, imported));
  return showJson ? writeOutput("-", llvm::formatv("{0:2}\n", imported.report.json()).str()) : Status::ok();
}

static Status importStableHlo(const std::string &text, const stablehlo::TextOptions &options, bool showReport,
                              const std::string &output) {
  SLUICE_RETURN_IF_ERROR(checkOutput(output));
  SLUICE_RETURN_IF_ERROR(checkNoInput(output, {text, options.parameters}));
  mlir::MLIRContext context;
  SLUICE_ASSIGN_OR_RETURN(const stablehlo::ImportedText imported, stablehlo::importText(&context, text, options));
  if (showReport)
    for (const std::string &line : imported.report.lines())
      llvm::errs() << line << "\n";
  for (const std::string &warning : imported.report.warnings)
    llvm::errs() << messageText(inputError(warning), false, Severity::warning);
  return writeOutput(output, printModule(imported.module.get()));
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

  std::vector<std::string> shapes;
  std::string evalShape;
  const auto addShapes = [&shapes](CLI::App *command) {
    return command
        ->add_option("--shapes", shapes,
                     "rows and tokens of several train entry points over the same parameters, such as 8x512,4x1024")
        ->delimiter(',')
        ->allow_extra_args(false);
  };

  const CLI::Range extent(std::int64_t(1), mostExtent);
  CLI::App *hf = app.add_subcommand("hf", "a model family by its Hugging Face config.json: " + familyNames());
  hf->add_option("config", config, "config.json")->required();
  const CLI::Option *shapesOption = addShapes(hf);
  CLI::Option *batchOption =
      hf->add_option("--batch", options.batch, "rows of one rank's micro-batch")->check(extent)->excludes("--shapes");
  CLI::Option *sequenceOption =
      hf->add_option("--sequence", options.sequence, "tokens of a row")->check(extent)->excludes("--shapes");
  hf->add_option("--eval-shape", evalShape,
                 "rows and tokens of the entry point of evaluation (default: as in training)");
  const CLI::Option *dropoutOption = hf->add_option("--dropout", dropout, "replaces all dropouts of the config");
  hf->add_flag("--allow-longer", options.allowLonger,
               "accepts a sequence longer than max_position_embeddings, if positions are rotary");
  hf->add_flag("--verbose", verbose, "lists the fields of the config that do not change the computation");
  hf->add_flag("--packed", options.packed,
               "rows of several documents: 'train_step' has the input 'documents', and a token sees its own document");
  hf->add_flag("--train-only", options.trainOnly,
               "leaves out the entry point that gives logits, which --generate needs");
  hf->add_flag("--generation", options.oneRowLogits,
               "entry points that give logits have one row, of several lengths: sluice-train --generate computes less")
      ->excludes("--train-only");
  hf->add_option("-o,--output", output, "the file to write, - for standard output")->required();

  std::string archive, weights;
  bool showReport = false, showJson = false;
  exported::ExportOptions exportOptions;
  std::vector<std::string> inputs, symbols;
  double exportDropout = 0;
  CLI::App *exportCommand = app.add_subcommand("export", "a PyTorch module, as torch.export.save writes it");
  exportCommand->add_option("archive", archive, "the .pt2 file");
  exportCommand->add_flag("--list", list, "print the ops that are supported");
  exportCommand->add_option("--weights", weights,
                            "write parameters and states to this safetensors file, for sluice-train --init");
  exportCommand->add_flag("--report", showReport, "print what became of the graph: blocks, parameters, composite ops");
  exportCommand->add_flag("--json", showJson, "print the report as JSON on standard output");
  exportCommand->add_option("--loss", exportOptions.loss, "the output that is the loss");
  exportCommand->add_option("--batch", exportOptions.batch, "rows of one rank's micro-batch, where they are dynamic")
      ->check(extent);
  addShapes(exportCommand)->excludes("--batch");
  exportCommand->add_option("--set", symbols, "SYMBOL=SIZE of another dynamic size");
  exportCommand->add_option("--inputs", inputs, "NAME=tokens:VOCABULARY: the input is a row of tokens")->delimiter(',');
  exportCommand
      ->add_option("--add-output", exportOptions.outputs,
                   "the path of a submodule, or a value of the graph: an output of the entry point 'forward'")
      ->delimiter(',');
  exportCommand
      ->add_flag("--train-only", exportOptions.trainOnly, "leaves out the entry points of outputs other than the loss")
      ->excludes("--add-output");
  exportCommand->add_option("--blocks", exportOptions.blocks, "globs of the modules that are blocks")->delimiter(',');
  const CLI::Option *exportDropoutOption =
      exportCommand->add_option("--dropout", exportDropout, "replaces the rate of every dropout");
  exportCommand->add_flag("--allow-decomposed", exportOptions.allowDecomposed,
                          "accepts a program after run_decompositions(), which has lost torch.no_grad()");
  exportCommand->add_flag("--initialize", exportOptions.initialize,
                          "begin as torch's modules of these types begin, not with the values of the archive");
  exportCommand->add_option("-o,--output", output, "the file to write, - for standard output");

  std::string text;
  stablehlo::TextOptions textOptions;
  CLI::App *textCommand = app.add_subcommand("stablehlo", "a function of JAX, as sluice.jax.export writes it");
  textCommand->add_option("text", text, "the .mlir file");
  textCommand->add_flag("--list", list, "print the ops that are supported");
  textCommand->add_option("--parameters", textOptions.parameters,
                          "a JSON file with the names of parameters and inputs, for a text without them");
  textCommand->add_flag("--gradients-as-written", textOptions.gradientsAsWritten,
                        "accepts a text that sluice.jax.export did not write: stop_gradient and custom_vjp are lost");
  textCommand->add_option("--blocks", textOptions.model.blocks, "globs of the scopes that are blocks")->delimiter(',');
  textCommand->add_flag("--report", showReport, "print what became of the text: blocks, parameters, composite ops");
  textCommand->add_option("-o,--output", output, "the file to write, - for standard output");

  CLI::App *zoo = app.add_subcommand("zoo", "a small model of the reference tests");
  zoo->add_option("name", zooName, "name of the model");
  zoo->add_option("--set", settings, "key=value");
  addShapes(zoo);
  zoo->add_flag("--list", list, "print names, keys and defaults");
  zoo->add_option("-o,--output", output, "the file to write");

  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  if (zoo->parsed())
    return report(list ? writeOutput("-", listZoo()) : importZooModel(zooName, settings, shapes, output));
  if (textCommand->parsed()) {
    if (list)
      return report(writeOutput("-", stablehlo::supportedOps()));
    if (text.empty())
      return report(Status(StatusCode::usage, "missing text, expected the .mlir file of sluice.jax.export"));
    return report(importStableHlo(text, textOptions, showReport, output));
  }
  if (exportCommand->parsed()) {
    if (list)
      return report(writeOutput("-", exported::supportedOps()));
    if (archive.empty())
      return report(Status(StatusCode::usage, "missing archive, expected the .pt2 file of torch.export.save"));
    if (const Status status = checkOutput(output); !status.isOk())
      return report(status);
    if (showJson && output == "-")
      return report(Status(StatusCode::usage, "--json prints on standard output, expected a file for --output"));
    if (const Status status = readDropout(*exportDropoutOption, exportDropout, exportOptions.dropout); !status.isOk())
      return report(status);
    Result<std::vector<RowShape>> read = readShapes("--shapes", shapes);
    if (!read.isOk())
      return report(read.status());
    exportOptions.shapes = std::move(*read);
    return report(importExport(archive, exportOptions, inputs, symbols, weights, showReport, showJson, output));
  }
  if (const Status status = readDropout(*dropoutOption, dropout, options.dropout); !status.isOk())
    return report(status);
  for (const CLI::Option *option : {batchOption, sequenceOption})
    if (option->empty() && shapesOption->empty())
      return report(Status(StatusCode::usage, option->get_name() + " is required, or --shapes"));
  if (const Status status = setShapes(options, shapes, evalShape); !status.isOk())
    return report(status);
  return report(importModel(config, options, verbose, output));
}
