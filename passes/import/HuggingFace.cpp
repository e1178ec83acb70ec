//===- HuggingFace.cpp - from a config.json to a model -----------------------------------===//

#include "passes/import/HuggingFace.h"
#include "passes/import/Gpt2.h"
#include "passes/import/Llama.h"

#include "dialect/model/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sluice;
namespace json = llvm::json;

Result<mlir::OwningOpRef<mlir::ModuleOp>> sluice::importHuggingFace(mlir::MLIRContext *context, const std::string &file,
                                                                    const ImportOptions &options) {
  if (llvm::sys::fs::is_directory(file))
    return inputError(file + ": config, expected a config.json but got a directory");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return inputError(file + ": cannot read the config: " + buffer.getError().message());
  llvm::StringRef text = (*buffer)->getBuffer();
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return inputError(file + ": config that is not JSON: " + llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return inputError(file + ": config, expected a JSON object with 'model_type'");
  std::optional<llvm::StringRef> type = object->getString("model_type");
  const std::string expected = ": field 'model_type', expected \"gpt2\", \"llama\", \"mistral\", \"qwen2\" or "
                               "\"qwen3\" but got ";
  if (!type)
    return inputError(file + expected + "nothing");

  // Only the folder's name, as a plan has no paths.
  std::optional<llvm::StringRef> given = object->getString("_name_or_path");
  llvm::StringRef name = given && !given->empty() ? llvm::sys::path::filename(*given) : *type;
  context->loadDialect<mlir::func::FuncDialect, model::ModelDialect>();
  if (isLlamaFamily(*type)) {
    SLUICE_ASSIGN_OR_RETURN(LlamaConfig config, readLlamaConfig(*type, *object, file, options));
    return buildLlama(context, config, options, name, text);
  }
  if (*type != "gpt2")
    return inputError(file + expected + "\"" + type->str() + "\"");
  SLUICE_ASSIGN_OR_RETURN(Gpt2Config config, readGpt2Config(*object, file, options));
  return buildGpt2(context, config, options, name, text);
}
