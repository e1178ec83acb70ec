//===- DataFormat.cpp - the formats of data files ----------------------------------===//
#include "runtime/train/DataFormat.h"
#include "runtime/train/Npy.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sluice {

/// Number of bytes at the start of a file by which its format is recognised.
static constexpr std::uint64_t examinedBytes = 1 << 16;

const std::vector<std::string> &dataFormatNames() {
  static const std::vector<std::string> names = {"auto", "bytes", "u16", "u32", "llmc", "npy", "safetensors", "text"};
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

/// Bytes of the UTF-8 sequence at the start of `rest`; 0 if it is not UTF-8. A sequence that the end of `rest` cuts off
/// counts as complete.
static std::size_t utf8Length(std::string_view rest) {
  const auto first = static_cast<unsigned char>(rest[0]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < std::min(length, rest.size()); ++i)
    if ((static_cast<unsigned char>(rest[i]) & 0xc0) != 0x80)
      return 0;
  return length;
}

/// True for UTF-8 without control characters other than white space and the escape character.
static bool isText(std::string_view head) {
  for (std::size_t at = 0; at < head.size();) {
    const auto c = static_cast<unsigned char>(head[at]);
    const std::size_t length = utf8Length(head.substr(at));
    if (length == 0 || c == 0x7f || (c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b))
      return false;
    at += length;
  }
  return true;
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
  if (path.ends_with(".txt") || path.ends_with(".md") || isText(head))
    return DataFormat::text;
  if (vocabulary == 0 || vocabulary > byteValues)
    return bytesAreNoTokens(path, DataFormat::bytes, vocabulary);
  if (looksLikeIds(head, file.size()))
    return inputError(fmt::format("'{}' may have token ids without a header or one token per byte: every second byte "
                                  "is 0",
                                  path))
        .withNote("pass --data-format u16, u32 or bytes");
  return DataFormat::bytes;
}

} // namespace sluice
