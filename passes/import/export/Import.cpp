//===- Import.cpp - from a torch.export archive to a model ---------------------------------===//

#include "passes/import/export/Import.h"

#include "passes/import/export/Additions.h"
#include "passes/import/export/Archive.h"
#include "passes/import/export/EntryImport.h"
#include "passes/import/export/Initialize.h"
#include "passes/import/export/Modules.h"
#include "passes/import/export/SavedTensors.h"

#include "dialect/model/Attributes.h"
#include "runtime/base/Text.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

#include <map>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

/// `shape`: of ExportOptions::shapes.
static Result<Program> readProgramOf(const Pt2Archive &archive, const ExportOptions &options,
                                     const Additions &additions, std::size_t shape = 0) {
  // The JSON takes more memory than all that follows, and is not kept.
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, readProgramJson(archive));
  RowSizes rows = {options.batch || !options.symbols.empty() ? options.batch : additions.batch, std::nullopt};
  if (!options.shapes.empty())
    rows = {options.shapes[shape].batch, options.shapes[shape].sequence};
  return readProgram(json, options.symbols, rows, options.allowDecomposed || additions.isDetached, archive.path());
}

/// The name of the program that is evaluated; that of `torch.export.save` is trained.
static constexpr llvm::StringLiteral evaluated = "eval";

Result<ImportedArchive> exported::importArchive(MLIRContext *context, const std::string &path,
                                                const ExportOptions &options) {
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  SLUICE_ASSIGN_OR_RETURN(Pt2Archive opened, Pt2Archive::open(path, StatusCode::input));
  ImportedArchive imported;
  imported.archive = std::make_shared<const Pt2Archive>(std::move(opened));
  const Pt2Archive &archive = *imported.archive;
  ExportReport &report = imported.report;
  const std::vector<std::string> programs = archive.programs();
  const bool hasEvaluation = llvm::is_contained(programs, evaluated);
  for (const std::string &name : programs)
    if (name != "model" && name != evaluated)
      report.warnings.push_back(concat("the program '", printable(name),
                                       "' of the archive is not read, only 'model' "
                                       "and 'eval'"));

  imported.module = ModuleOp::create(UnknownLoc::get(context));
  ModuleOp module = imported.module.get();
  Builder builder(context);
  module->setAttr(model::nameName, builder.getStringAttr(llvm::sys::path::stem(path)));
  SLUICE_ASSIGN_OR_RETURN(const Additions additions, readAdditions(archive));
  SLUICE_ASSIGN_OR_RETURN(Program program, readProgramOf(archive, options, additions));
  Parameters parameters(module);
  SLUICE_RETURN_IF_ERROR(parameters.findTies(program, archive, additions.ties));
  SLUICE_RETURN_IF_ERROR(parameters.findStates(program, archive));
  SLUICE_RETURN_IF_ERROR(parameters.readStored(program, archive));
  std::optional<std::int64_t> rows;
  EntryImport training(module, parameters, program, options, EntryKind::train);
  SLUICE_RETURN_IF_ERROR(training.run(!options.trainOnly && !hasEvaluation, rows, report));
  // The programs of further shapes, by entry point: the locations of ops refer to their nodes.
  std::map<std::string, Program> shaped;
  for (std::size_t i = 1; i < options.shapes.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Program read, readProgramOf(archive, options, additions, i));
    Program &own = shaped.emplace(entryNameOf("train_step", options.shapes[i]), std::move(read)).first->second;
    SLUICE_RETURN_IF_ERROR(parameters.readStored(own, archive));
    EntryImport again(module, parameters, own, options, EntryKind::train, options.shapes[i]);
    std::optional<std::int64_t> ownRows;
    SLUICE_RETURN_IF_ERROR(again.run(/*hasOutputs=*/false, ownRows, report));
  }
  if (hasEvaluation && !options.trainOnly) {
    SLUICE_ASSIGN_OR_RETURN(const Pt2Archive other,
                            Pt2Archive::open(path, StatusCode::input, std::string_view(evaluated)));
    SLUICE_ASSIGN_OR_RETURN(Program evaluation, readProgramOf(other, options, additions));
    SLUICE_RETURN_IF_ERROR(parameters.readStored(evaluation, other));
    EntryImport evaluating(module, parameters, evaluation, options, EntryKind::eval);
    if (Status status = evaluating.run(true, rows, report); !status.isOk())
      return std::move(status).withNote("this is about the program 'eval' of the archive");
  }
  module->setAttr(model::batchName, builder.getI64IntegerAttr(rows.value_or(1)));

  for (const std::string &name : parameters.removeUnused())
    report.warnings.push_back(concat("parameter '", printable(name), "' is not used by the loss: it is left out"));
  if (options.initialize)
    if (const Status status = initializeByModule(module, program.graph); !status.isOk())
      return inFile(archive.path(), status);
  const Modules modules(program.graph, options.blocks);
  for (const std::string &glob : modules.unmatched)
    report.warnings.push_back(concat("--blocks ", printable(glob), " matches no module"));
  for (func::FuncOp entry : llvm::to_vector(module.getOps<func::FuncOp>())) {
    enclose(entry, modules, additions.checkpoints);
    const auto own = shaped.find(entry.getSymName().str());
    if (model::entryOf(entry) == EntryKind::train)
      addSavedTensors(entry, own == shaped.end() ? program : own->second, modules);
  }
  module->walk([](Operation *op) { op->setLoc(withoutNode(op->getLoc())); });
  if (failed(verify(module)))
    return internalError("imported model that does not verify");
  training.warn(report);
  report.describe(module);
  for (auto parameter : module.getOps<model::ParameterOp>()) {
    const std::string name = parameter.getSymName().str();
    imported.weights.push_back({name, archive.find(name)});
  }
  return imported;
}
