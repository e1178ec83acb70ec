//===- Archive.cpp - the files of a torch.export archive -----------------------------------===//

#include "passes/import/export/Archive.h"

#include "runtime/base/Half.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cstring>

using namespace sluice;
using namespace sluice::exported;
namespace json = llvm::json;

/// The program of the largest models has some MB; a list of names less.
static constexpr std::uint64_t largestJson = std::uint64_t(1) << 30;

std::size_t exported::bytesOf(ScalarType type) {
  switch (type) {
  case ScalarType::u8:
  case ScalarType::boolean:
    return 1;
  case ScalarType::f16:
  case ScalarType::bf16:
    return 2;
  case ScalarType::i32:
  case ScalarType::f32:
    return 4;
  case ScalarType::i64:
  case ScalarType::f64:
    return 8;
  }
  llvm_unreachable("covered");
}

Result<json::Value> Archive::readJson(const std::string &name) const {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, zip.read(name, largestJson));
  if (nestsTooDeep(text))
    return inputError(concat(path(), ": '", printable(name), "' nests more than ", deepestJson, " objects and arrays"));
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return inputError(concat(path(), ": '", printable(name), "' is not JSON: ", llvm::toString(value.takeError())));
  if (!value->getAsObject())
    return inputError(concat(path(), ": '", printable(name), "', expected a JSON object"));
  return std::move(*value);
}

Result<Archive> Archive::open(const std::string &path, const SymbolValues &symbols) {
  SLUICE_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::open(path));
  Archive archive(std::move(zip));
  const auto &entries = archive.zip.entries();
  // The root folder has the file's name at the time of saving.
  const std::string_view programName = "models/model.json";
  std::string root;
  for (const auto &[name, entry] : entries)
    if (llvm::StringRef(name).ends_with(programName) && name.find('/') == name.size() - programName.size() - 1)
      root = name.substr(0, name.size() - programName.size());
  if (root.empty()) {
    const bool isOlder = llvm::any_of(entries, [](const auto &entry) {
      return llvm::StringRef(entry.first).ends_with("serialized_exported_program.json");
    });
    Status status =
        inputError(concat(path, ": zip archive without '", programName, "', expected one of torch.export.save"));
    if (isOlder)
      status.addNote("it has the layout of torch before 2.8: export it again with a later version");
    return status;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string order, archive.zip.read(root + "byteorder", 16));
  if (order != "little")
    return inputError(concat(path, ": byte order '", printable(order), "' is not supported, expected 'little'"));
  SLUICE_ASSIGN_OR_RETURN(archive.program, archive.readJson(root + std::string(programName)));
  SLUICE_RETURN_IF_ERROR(
      archive.readTensors(root + "data/weights/model_weights_config.json", root + "data/weights/", symbols));
  SLUICE_RETURN_IF_ERROR(
      archive.readTensors(root + "data/constants/model_constants_config.json", root + "data/constants/", symbols));
  return archive;
}

Status Archive::readTensors(const std::string &config, const std::string &folder, const SymbolValues &symbols) {
  if (!zip.find(config))
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(const json::Value value, readJson(config));
  const json::Object *list = value.getAsObject()->getObject("config");
  if (!list)
    return inputError(concat(path(), ": '", printable(config), "' without 'config'"));
  for (const auto &[key, each] : *list) {
    const std::string name = llvm::StringRef(key).str();
    const json::Object *fields = each.getAsObject();
    const std::optional<llvm::StringRef> file = fields ? fields->getString("path_name") : std::nullopt;
    if (!file)
      return inputError(concat(path(), ": '", printable(name), "' without 'path_name'"));
    StoredTensor tensor;
    tensor.entry = folder + file->str();
    tensor.isPickled = fields->getBoolean("use_pickle").value_or(false);
    const json::Object *meta = fields->getObject("tensor_meta");
    if (!meta) {
      tensor.isPickled = true;
      stored[name] = tensor;
      continue;
    }
    Result<TensorMeta> read = readTensorMeta(*meta, symbols);
    if (!read.isOk())
      return inputError(concat(path(), ": '", printable(name), "': ", read.status().message()));
    tensor.meta = std::move(*read);
    tensor.requiresGradient = meta->getBoolean("requires_grad").value_or(false);
    if (!tensor.isPickled)
      if (const ZipFile::Entry *entry = zip.find(tensor.entry); entry && entry->size != 0) {
        // The last element's end.
        std::optional<std::int64_t> last = tensor.meta.offset;
        bool isEmpty = false;
        for (auto [size, stride] : llvm::zip_equal(tensor.meta.sizes, tensor.meta.strides)) {
          isEmpty |= size == 0;
          const std::optional<std::int64_t> step = llvm::checkedMul(size - 1, stride);
          last = last && step ? llvm::checkedAdd(*last, *step) : std::nullopt;
        }
        const std::int64_t elements = static_cast<std::int64_t>(entry->size / bytesOf(tensor.meta.type));
        if (!isEmpty && (!last || tensor.meta.offset < 0 || *last >= elements))
          return inputError(concat(path(), ": '", printable(name), "' reaches beyond its ", entry->size, " bytes"));
      }
    stored[name] = std::move(tensor);
  }
  return Status::ok();
}

const StoredTensor *Archive::find(const std::string &name) const {
  const auto found = stored.find(name);
  return found == stored.end() ? nullptr : &found->second;
}

bool Archive::hasData(const StoredTensor &tensor) const {
  const ZipFile::Entry *entry = tensor.isPickled ? nullptr : zip.find(tensor.entry);
  return entry && entry->size != 0;
}

template <typename T> static double numberAt(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

static double element(const char *bytes, ScalarType type) {
  switch (type) {
  case ScalarType::u8:
  case ScalarType::boolean:
    return numberAt<std::uint8_t>(bytes);
  case ScalarType::i32:
    return numberAt<std::int32_t>(bytes);
  case ScalarType::i64:
    return numberAt<std::int64_t>(bytes);
  case ScalarType::f32:
    return numberAt<float>(bytes);
  case ScalarType::f64:
    return numberAt<double>(bytes);
  case ScalarType::f16:
  case ScalarType::bf16: {
    std::uint16_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    return type == ScalarType::f16 ? f16ToFloat(bits) : bf16ToFloat(bits);
  }
  }
  llvm_unreachable("covered");
}

Result<std::vector<double>> Archive::read(const std::string &name, const StoredTensor &tensor) const {
  if (tensor.isPickled)
    return inputError(concat(path(), ": '", printable(name), "' is pickled, which is not read"));
  if (!hasData(tensor))
    return inputError(concat(path(), ": the archive has no bytes of '", printable(name), "'"));
  SLUICE_ASSIGN_OR_RETURN(const std::string bytes, zip.read(tensor.entry, UINT64_MAX));
  std::int64_t count = 1;
  for (std::int64_t size : tensor.meta.sizes)
    count *= size;
  const std::size_t width = bytesOf(tensor.meta.type);
  std::vector<double> values(static_cast<std::size_t>(count));
  llvm::SmallVector<std::int64_t> index(tensor.meta.sizes.size(), 0);
  std::int64_t at = tensor.meta.offset;
  for (double &value : values) {
    value = element(bytes.data() + static_cast<std::size_t>(at) * width, tensor.meta.type);
    for (std::size_t dim = index.size(); dim-- > 0;) {
      at += tensor.meta.strides[dim];
      if (++index[dim] < tensor.meta.sizes[dim])
        break;
      at -= tensor.meta.strides[dim] * tensor.meta.sizes[dim];
      index[dim] = 0;
    }
  }
  return values;
}
