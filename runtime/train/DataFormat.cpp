//===- DataFormat.cpp - the formats of data files ----------------------------------===//
#include "runtime/train/DataFormat.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/train/Npy.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sluice {

/// Number of bytes at the start of a file by which its format is recognised.
static constexpr std::uint64_t examinedBytes = 1 << 16;

const std::vector<std::string> &dataFormatNames() {
  static const std::vector<std::string> names = {"auto",        "bytes", "u16",      "u32",      "llmc",  "npy",
                                                 "safetensors", "text",  "messages", "sharegpt", "alpaca"};
  return names;
}

std::string_view dataFormatName(DataFormat format) { return dataFormatNames()[static_cast<std::size_t>(format)]; }

std::optional<DataFormat> dataFormatOf(std::string_view name) {
  const auto at = std::ranges::find(dataFormatNames(), name);
  return at == dataFormatNames().end() ? std::nullopt
                                       : std::optional(static_cast<DataFormat>(at - dataFormatNames().begin()));
}

bool hasSafetensorsName(const std::string &path) { return path.ends_with(".safetensors"); }

bool isTokenFileMagic(std::int32_t number) { return number == 20240520 || number == 20240801; }

static bool isControl(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  return c == 0x7f || (c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b);
}

/// True for UTF-8 without control characters other than white space and the escape character.
static bool isText(std::string_view head) {
  return findNotUtf8(head) == head.size() && std::ranges::none_of(head, isControl);
}

/// True if every second byte is 0, as in 16-bit token ids below 256.
static bool looksLikeIds(std::string_view head, std::uint64_t size) {
  if (size % 2 != 0)
    return false;
  for (std::size_t i = 1; i < head.size(); i += 2)
    if (head[i] != 0)
      return false;
  return true;
}

namespace {

/// A format of archives, compressed files or tables, by its first bytes.
struct Container {
  std::string_view magic, name, remedy;
};

constexpr std::string_view decompress = "decompress it",
                           extract = "extract its files: numpy.save writes an array of "
                                     "token ids that is read (.npy)",
                           convert = "write its texts or token ids into a file of one of the formats of --data-format";

constexpr Container containers[] = {
    {"PK\x03\x04", "a zip archive (.zip, .npz, .pt)", extract},
    {"PK\x05\x06", "an empty zip archive", extract},
    {"\x1f\x8b", "compressed by gzip", decompress},
    {"\x28\xb5\x2f\xfd", "compressed by zstd", decompress},
    {"\xfd"
     "7zXZ",
     "compressed by xz", decompress},
    {"BZh", "compressed by bzip2", decompress},
    {"\x04\x22\x4d\x18", "compressed by lz4", decompress},
    {"7z\xbc\xaf", "a 7z archive", extract},
    {"PAR1", "a Parquet file", convert},
    {"ARROW1", "an Arrow file", convert},
    {"\xff\xff\xff\xff", "a stream of Arrow, or token ids without a header", convert},
    {"ORC", "an ORC file", convert},
    {"Obj\x01", "an Avro file", convert},
    {"\x89HDF", "an HDF5 file", convert},
    {"SQLite format 3", "an SQLite file", convert},
    {"MMIDIDX", "an index of Megatron, whose tokens are in the .bin file", "pass the .bin file with --data-format u16"},
    {"GGUF", "a GGUF file", convert},
    {"%PDF-", "a PDF document", convert},
    {"\x80\x02", "a pickle of Python", convert},
    {"\x80\x03", "a pickle of Python", convert},
    {"\x80\x04\x95", "a pickle of Python", convert},
    {"\x80\x05\x95", "a pickle of Python", convert},
    {"\xff\xfe", "text in UTF-16", "convert the text to UTF-8 with iconv"},
    {"\xfe\xff", "text in UTF-16", "convert the text to UTF-8 with iconv"},
};

} // namespace

static const Container *findContainer(std::string_view head) {
  static constexpr Container tar = {"", "a tar archive", extract};
  constexpr std::size_t tarMagic = 257;
  if (head.size() > tarMagic && head.substr(tarMagic).starts_with("ustar"))
    return &tar;
  const auto *found =
      std::ranges::find_if(containers, [&](const Container &item) { return head.starts_with(item.magic); });
  return found == std::end(containers) ? nullptr : found;
}

/// True for JSON by the name of the file.
static bool hasJsonName(const std::string &path) {
  std::string suffix = path.substr(std::min(path.rfind('.'), path.size()));
  std::ranges::transform(suffix, suffix.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; });
  return suffix == ".json" || suffix == ".jsonl" || suffix == ".ndjson";
}

/// True for text that begins with an object that has the members of a conversation.
static bool beginsWithConversation(std::string_view head) {
  const std::size_t first = head.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '['))
    return false;
  const std::vector<std::string> members = firstMembers(head);
  const auto has = [&](std::string_view name) { return std::ranges::find(members, name) != members.end(); };
  return has("messages") || has("conversations") || (has("instruction") && has("output"));
}

static std::string vocabularyText(std::uint64_t vocabulary) {
  return vocabulary ? fmt::format("a vocabulary of {}", vocabulary) : "a model without the size of its vocabulary";
}

Status bytesAreNoTokens(const std::string &path, DataFormat format, std::uint64_t vocabulary) {
  if (format == DataFormat::text)
    return inputError(
               fmt::format("'{}' is text, and its bytes cannot be the tokens of {}", path, vocabularyText(vocabulary)))
        .withNote("--tokenizer turns text into tokens; --data-format bytes makes each byte a token");
  return inputError(fmt::format("'{}' is neither a token file with a header nor a safetensors file, and its bytes "
                                "cannot be the tokens of {}",
                                path, vocabularyText(vocabulary)))
      .withNote("--data-format u16 reads 16-bit token ids without a header (nanoGPT's train.bin), --data-format u32 "
                "32-bit ones");
}

Result<DataFormat> detectDataFormat(const InputFile &file, std::uint64_t vocabulary) {
  const std::string &path = file.path();
  if (hasSafetensorsName(path))
    return DataFormat::safetensors;
  std::string head(static_cast<std::size_t>(std::min(file.size(), examinedBytes)), '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(head))));
  std::int32_t magic = 0;
  std::memcpy(&magic, head.data(), std::min(head.size(), sizeof magic));
  if (isTokenFileMagic(magic))
    return DataFormat::llmc;
  if (head.starts_with(npyMagic) || path.ends_with(".npy"))
    return DataFormat::npy;
  const bool hasText = isText(head);
  if (const Container *container = hasText ? nullptr : findContainer(head))
    return inputError(fmt::format("'{}' is {}, whose bytes are not tokens", path, container->name))
        .withNote(std::string(container->remedy))
        .withNote("--data-format bytes makes each byte a token");
  if (hasJsonName(path) || (hasText && beginsWithConversation(head)))
    return DataFormat::messages;
  if (hasText || path.ends_with(".txt") || path.ends_with(".md"))
    return DataFormat::text;
  if (vocabulary == 0 || vocabulary > byteValues) {
    if (std::ranges::none_of(head, isControl))
      return inputError(fmt::format("'{}' is text that is not UTF-8: byte {} is not", path, findNotUtf8(head)))
          .withNote("convert the text with iconv, or pass the format with --data-format");
    return bytesAreNoTokens(path, DataFormat::bytes, vocabulary);
  }
  if (looksLikeIds(head, file.size()))
    return inputError(fmt::format("'{}' may have token ids without a header or one token per byte: every second byte "
                                  "is 0",
                                  path))
        .withNote("pass --data-format u16, u32 or bytes");
  return DataFormat::bytes;
}

} // namespace sluice
