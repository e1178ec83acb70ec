//===- ByteLevel.cpp - GPT-2's characters for bytes ----------------------------------------===//
#include "runtime/text/ByteLevel.h"
#include "runtime/text/Unicode.h"

#include <array>
#include <cstdint>

namespace sluice::text {
namespace {

struct Table {
  std::array<std::string, 256> character;
  /// Of the characters below U+0144; -1: none.
  std::array<int, 0x144> byte;

  Table() {
    byte.fill(-1);
    char32_t other = 0x100;
    for (unsigned value = 0; value < 256; ++value) {
      const bool isPrintable =
          (value > 0x20 && value < 0x7F) || (value > 0xA0 && value < 0xAD) || (value > 0xAD && value < 0x100);
      const char32_t c = isPrintable ? value : other++;
      character[value] = utf8(c);
      byte[c] = static_cast<int>(value);
    }
  }
};

} // namespace

static const Table &table() {
  static const Table instance;
  return instance;
}

std::string toByteCharacters(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes)
    text += table().character[static_cast<std::uint8_t>(c)];
  return text;
}

std::optional<std::string> fromByteCharacters(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = nextCodePoint(text, at);
    if (c >= table().byte.size() || table().byte[c] < 0)
      return std::nullopt;
    bytes += static_cast<char>(table().byte[c]);
  }
  return bytes;
}

} // namespace sluice::text
