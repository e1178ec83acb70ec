//===- Shards.cpp - writes the files of one rank -----------------------------------------===//
#include "runtime/checkpoint/Shards.h"

#include "runtime/base/DigestStream.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

/// Passes the elements of the box to `sink`, blocks of several ranges at once.
static Status emitBox(const ShardTensor &tensor, std::span<std::byte> block, const SafetensorsTensor::Sink &sink) {
  const std::uint64_t element = dtypeBytes(tensor.dtype);
  block = block.first(block.size() / element * element);
  std::size_t used = 0;
  const auto flush = [&] {
    Status status = used == 0 ? Status::ok() : sink(block.first(used));
    used = 0;
    return status;
  };
  for (const ElementRange &range : rangesOf(tensor.box, tensor.shape))
    for (std::uint64_t at = 0; at < range.count;) {
      const std::uint64_t count = std::min(range.count - at, (block.size() - used) / element);
      SLUICE_RETURN_IF_ERROR(tensor.read(range.begin + at, block.subspan(used, count * element)));
      used += count * element;
      at += count;
      if (used == block.size())
        SLUICE_RETURN_IF_ERROR(flush());
    }
  return flush();
}

static Result<IndexFile> writeShard(const std::string &folder, std::string name,
                                    const std::vector<const ShardTensor *> &tensors, std::span<std::byte> block) {
  IndexFile file;
  file.name = std::move(name);
  DigestStream all;
  std::vector<SafetensorsTensor> list;
  auto offsets = nlohmann::json::object();
  for (const ShardTensor *tensor : tensors) {
    offsets[tensor->name] = {{"saved_offsets", tensor->box.offset}};
    list.push_back({tensor->name, safetensorsName(tensor->dtype), tensor->box.shape,
                    [&file, tensor, block](const SafetensorsTensor::Sink &sink) {
                      IndexPart part{tensor->name, tensor->box, file.bytes, 0, ""};
                      DigestStream digest;
                      SLUICE_RETURN_IF_ERROR(emitBox(*tensor, block, [&](std::span<const std::byte> bytes) {
                        digest.add(bytes);
                        return sink(bytes);
                      }));
                      part.end = file.bytes;
                      part.digest = digest.text();
                      file.parts.push_back(std::move(part));
                      return Status::ok();
                    }});
  }
  SLUICE_RETURN_IF_ERROR(writeSafetensors(folder + "/" + file.name, std::move(list),
                                          {{"DCP_VERSION", "1.0"}, {"DCP_SHARDING_INFO", dumpJson(offsets)}},
                                          [&](std::span<const std::byte> bytes) {
                                            file.bytes += bytes.size();
                                            all.add(bytes);
                                            return Status::ok();
                                          }));
  file.digest = all.text();
  return file;
}

static constexpr std::string_view shardPrefix = "shard-";

std::uint64_t shardOf(std::string_view file) {
  std::uint64_t shard = 0;
  if (file.starts_with(shardPrefix))
    std::from_chars(file.data() + shardPrefix.size(), file.data() + file.size(), shard);
  return shard;
}

Result<std::vector<IndexFile>> writeShards(const std::string &folder, int shard,
                                           const std::vector<ShardTensor> &tensors, std::span<std::byte> block) {
  std::vector<std::vector<const ShardTensor *>> contents;
  std::map<std::string_view, std::size_t> used;
  for (const ShardTensor &tensor : tensors) {
    const std::size_t file = used[tensor.name]++;
    contents.resize(std::max(contents.size(), file + 1));
    contents[file].push_back(&tensor);
  }
  std::vector<IndexFile> files;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(IndexFile file, writeShard(folder,
                                                       fmt::format("{}{:05}-model-{:05}-of-{:05}.safetensors",
                                                                   shardPrefix, shard, i + 1, contents.size()),
                                                       contents[i], block));
    files.push_back(std::move(file));
  }
  return files;
}

} // namespace sluice
