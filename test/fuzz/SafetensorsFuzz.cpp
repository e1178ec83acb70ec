//===- SafetensorsFuzz.cpp - reads any bytes as weights and as the index of shards --------===//
#include "Fuzz.h"

#include "runtime/base/Json.h"
#include "runtime/train/Checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sluice;

namespace {

std::string contentsOf(const SafetensorsFile &file, const SafetensorsEntry &entry) {
  std::string bytes(entry.bytes(), '\0');
  fuzz::claim(file.read(entry, 0, std::as_writable_bytes(std::span(bytes))).isOk(), "a tensor cannot be read");
  return bytes;
}

/// Writes the tensors of the file, and claims that they are read again.
void writeAgain(const SafetensorsFile &file) {
  static const fuzz::MemoryFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  std::vector<SafetensorsTensor> tensors;
  for (const SafetensorsEntry &entry : file.entries())
    tensors.push_back({entry.name, entry.dtype, entry.shape, [&](const SafetensorsTensor::Sink &sink) {
                         const std::string bytes = contentsOf(file, entry);
                         return sink(std::as_bytes(std::span(bytes)));
                       }});
  fuzz::claim(writeSafetensors(path, std::move(tensors)).isOk(), "tensors that were read cannot be written");
  const Result<SafetensorsFile> again = SafetensorsFile::open(path);
  fuzz::claim(again.isOk(), "the written file cannot be read");
  fuzz::claim(std::ranges::equal(file.entries(), again->entries(),
                                 [&](const SafetensorsEntry &a, const SafetensorsEntry &b) {
                                   return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape &&
                                          contentsOf(file, a) == contentsOf(*again, b);
                                 }),
              "the written file has different tensors");
}

void open(std::string_view bytes) {
  static fuzz::MemoryFile memory;
  memory.write(bytes);
  const Result<SafetensorsFile> file = SafetensorsFile::open(memory.path());
  if (file.isOk())
    writeAgain(*file);
  else
    fuzz::claimReported(file.status());
}

/// An index beside a file with the tensor `t`.
void openIndex(std::string_view text) {
  static const fuzz::MemoryFolder folder;
  static const Status shard = writeSafetensors(
      folder.path() + "/a.safetensors",
      {{"t", "U8", {1}, [](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span("", 1))); }}});
  fuzz::claim(shard.isOk(), shard.message());
  static fuzz::MemoryFile index(folder.path() + "/model.safetensors.index.json");
  index.write(text);
  const Result<Checkpoint> checkpoint = Checkpoint::open(index.path());
  if (!checkpoint.isOk())
    return fuzz::claimReported(checkpoint.status());
  fuzz::claim(checkpoint->tensors().size() <= 1, "the index adds a tensor that is in no shard");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  if (!text.starts_with('{')) {
    open(text);
    return 0;
  }
  // JSON is an index, and a header up to the first zero byte: its length is right however the text changes.
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::uint64_t length = end;
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
  bytes += text.substr(0, end);
  bytes += text.substr(std::min(end + 1, text.size()));
  open(bytes);
  openIndex(text);
  return 0;
}
