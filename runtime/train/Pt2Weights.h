//===- Pt2Weights.h - the weights in an archive of torch.export -----------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H
#define SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H

#include "runtime/base/Pt2Archive.h"
#include "runtime/train/Safetensors.h"

#include <memory>

namespace sluice {

/// Parameters and buffers of a module, read where they are in the archive. One thread reads at a time (Pt2Archive.h).
class Pt2Weights : public TensorFile {
public:
  /// True for a path that ends with `.pt2`, and for a zip archive of any name.
  static Result<bool> isArchive(const std::string &path);
  /// Anything wrong is StatusCode::refused, as is a parameter that cannot be read; such a buffer is not listed.
  static Result<Pt2Weights> open(const std::string &path);

  const std::string &path() const override { return archive->path(); }
  const std::vector<SafetensorsEntry> &entries() const override { return list; }
  Status read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const override;

private:
  std::unique_ptr<const Pt2Archive> archive;
  std::vector<SafetensorsEntry> list;
  /// Of the entries of the list.
  std::vector<const Pt2Tensor *> tensors;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PT2WEIGHTS_H
