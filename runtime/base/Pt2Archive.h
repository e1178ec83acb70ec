//===- Pt2Archive.h - archives of torch.export ----------------------------------------===//
//
// A .pt2 archive is a zip file with one root folder: the program as JSON, and the storages of parameters, buffers and
// constants as raw bytes with JSON lists of the tensors in them. An archive may come from anyone: offsets, sizes and
// strides are checked before a byte is read, and pickled entries are never read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_PT2ARCHIVE_H
#define SLUICE_RUNTIME_BASE_PT2ARCHIVE_H

#include "runtime/base/Json.h"
#include "runtime/base/Zip.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A tensor in a storage of an archive.
struct Pt2Tensor {
  /// The name of safetensors where the format has the dtype: "F32", "BF16", "I64", "BOOL"; else torch's name.
  std::string dtype;
  std::uint64_t elementBytes = 0;
  std::vector<std::int64_t> shape;
  /// In elements; the offset is that of the first element in the storage.
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  /// A buffer or constant of a module is no parameter.
  bool isParameter = false;
  bool requiresGradient = false;
  /// The name of the entry with its storage, which other tensors may share.
  std::string storage;
  /// From the first to the end of the last element, in bytes of the storage.
  std::uint64_t begin = 0, end = 0;
  ZipFile::Entry bytes;
  /// Whether it can be read: it cannot if it is pickled, sparse, complex, quantized or without bytes.
  Status readable;

  /// Bytes of its elements, one after another.
  std::uint64_t bytesInOrder() const;
  bool isComplex() const { return dtype.starts_with("complex"); }
  /// Its elements are in row-major order without gaps.
  bool isContiguous() const;
};

class Pt2Archive {
public:
  /// Reads and checks the lists of a program, by default that which torch.export.save writes. An archive that is
  /// refused is an error with `code`.
  static Result<Pt2Archive> open(const std::string &path, StatusCode code, std::string_view program = "model");

  const std::string &path() const { return zip.path(); }
  /// The names of the programs in the archive.
  std::vector<std::string> programs() const;
  /// The JSON of the program.
  Result<std::string> program() const;
  /// An entry of `extra_files` of torch.export.save; no value without it.
  Result<std::optional<std::string>> extra(std::string_view name) const;
  /// Parameters and buffers, and constants, by qualified name.
  const std::map<std::string, Pt2Tensor, std::less<>> &tensors() const { return list; }
  const Pt2Tensor *find(std::string_view name) const;
  /// Fills `out` from byte `offset` of the elements in row-major order. Those of other strides are taken from a copy
  /// of the tensor's part of its storage, which is kept until the next such tensor is read: one thread reads at a time.
  Status read(const Pt2Tensor &tensor, std::uint64_t offset, std::span<std::byte> out) const;

private:
  Pt2Archive(ZipFile zip, StatusCode code, std::string_view name) : zip(std::move(zip)), code(code), name(name) {}
  std::string programEntry() const;
  Status readList(const std::string &name, const std::string &folder);
  /// Damage is an error. `tensor.readable` has the reason why a well-formed tensor cannot be read.
  Status readTensor(const std::string &name, const nlohmann::json &fields, const std::string &folder,
                    Pt2Tensor &tensor) const;
  Status error(const std::string &message) const;

  ZipFile zip;
  StatusCode code;
  /// Of the program.
  std::string name;
  /// The root folder, with a slash.
  std::string root;
  std::map<std::string, Pt2Tensor, std::less<>> list;
  /// A part of a storage, and where it begins in the file.
  mutable std::vector<std::byte> copy;
  mutable std::uint64_t copyBegin = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_PT2ARCHIVE_H
