//===- Archive.h - the files of a torch.export archive -------------------------------------===//
//
// A .pt2 archive is a zip file with one root folder: the program as JSON, and weights and constants as raw bytes of
// their storages with a JSON list of names. Pickled entries are never read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H
#define SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H

#include "passes/import/export/Graph.h"
#include "runtime/base/Zip.h"

namespace sluice::exported {

/// A parameter, buffer or constant of an archive.
struct StoredTensor {
  /// The entry with the bytes of its storage; the empty entry of an archive that was exported without data has size 0.
  std::string entry;
  TensorMeta meta;
  bool requiresGradient = false;
  /// Pickled: it cannot be read.
  bool isPickled = false;
};

class Archive {
public:
  static Result<Archive> open(const std::string &path, const SymbolValues &symbols);

  const std::string &path() const { return zip.path(); }
  /// The JSON of the program.
  const llvm::json::Object &model() const { return *program.getAsObject(); }
  /// By qualified name.
  const std::map<std::string, StoredTensor> &tensors() const { return stored; }
  const StoredTensor *find(const std::string &name) const;
  /// True if the bytes of the tensor are in the archive.
  bool hasData(const StoredTensor &tensor) const;
  /// The elements in row-major order, whatever its strides. Integers and booleans become numbers.
  Result<std::vector<double>> read(const std::string &name, const StoredTensor &tensor) const;

private:
  explicit Archive(ZipFile zip) : zip(std::move(zip)) {}
  Status readTensors(const std::string &config, const std::string &folder, const SymbolValues &symbols);
  Result<llvm::json::Value> readJson(const std::string &name) const;

  ZipFile zip;
  llvm::json::Value program = nullptr;
  std::map<std::string, StoredTensor> stored;
};

/// Bytes of an element.
std::size_t bytesOf(ScalarType type);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H
