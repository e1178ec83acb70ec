//===- Checkpoint.cpp - the tensors of a checkpoint, in one file or in shards ------------===//
#include "runtime/train/Checkpoint.h"

#include "runtime/base/Json.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/train/Pt2Weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice {

static constexpr std::string_view singleName = "model.safetensors", indexName = "model.safetensors.index.json";

/// Size limit of an index; the largest known ones have a megabyte.
static constexpr std::uint64_t maxIndexBytes = 100'000'000;

template <typename T>
Status CheckpointTensor::readAs(std::uint64_t first, std::span<T> out, std::vector<std::byte> &room) const {
  std::uint64_t element = elementBytes(entry->dtype);
  if (entry->dtype == (sizeof(T) == 8 ? "F64" : "F32"))
    return file->read(*entry, first * element, std::as_writable_bytes(out));
  room.resize(out.size() * element);
  SLUICE_RETURN_IF_ERROR(file->read(*entry, first * element, room));
  auto convert = [&](auto value) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&value, room.data() + i * sizeof value, sizeof value);
      out[i] = static_cast<T>(value);
    }
    return Status::ok();
  };
  if (entry->dtype == "F64")
    return convert(double());
  if (entry->dtype == "F32")
    return convert(float());
  if (entry->dtype == "BF16")
    return convert(cpu::Bf16());
  if (entry->dtype == "F16")
    return convert(cpu::F16());
  return internalError(
      fmt::format("'{}': tensor '{}' of dtype {} read as numbers", file->path(), name(), entry->dtype));
}

template Status CheckpointTensor::readAs<float>(std::uint64_t, std::span<float>, std::vector<std::byte> &) const;
template Status CheckpointTensor::readAs<double>(std::uint64_t, std::span<double>, std::vector<std::byte> &) const;

/// The index's map from tensor to shard.
static Result<std::map<std::string, std::string>> readIndex(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, StatusCode::refused, maxIndexBytes));
  std::string duplicate;
  const auto index = parseJson<nlohmann::json>(text, &duplicate);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object())
    return refusedError(fmt::format("'{}': index is not a JSON object with 'weight_map'", path));
  if (!duplicate.empty())
    return refusedError(fmt::format("'{}': index has key '{}' twice", path, duplicate));
  std::map<std::string, std::string> shards;
  for (const auto &[tensor, value] : map->items()) {
    const std::string name = value.is_string() ? *value.get_ptr<const std::string *>() : "";
    // A name in an untrusted file must not refer to a path outside the folder.
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      return refusedError(
          fmt::format("'{}': shard of tensor '{}', expected the name of a file in the folder of the index but got {}",
                      path, tensor, dumpJson(value)));
    shards[tensor] = name;
  }
  return shards;
}

Status Checkpoint::addShards(const std::string &folder) {
  SLUICE_ASSIGN_OR_RETURN(auto shards, readIndex(name));
  std::set<std::string> names;
  for (const auto &[tensor, shard] : shards)
    names.insert(shard);
  std::map<std::string, const SafetensorsFile *> opened;
  for (const std::string &shard : names) {
    std::string path = folder.empty() ? shard : fmt::format("{}/{}", folder, shard);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      return refusedError(fmt::format("'{}': shard '{}' is missing in the folder of the index", name, shard));
    SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    auto kept = std::make_unique<SafetensorsFile>(std::move(file));
    opened[shard] = kept.get();
    files.push_back(std::move(kept));
  }
  for (const auto &[tensor, shard] : shards)
    if (!opened[shard]->find(tensor))
      return refusedError(fmt::format("'{}': tensor '{}' is missing in its shard '{}'", name, tensor, shard));
  return Status::ok();
}

Status Checkpoint::finish() {
  for (const auto &file : files)
    for (const SafetensorsEntry &entry : file->entries())
      list.push_back({file.get(), &entry});
  std::stable_sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.name() < b.name(); });
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].name() == list[i - 1].name())
      return refusedError(fmt::format("'{}': tensor '{}' is in two shards, '{}' and '{}'", name, list[i].name(),
                                      list[i - 1].file->path(), list[i].file->path()));
  return Status::ok();
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint checkpoint;
  std::error_code error;
  std::string folder = std::filesystem::path(path).parent_path().string();
  checkpoint.name = path;
  if (std::filesystem::is_directory(path, error)) {
    folder = path;
    std::string single = fmt::format("{}/{}", path, singleName), index = fmt::format("{}/{}", path, indexName);
    if (!std::filesystem::exists(single, error) && !std::filesystem::exists(index, error))
      return inputError(fmt::format("'{}': checkpoint folder has neither {} nor {}", path, singleName, indexName));
    checkpoint.name = std::filesystem::exists(single, error) ? single : index;
  }
  if (checkpoint.name.ends_with(".json")) {
    SLUICE_RETURN_IF_ERROR(checkpoint.addShards(folder));
  } else {
    SLUICE_ASSIGN_OR_RETURN(checkpoint.archive, Pt2Weights::isArchive(checkpoint.name));
    if (checkpoint.archive) {
      SLUICE_ASSIGN_OR_RETURN(Pt2Weights file, Pt2Weights::open(checkpoint.name));
      checkpoint.files.push_back(std::make_unique<Pt2Weights>(std::move(file)));
    } else {
      SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(checkpoint.name));
      checkpoint.files.push_back(std::make_unique<SafetensorsFile>(std::move(file)));
    }
  }
  SLUICE_RETURN_IF_ERROR(checkpoint.finish());
  return checkpoint;
}

const CheckpointTensor *Checkpoint::find(std::string_view tensor) const {
  auto at = std::lower_bound(list.begin(), list.end(), tensor,
                             [](const CheckpointTensor &item, std::string_view key) { return item.name() < key; });
  return at != list.end() && at->name() == tensor ? &*at : nullptr;
}

static std::uint64_t bytesOf(const SafetensorsTensor &tensor) {
  std::uint64_t bytes = elementBytes(tensor.dtype);
  for (std::int64_t extent : tensor.shape)
    bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

Status writeCheckpoint(const std::string &folder, std::vector<SafetensorsTensor> tensors, std::uint64_t shardBytes) {
  std::vector<std::vector<SafetensorsTensor>> shards(1);
  std::uint64_t total = 0, inShard = 0;
  for (SafetensorsTensor &tensor : tensors) {
    std::uint64_t bytes = bytesOf(tensor);
    if (inShard + bytes > shardBytes && !shards.back().empty()) {
      shards.emplace_back();
      inShard = 0;
    }
    inShard += bytes;
    total += bytes;
    shards.back().push_back(std::move(tensor));
  }
  // A shard that remains from an earlier save would be read as part of this one.
  auto remove = [&](std::string_view name) {
    std::error_code error;
    std::filesystem::remove(fmt::format("{}/{}", folder, name), error);
  };
  if (shards.size() == 1) {
    SLUICE_RETURN_IF_ERROR(writeSafetensors(fmt::format("{}/{}", folder, singleName), std::move(shards[0])));
    remove(indexName);
    return syncFolder(folder);
  }
  // Until all shards are of this save, the folder is no set of weights.
  remove(indexName);
  SLUICE_RETURN_IF_ERROR(syncFolder(folder));
  auto map = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const SafetensorsTensor &tensor : shards[i])
      map[tensor.name] = name;
    SLUICE_RETURN_IF_ERROR(writeSafetensors(fmt::format("{}/{}", folder, name), std::move(shards[i])));
  }
  nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(fmt::format("{}/{}", folder, indexName)));
  SLUICE_RETURN_IF_ERROR(file.write(dumpJson(index, 2) + "\n"));
  SLUICE_RETURN_IF_ERROR(file.commit());
  remove(singleName);
  return syncFolder(folder);
}

} // namespace sluice
