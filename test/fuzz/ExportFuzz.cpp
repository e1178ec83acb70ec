//===- ExportFuzz.cpp - reads any bytes as an archive of torch.export, and builds the model -----===//
//
// JSON is the program of an archive with some weights. Text that begins with a blank is the list of its weights. Other
// bytes are an archive.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"

#include "passes/import/export/Import.h"
#include "test/unit/ZipBuilder.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <optional>

using namespace sluice;

namespace {

/// Parameter `w` of 2x3, buffer `m` of 3.
constexpr std::string_view weights = R"({"config": {
  "w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "layout": 7,
    "requires_grad": true, "sizes": [{"as_int": 2}, {"as_int": 3}], "strides": [{"as_int": 3}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}}},
  "m": {"path_name": "weight_0", "is_param": false, "use_pickle": false, "tensor_meta": {"dtype": 7, "layout": 7,
    "sizes": [{"as_int": 3}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 2}}}}})";

std::string archiveWith(std::string_view program, std::string_view list) {
  return test::archiveOf({{"a/models/model.json", std::string(program)},
                          {"a/byteorder", "little"},
                          {"a/data/weights/model_weights_config.json", std::string(list)},
                          {"a/data/weights/weight_0", std::string(24, '\x3f')}});
}

/// Reads the first and the last bytes of each tensor that can be read.
void readEnds(const std::string &path) {
  const Result<Pt2Archive> archive = Pt2Archive::open(path, StatusCode::refused);
  if (!archive.isOk())
    return fuzz::claimReported(archive.status());
  for (const auto &[name, tensor] : archive->tensors()) {
    if (!tensor.readable.isOk() || tensor.bytesInOrder() == 0)
      continue;
    std::string bytes(tensor.elementBytes, '\0');
    for (const std::uint64_t offset : {std::uint64_t(0), tensor.bytesInOrder() - tensor.elementBytes})
      fuzz::claim(archive->read(tensor, offset, std::as_writable_bytes(std::span(bytes))).isOk(),
                  "a tensor cannot be read");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static fuzz::MemoryFile memory;
  const std::string_view text = fuzz::textOf(data, size);
  memory.write(text.starts_with('{')   ? archiveWith(text, weights)
               : text.starts_with(' ') ? archiveWith("{}", text)
                                       : std::string(text));
  readEnds(memory.path());
  // A context keeps every attribute that it has seen.
  static std::optional<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % 256 == 0)
    context.emplace(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&*context, [](mlir::Diagnostic &) { return mlir::success(); });
  const Result<exported::ImportedArchive> model = exported::importArchive(&*context, memory.path(), {});
  if (model.isOk())
    fuzz::claim(mlir::succeeded(mlir::verify(model->module.get())), "the imported model does not verify");
  else
    fuzz::claimReported(model.status());
  return 0;
}
