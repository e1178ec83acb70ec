//===- Pt2Weights.cpp - the weights in an archive of torch.export ---------------===//
#include "runtime/train/Pt2Weights.h"

#include <array>
#include <fmt/format.h>

namespace sluice {

Result<bool> Pt2Weights::isArchive(const std::string &path) {
  if (path.ends_with(".pt2"))
    return true;
  SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path, StatusCode::refused));
  std::array<char, 4> first{};
  if (file.size() < first.size())
    return false;
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(first))));
  return std::string_view(first.data(), first.size()) == "PK\x03\x04";
}

Result<Pt2Weights> Pt2Weights::open(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Pt2Archive opened, Pt2Archive::open(path, StatusCode::refused));
  Pt2Weights weights;
  weights.archive = std::make_unique<const Pt2Archive>(std::move(opened));
  for (const auto &[name, tensor] : weights.archive->tensors()) {
    Status readable = tensor.readable;
    if (readable.isOk() && tensor.isComplex())
      readable = refusedError(
          fmt::format("{}: tensor '{}', expected a dtype such as F32 or BF16 but got {}", path, name, tensor.dtype));
    if (tensor.isParameter)
      SLUICE_RETURN_IF_ERROR(readable);
    if (!readable.isOk())
      continue;
    weights.list.push_back({name, tensor.dtype, tensor.shape, 0, tensor.bytesInOrder(), !tensor.isParameter});
    weights.tensors.push_back(&tensor);
  }
  return weights;
}

Status Pt2Weights::read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const {
  return archive->read(*tensors[static_cast<std::size_t>(&entry - list.data())], offset, out);
}

} // namespace sluice
