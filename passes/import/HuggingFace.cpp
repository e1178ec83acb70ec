//===- HuggingFace.cpp - from a config.json to a model -----------------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/Families.h"
#include "passes/import/GraphBuilder.h"

#include "dialect/model/Model.h"
#include "runtime/base/File.h"
#include "runtime/base/JsonDepth.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace sluice;
namespace json = llvm::json;

std::string sluice::familyNames() {
  return llvm::join(llvm::map_range(families(), [](const Family &family) { return family.type.str(); }), ", ");
}

Status sluice::setShapes(ImportOptions &options, const std::vector<std::string> &shapes,
                         const std::string &evaluation) {
  if (!shapes.empty()) {
    SLUICE_ASSIGN_OR_RETURN(options.moreShapes, readShapes("--shapes", shapes));
    options.batch = options.moreShapes.front().batch;
    options.sequence = options.moreShapes.front().sequence;
    options.moreShapes.erase(options.moreShapes.begin());
  }
  if (!evaluation.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<RowShape> shape, readShapes("--eval-shape", {evaluation}));
    options.evaluation = shape.front();
  }
  return Status::ok();
}

Result<ImportedModel> sluice::importHuggingFace(mlir::MLIRContext *context, const std::string &file,
                                                const ImportOptions &options) {
  if (llvm::sys::fs::is_directory(file))
    return inputError(file + ": config, expected a config.json but got a directory");
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(file, StatusCode::input, largestTextFile));
  return importHuggingFaceText(context, text, file, options);
}

Result<ImportedModel> sluice::importHuggingFaceText(mlir::MLIRContext *context, llvm::StringRef text,
                                                    const std::string &file, const ImportOptions &options) {
  // LLVM's parser is recursive.
  if (nestsTooDeep(text))
    return inputError(file + ": config, expected at most " + std::to_string(deepestJson) +
                      " nested objects and arrays but got more");
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return inputError(file + ": config that is not JSON: " + llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return inputError(file + ": config, expected a JSON object with 'model_type'");
  std::optional<llvm::StringRef> type = object->getString("model_type");
  const std::string supported = "the families are " + familyNames();
  if (!type)
    return inputError(file + ": missing field 'model_type'").withNote(supported);
  const Family *family = llvm::find_if(families(), [&](const Family &each) { return each.type == *type; });
  if (family == families().end())
    return inputError(file + ": model type '" + type->str() + "' is not supported").withNote(supported);

  // Only the folder's name, as a plan has no paths.
  std::optional<llvm::StringRef> given = object->getString("_name_or_path");
  llvm::StringRef name = given && !given->empty() ? llvm::sys::path::filename(*given) : *type;
  context->loadDialect<mlir::func::FuncDialect, model::ModelDialect>();
  ImportedModel model;
  DecoderConfigs configs;
  for (const ModelEntry &entry : entriesOf(options)) {
    ImportOptions ofEntry = options;
    ofEntry.batch = entry.shape.batch;
    ofEntry.sequence = entry.shape.sequence;
    ConfigFields fields(*object, file, family->article.str());
    FamilyReader reader(fields, ofEntry);
    family->read(reader);
    SLUICE_RETURN_IF_ERROR(reader.finish());
    model.fieldsWithoutEffect = fields.withoutEffect();
    configs.insert({entry.shape.sequence, std::move(reader.config)});
  }
  SLUICE_ASSIGN_OR_RETURN(model.module, buildDecoder(context, configs, options, name, text));
  return model;
}
