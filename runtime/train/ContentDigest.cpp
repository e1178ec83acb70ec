//===- ContentDigest.cpp - recognises the content of large files -------------------===//
#include "runtime/train/ContentDigest.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::uint64_t blockBytes = 64 << 10, mostBlocks = 1024;

std::span<const std::uint8_t> asBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

class Digester {
public:
  void add(std::span<const std::uint8_t> bytes) { digest = sha256({digest, bytes}); }

  /// The file's size and at most `blocks` blocks of it.
  Status addFile(const std::string &path, std::uint64_t blocks) {
    SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
    total += file.size();
    add(asBytes(std::to_string(file.size())));
    const std::uint64_t count = (file.size() + blockBytes - 1) / blockBytes, taken = std::min(count, blocks);
    std::vector<std::byte> block(blockBytes);
    for (std::uint64_t i = 0; i < taken; ++i) {
      const std::uint64_t from = (taken == 1 ? 0 : i * (count - 1) / (taken - 1)) * blockBytes;
      const auto part = std::span(block).first(std::min(blockBytes, file.size() - from));
      SLUICE_RETURN_IF_ERROR(file.readAt(from, part));
      add({reinterpret_cast<const std::uint8_t *>(part.data()), part.size()});
    }
    return {};
  }

  std::string text() const { return fmt::format("{}, {} bytes", toHex(std::span(digest).first(8)), total); }

private:
  Digest digest{};
  std::uint64_t total = 0;
};

} // namespace

Result<std::string> contentDigest(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const std::string &path : paths) {
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    std::error_code error;
    for (std::filesystem::directory_iterator at(path, error); !error && at != std::filesystem::directory_iterator();
         at.increment(error))
      if (at->path().extension() == ".safetensors" || at->path().extension() == ".json")
        inside.push_back(at->path().string());
    if (error)
      return inputError(fmt::format("cannot list '{}': {}", path, error.message()));
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  Digester digester;
  for (const std::string &file : files)
    if (file.starts_with("random:"))
      digester.add(asBytes(file));
    else
      SLUICE_RETURN_IF_ERROR(digester.addFile(file, std::max<std::uint64_t>(mostBlocks / files.size(), 2)));
  return digester.text();
}

} // namespace sluice
