//===- Pt2Weights.h - the weights in an archive of torch.export -----------------===//
//
// A .pt2 archive has the storages of parameters and buffers as raw bytes, and a JSON list of the tensors in them. An
// archive may come from anyone: offsets, sizes and strides are checked before a byte is read, and pickled entries are
// never read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H
#define SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H

#include "runtime/base/Json.h"
#include "runtime/base/Zip.h"
#include "runtime/train/Safetensors.h"

namespace sluice {

class Pt2Weights : public TensorFile {
public:
  /// True for a path that ends with `.pt2`, and for a zip archive of any name.
  static Result<bool> isArchive(const std::string &path);
  /// Reads and checks the list; anything wrong is StatusCode::refused. So is a parameter that is pickled, sparse,
  /// complex, quantized or without bytes; such a buffer is not listed.
  static Result<Pt2Weights> open(const std::string &path);

  const std::string &path() const override { return zip.path(); }
  /// Parameters and buffers in order of name. Their ranges are of the elements in row-major order.
  const std::vector<SafetensorsEntry> &entries() const override { return list; }
  /// Elements in row-major order. Those of other strides are taken from a copy of the tensor's part of its storage,
  /// which is kept until the next such tensor is read: one thread reads at a time.
  Status read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const override;

private:
  /// Of a tensor in its storage.
  struct Layout {
    ZipFile::Entry storage;
    /// From the first to the end of the last element, in bytes of the storage.
    std::uint64_t begin = 0, end = 0;
    /// In elements; empty if the elements are in row-major order without gaps.
    std::vector<std::uint64_t> strides;
  };

  explicit Pt2Weights(ZipFile zip) : zip(std::move(zip)) {}
  /// `folder` has the list and the storages.
  Status readList(const std::string &folder);
  /// Fills the entry, which has its name, from its fields in the list.
  Result<Layout> readTensor(const nlohmann::json &fields, const std::string &folder, SafetensorsEntry &entry) const;

  ZipFile zip;
  std::vector<SafetensorsEntry> list;
  /// Of the entries of the list.
  std::vector<Layout> layouts;
  /// A part of a storage, and where it begins in the file.
  mutable std::vector<std::byte> copy;
  mutable std::uint64_t copyBegin = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H
