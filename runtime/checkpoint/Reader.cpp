//===- Reader.cpp - reads and verifies a checkpoint ------------------------------------===//
#include "runtime/checkpoint/Reader.h"

#include "runtime/base/DigestStream.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace sluice {

/// Size limits of the files that are read at once.
static constexpr std::uint64_t maxIndexSize = std::uint64_t(1) << 30, maxTextSize = 1 << 24;
/// Number of files that are open at the same time.
static constexpr std::size_t maxOpenFiles = 64;

/// The folder has the files of the index, and no other shard: a reader of all files would take it for a part.
static Status checkFiles(const std::string &folder, const CheckpointIndex &index) {
  std::set<std::string> names;
  for (const IndexFile &file : index.files) {
    const std::string path = folder + "/" + file.name;
    names.insert(file.name);
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(path, error);
    if (error)
      return error == std::errc::no_such_file_or_directory
                 ? damageError(fmt::format("'{}' is missing", path))
                 : inputError(fmt::format("cannot read '{}': {}", path, error.message()));
    if (bytes != file.bytes)
      return damageError(fmt::format("'{}', expected {} bytes but got {}", path, file.bytes, bytes));
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error); !error && at != std::filesystem::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".safetensors") && !names.contains(name))
      return damageError(fmt::format("'{}/{}' is not in the index of its checkpoint", folder, name));
  }
  return error ? inputError(fmt::format("cannot list '{}': {}", folder, error.message())) : Status::ok();
}

Result<CheckpointReader> CheckpointReader::open(const std::string &folder) {
  CheckpointReader reader;
  reader.folder = folder;
  const std::string path = fmt::format("{}/{}", folder, checkpointIndexName);
  std::error_code error;
  if (std::filesystem::is_directory(folder, error) && !std::filesystem::exists(path, error) && !error)
    return damageError(fmt::format("'{}' is missing", path));
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, StatusCode::refused, maxIndexSize));
  SLUICE_ASSIGN_OR_RETURN(reader.contents, parseIndex(path, text));
  SLUICE_RETURN_IF_ERROR(checkFiles(folder, reader.contents));
  SLUICE_ASSIGN_OR_RETURN(const std::string numbers, reader.text(trainingStateName));
  SLUICE_ASSIGN_OR_RETURN(reader.numbers, parseState(fmt::format("{}/{}", folder, trainingStateName), numbers));
  if (const auto step = stepOf(folder); step && *step != reader.numbers.progress.step)
    return refusedError(fmt::format("'{}' has the state of step {}", folder, reader.numbers.progress.step))
        .withNote("rename the folder to the step of its state");
  const auto &files = reader.contents.files;
  for (const IndexFile &file : files)
    for (const IndexPart &part : file.parts)
      reader.placesOf[part.tensor].push_back({&file, &part});
  return reader;
}

Result<std::string> CheckpointReader::text(std::string_view name) const {
  const auto file = std::ranges::find(contents.files, name, &IndexFile::name);
  if (file == contents.files.end())
    return std::string();
  SLUICE_RETURN_IF_ERROR(verify(*file));
  return readFile(fmt::format("{}/{}", folder, name), StatusCode::refused, maxTextSize);
}

Result<InputFile> CheckpointReader::openFile(const IndexFile &file) const {
  return InputFile::open(folder + "/" + file.name, StatusCode::refused);
}

Status CheckpointReader::verify(const IndexFile &file, const Visitor &visit) const {
  const std::string path = folder + "/" + file.name;
  SLUICE_ASSIGN_OR_RETURN(const InputFile input, openFile(file));
  std::vector<std::byte> block(checkpointBlock);
  DigestStream all;
  // The damaged tensor is named, so the digests of the tensors are compared first.
  const auto addRange = [&](std::uint64_t begin, std::uint64_t end, const IndexPart *part,
                            DigestStream *own) -> Status {
    for (std::uint64_t at = begin; at < end;) {
      const std::span<std::byte> bytes = std::span(block).first(std::min<std::uint64_t>(block.size(), end - at));
      SLUICE_RETURN_IF_ERROR(input.readAt(at, bytes));
      all.add(bytes);
      if (own)
        own->add(bytes);
      if (visit)
        SLUICE_RETURN_IF_ERROR(visit(part, at - begin, bytes));
      at += bytes.size();
    }
    return Status::ok();
  };
  std::uint64_t at = 0;
  for (const IndexPart &part : file.parts) {
    DigestStream own;
    SLUICE_RETURN_IF_ERROR(addRange(at, part.begin, nullptr, nullptr));
    SLUICE_RETURN_IF_ERROR(addRange(part.begin, part.end, &part, &own));
    if (const std::string digest = own.text(); digest != part.digest)
      return damageError(fmt::format("'{}': tensor '{}' at bytes {} to {}, digest, expected {} but got {}", path,
                                     part.tensor, part.begin, part.end, part.digest, digest));
    at = part.end;
  }
  SLUICE_RETURN_IF_ERROR(addRange(at, file.bytes, nullptr, nullptr));
  if (const std::string digest = all.text(); digest != file.digest)
    return damageError(fmt::format("'{}': bytes 0 to {} outside of its tensors, digest of the file, expected {} but "
                                   "got {}",
                                   path, file.parts.empty() ? file.bytes : file.parts.front().begin, file.digest,
                                   digest));
  return Status::ok();
}

Status CheckpointReader::verify() const {
  for (const IndexFile &file : contents.files)
    SLUICE_RETURN_IF_ERROR(verify(file));
  return Status::ok();
}

std::span<const CheckpointReader::Place> CheckpointReader::places(const std::string &tensor) const {
  const auto at = placesOf.find(tensor);
  return at == placesOf.end() ? std::span<const Place>() : at->second;
}

Status CheckpointReader::readRange(const IndexFile &file, std::uint64_t offset, std::span<std::byte> out) const {
  auto at = opened.find(file.name);
  if (at == opened.end()) {
    if (opened.size() >= maxOpenFiles)
      opened.clear();
    SLUICE_ASSIGN_OR_RETURN(InputFile input, openFile(file));
    at = opened.emplace(file.name, std::move(input)).first;
  }
  return at->second.readAt(offset, out);
}

Status CheckpointReader::read(const std::string &name, std::uint64_t begin, std::span<std::byte> out) const {
  const IndexTensor &tensor = contents.tensors.at(name);
  const std::uint64_t element = elementBytes(tensor.dtype);
  const std::span<const Place> parts = places(name);
  std::size_t place = 0;
  while (!out.empty()) {
    std::optional<ElementRange> found;
    // Consecutive elements are often in the same part.
    for (std::size_t tried = 0; tried < parts.size(); ++tried, place = (place + 1) % parts.size()) {
      found = findInBox(parts[place].part->box, tensor.shape, begin);
      if (found)
        break;
    }
    if (!found)
      return internalError(fmt::format("'{}': element {} of tensor '{}' is in no part", folder, begin, name));
    const std::uint64_t bytes = std::min<std::uint64_t>(found->count * element, out.size());
    SLUICE_RETURN_IF_ERROR(
        readRange(*parts[place].file, parts[place].part->begin + found->begin * element, out.first(bytes)));
    out = out.subspan(bytes);
    begin += bytes / element;
  }
  return Status::ok();
}

} // namespace sluice
