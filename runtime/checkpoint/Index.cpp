//===- Index.cpp - the files of a checkpoint, their tensors and digests --------------===//
#include "runtime/checkpoint/Index.h"

#include "runtime/base/DigestStream.h"
#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {

static constexpr std::string_view indexFormat = "sluice-checkpoint";
/// The index has this as its digest while that is computed.
static std::string noDigest() { return std::string(DigestStream::digits, '0'); }

static nlohmann::json filesToJson(const std::vector<IndexFile> &files) {
  auto json = nlohmann::json::object();
  for (const IndexFile &file : files) {
    auto parts = nlohmann::json::array();
    for (const IndexPart &part : file.parts)
      parts.push_back({{"tensor", part.tensor},
                       {"offset", part.box.offset},
                       {"shape", part.box.shape},
                       {"bytes", {part.begin, part.end}},
                       {"digest", part.digest}});
    json[file.name] = {{"bytes", file.bytes}, {"digest", file.digest}, {"tensors", std::move(parts)}};
  }
  return json;
}

/// The member as text; empty if it is missing or not a text.
static std::string textOf(const nlohmann::json &object, const char *key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? *at->get_ptr<const std::string *>() : std::string();
}

static bool readNumber(const nlohmann::json &value, std::uint64_t &out) {
  const auto *number = value.get_ptr<const std::uint64_t *>();
  out = number ? *number : 0;
  return number;
}

static bool readNumbers(const nlohmann::json &object, const char *key, Extents &out) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array())
    return false;
  for (const nlohmann::json &item : *at) {
    std::uint64_t number = 0;
    if (!readNumber(item, number) || number > INT64_MAX)
      return false;
    out.push_back(static_cast<std::int64_t>(number));
  }
  return true;
}

static bool isFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

static bool readPart(const nlohmann::json &json, IndexPart &part) {
  Extents bytes;
  part.tensor = textOf(json, "tensor");
  part.digest = textOf(json, "digest");
  if (!readNumbers(json, "offset", part.box.offset) || !readNumbers(json, "shape", part.box.shape) ||
      !readNumbers(json, "bytes", bytes) || bytes.size() != 2 || bytes[0] > bytes[1])
    return false;
  part.begin = static_cast<std::uint64_t>(bytes[0]);
  part.end = static_cast<std::uint64_t>(bytes[1]);
  return part.digest.size() == DigestStream::digits && part.box.offset.size() == part.box.shape.size();
}

static bool readFiles(const nlohmann::json &json, std::vector<IndexFile> &files) {
  if (!json.is_object())
    return false;
  for (const auto &[name, value] : json.items()) {
    IndexFile file;
    file.name = name;
    file.digest = textOf(value, "digest");
    const auto bytes = value.find("bytes"), parts = value.find("tensors");
    if (!isFileName(name) || file.digest.size() != DigestStream::digits || bytes == value.end() ||
        !readNumber(*bytes, file.bytes) || parts == value.end() || !parts->is_array())
      return false;
    std::uint64_t at = 0;
    for (const nlohmann::json &each : *parts) {
      IndexPart &part = file.parts.emplace_back();
      if (!readPart(each, part) || part.begin < at || part.end > file.bytes)
        return false;
      at = part.end;
    }
    files.push_back(std::move(file));
  }
  return true;
}

std::string formatFiles(const std::vector<IndexFile> &files) { return dumpJson(filesToJson(files)); }

Result<std::vector<IndexFile>> parseFiles(const std::string &where, std::string_view text) {
  std::vector<IndexFile> files;
  if (!readFiles(parseJson<nlohmann::json>(text), files))
    return internalError(fmt::format("{}: list of files of a checkpoint is malformed", where));
  return files;
}

std::string formatIndex(CheckpointIndex &index) {
  std::sort(index.files.begin(), index.files.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  auto map = nlohmann::json::object(), tensors = nlohmann::json::object();
  std::uint64_t total = 0;
  for (const IndexFile &file : index.files)
    for (const IndexPart &part : file.parts) {
      total += part.end - part.begin;
      if (!map.contains(part.tensor))
        map[part.tensor] = file.name;
    }
  for (const auto &[name, tensor] : index.tensors)
    tensors[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}};
  const nlohmann::json json = {
      {"metadata",
       {{"format", indexFormat}, {"version", std::uint64_t(1)}, {"digest", noDigest()}, {"total_size", total}}},
      {"weight_map", std::move(map)},
      {"tensors", std::move(tensors)},
      {"files", filesToJson(index.files)}};
  std::string text = dumpJson(json) + "\n";
  index.digest = digestOf(text);
  // A file may have the same digest; only the metadata begin with one.
  constexpr std::string_view before = R"("metadata":{"digest":")";
  return text.replace(text.find(before) + before.size(), DigestStream::digits, index.digest);
}

/// Checks that the parts are those of the tensors.
static Status checkParts(const std::string &path, const CheckpointIndex &index) {
  std::map<std::string_view, std::vector<Box>> boxes;
  for (const IndexFile &file : index.files)
    for (const IndexPart &part : file.parts) {
      const auto tensor = index.tensors.find(part.tensor);
      if (tensor == index.tensors.end() || part.box.shape.size() != tensor->second.shape.size())
        return damageError(fmt::format("'{}': file '{}' has a part of tensor '{}', which is not in the index", path,
                                       file.name, part.tensor));
      boxes[tensor->first].push_back(part.box);
      const std::optional<std::uint64_t> elements = elementCount(part.box.shape);
      if (!elements || *elements != (part.end - part.begin) / elementBytes(tensor->second.dtype) ||
          (part.end - part.begin) % elementBytes(tensor->second.dtype) != 0)
        return damageError(fmt::format("'{}': file '{}', bytes of tensor '{}', expected those of {} {} but got {}",
                                       path, file.name, part.tensor, tensor->second.dtype, shapeText(part.box.shape),
                                       part.end - part.begin));
    }
  for (const auto &[name, tensor] : index.tensors)
    if (!coversOnce(boxes[name], tensor.shape))
      return damageError(fmt::format("'{}': the parts of tensor '{}' do not have each element of {} once", path, name,
                                     shapeText(tensor.shape)));
  return Status::ok();
}

Status otherVersionError(const std::string &path, std::uint64_t version) {
  return refusedError(fmt::format("'{}' was written by a later version of Sluice: expected format version 1 but got {}",
                                  path, version))
      .withNote("continue with that version, or give another folder with --checkpoint");
}

Result<CheckpointIndex> parseIndex(const std::string &path, std::string_view text) {
  std::string duplicate;
  const auto json = parseJson<nlohmann::json>(text, &duplicate);
  const auto malformed = [&] {
    return damageError(fmt::format("'{}' is not the index of a training checkpoint of version 1", path));
  };
  if (!json.is_object() || !duplicate.empty())
    return malformed();
  const auto metadata = json.find("metadata"), tensors = json.find("tensors"), files = json.find("files");
  std::uint64_t version = 0;
  if (metadata == json.end() || !metadata->is_object() || textOf(*metadata, "format") != indexFormat ||
      metadata->find("version") == metadata->end() || !readNumber(*metadata->find("version"), version))
    return malformed();
  CheckpointIndex index;
  index.digest = textOf(*metadata, "digest");
  std::string blank(text);
  const std::size_t at = index.digest.size() == DigestStream::digits ? blank.find(index.digest) : std::string::npos;
  if (at == std::string::npos)
    return malformed();
  if (const std::string found = digestOf(blank.replace(at, DigestStream::digits, noDigest())); found != index.digest)
    return damageError(fmt::format("'{}': digest of the index, expected {} but got {}", path, index.digest, found));
  if (version > 1)
    return otherVersionError(path, version);
  if (version != 1 || tensors == json.end() || !tensors->is_object() || files == json.end())
    return malformed();
  for (const auto &[name, value] : tensors->items()) {
    IndexTensor &tensor = index.tensors[name];
    tensor.dtype = textOf(value, "dtype");
    if (!readNumbers(value, "shape", tensor.shape) || !dtypeOf(tensor.dtype) || !elementCount(tensor.shape) ||
        *elementCount(tensor.shape) > INT64_MAX / elementBytes(tensor.dtype))
      return malformed();
  }
  if (!readFiles(*files, index.files))
    return malformed();
  SLUICE_RETURN_IF_ERROR(checkParts(path, index));
  return index;
}

} // namespace sluice
