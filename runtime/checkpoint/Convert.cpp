//===- Convert.cpp - checkpoints into other checkpoints and into weights -------------===//
#include "runtime/checkpoint/Convert.h"

#include "runtime/base/Json.h"
#include "runtime/base/ShardMath.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Save.h"
#include "runtime/checkpoint/Shards.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/train/Checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {

/// The box of a shard: a chunk of the first dim; a scalar is in the first shard. nullopt: the shard has none.
static std::optional<Box> chunkBox(const Extents &shape, std::uint64_t shards, std::uint64_t shard) {
  Box box{Extents(shape.size()), shape};
  if (shape.empty())
    return shard == 0 ? std::optional(box) : std::nullopt;
  const std::int64_t chunk = chunkOf(shape[0], static_cast<std::int64_t>(shards));
  box.offset[0] = chunkBegin(shape[0], chunk, static_cast<std::int64_t>(shard));
  box.shape[0] = validExtent(shape[0], chunk, static_cast<std::int64_t>(shard));
  return box.shape[0] > 0 ? std::optional(std::move(box)) : std::nullopt;
}

Status convertCheckpoint(const CheckpointReader &reader, const std::string &path, std::uint64_t shards) {
  const std::string partial = path + std::string(partialSuffix);
  std::error_code error;
  if (std::filesystem::exists(path, error))
    return inputError(fmt::format("'{}' exists already, and a checkpoint is written to a new folder", path));
  std::filesystem::remove_all(partial, error);
  if (!std::filesystem::create_directory(partial, error))
    return writeError(partial, error ? error.value() : EEXIST);
  CheckpointIndex index;
  index.tensors = reader.index().tensors;
  std::vector<std::byte> block(checkpointBlock);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    std::vector<ShardTensor> tensors;
    for (const auto &[name, tensor] : index.tensors)
      if (std::optional<Box> box = chunkBox(tensor.shape, shards, shard))
        tensors.push_back(
            {name, *dtypeOf(tensor.dtype), tensor.shape, std::move(*box),
             [&reader, name](std::uint64_t begin, std::span<std::byte> out) { return reader.read(name, begin, out); }});
    SLUICE_ASSIGN_OR_RETURN(std::vector<IndexFile> files,
                            writeShards(partial, static_cast<int>(shard + 1), tensors, block));
    std::move(files.begin(), files.end(), std::back_inserter(index.files));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string state, reader.text(trainingStateName));
  SLUICE_ASSIGN_OR_RETURN(const std::string config, reader.text(modelConfigName));
  return completeCheckpoint(partial, path, std::move(index), state, config);
}

/// Passes the tensor's elements to `sink`, converted to `dtype`.
static Status emitAs(const CheckpointReader &reader, const std::string &name, DType stored, DType dtype,
                     std::uint64_t elements, const SafetensorsTensor::Sink &sink) {
  const std::uint64_t count = std::min(checkpointBlock / 8, elements);
  std::vector<std::byte> read(count * dtypeBytes(stored)), written(count * dtypeBytes(dtype));
  for (std::uint64_t at = 0; at < elements; at += count) {
    const std::uint64_t next = std::min(count, elements - at);
    const std::span<std::byte> bytes = std::span(read).first(next * dtypeBytes(stored));
    SLUICE_RETURN_IF_ERROR(reader.read(name, at, bytes));
    if (stored == dtype) {
      SLUICE_RETURN_IF_ERROR(sink(bytes));
      continue;
    }
    for (std::uint64_t i = 0; i < next; ++i)
      cpu::storeNumber(written.data(), dtype, i, cpu::loadNumber(read.data(), stored, i));
    SLUICE_RETURN_IF_ERROR(sink(std::span(written).first(next * dtypeBytes(dtype))));
  }
  return Status::ok();
}

/// The configuration with the dtype of the weights, which a reader would otherwise convert to the one that it names.
static std::string configWith(const std::string &text, DType dtype, bool isGiven) {
  static constexpr const char *names[] = {"float32", "float64", "bfloat16", "float16"};
  Json config = parseJson<Json>(text);
  bool isChanged = false;
  for (const char *key : {"dtype", "torch_dtype"})
    if (const auto member = config.find(key);
        member != config.end() && *member != names[static_cast<std::size_t>(dtype)]) {
      *member = names[static_cast<std::size_t>(dtype)];
      isChanged = true;
    }
  if (isGiven && config.is_object() && !config.contains("dtype") && !config.contains("torch_dtype")) {
    config["dtype"] = names[static_cast<std::size_t>(dtype)];
    isChanged = true;
  }
  return isChanged ? dumpJson(config, 2) + "\n" : text;
}

Status exportCheckpoint(const CheckpointReader &reader, const std::string &folder, const std::string &dtype,
                        std::uint64_t shardBytes) {
  SLUICE_RETURN_IF_ERROR(checkWritableFolder(folder));
  std::string upper = dtype;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::optional<DType> wanted = dtypeOf(upper);
  std::vector<SafetensorsTensor> tensors;
  DType written = DType::f32;
  for (const auto &[name, tensor] : reader.index().tensors) {
    if (name.starts_with("optimizer.state."))
      continue;
    const DType stored = *dtypeOf(tensor.dtype), target = wanted && isFloat(stored) ? *wanted : stored;
    if (isFloat(stored))
      written = target;
    const std::uint64_t elements = elementCount(tensor.shape).value_or(0);
    tensors.push_back({name, safetensorsName(target), tensor.shape,
                       [&reader, name, stored, target, elements](const SafetensorsTensor::Sink &sink) {
                         return emitAs(reader, name, stored, target, elements, sink);
                       }});
  }
  SLUICE_RETURN_IF_ERROR(writeCheckpoint(folder, std::move(tensors), shardBytes));
  SLUICE_ASSIGN_OR_RETURN(const std::string config, reader.text(modelConfigName));
  if (config.empty())
    return Status::ok();
  const std::string text = configWith(config, written, wanted.has_value());
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder + "/config.json"));
  SLUICE_RETURN_IF_ERROR(file.write(text.ends_with('\n') ? text : text + "\n"));
  return file.commit();
}

} // namespace sluice
