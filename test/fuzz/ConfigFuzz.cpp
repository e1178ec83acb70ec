//===- ConfigFuzz.cpp - reads any bytes as a config.json, and builds the model --------------===//
//
// Models of many layers are not built: they take seconds.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"

#include "passes/import/HuggingFace.h"
#include "runtime/base/Json.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <nlohmann/json.hpp>

#include <optional>

using namespace sluice;

namespace {

constexpr double mostLayers = 8;

bool hasManyLayers(std::string_view text) {
  const auto config = parseJson<nlohmann::json>(text);
  for (const char *name : {"num_hidden_layers", "n_layer", "n_layers"})
    if (const auto at = config.find(name); at != config.end() && at->is_number() && at->get<double>() > mostLayers)
      return true;
  return false;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static fuzz::MemoryFile memory;
  const std::string_view text = fuzz::textOf(data, size);
  if (hasManyLayers(text))
    return 0;
  memory.write(text);
  // A context keeps every attribute that it has seen, and takes two thirds of the time if each input has its own.
  static std::optional<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % 256 == 0)
    context.emplace(mlir::MLIRContext::Threading::DISABLED);
  const Result<ImportedModel> model = importHuggingFace(&*context, memory.path(), {.batch = 2, .sequence = 4});
  if (model.isOk())
    fuzz::claim(mlir::succeeded(mlir::verify(*model->module)), "the imported model does not verify");
  else
    fuzz::claimReported(model.status());
  return 0;
}
