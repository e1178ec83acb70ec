//===- ZipBuilder.h - builds archives of stored files for unit tests ----------------------===//
#ifndef SLUICE_TEST_UNIT_ZIPBUILDER_H
#define SLUICE_TEST_UNIT_ZIPBUILDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

inline void put(std::string &bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    bytes += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

inline std::uint32_t checksumOf(const std::string &bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes)
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (((crc ^ static_cast<unsigned char>(byte) >> bit) & 1) != 0 ? 0xedb88320 : 0);
  return ~crc;
}

/// An entry of an archive under construction. Numbers are changed by tests.
struct Part {
  std::string name, contents;
  std::uint64_t flags = 0, method = 0;
  std::optional<std::uint64_t> size, stored, offset;
  std::string localName;

  Part(std::string name, std::string contents, std::uint64_t flags = 0, std::uint64_t method = 0,
       std::optional<std::uint64_t> size = {}, std::optional<std::uint64_t> stored = {},
       std::optional<std::uint64_t> offset = {}, const std::string &local = "")
      : name(name), contents(std::move(contents)), flags(flags), method(method), size(size), stored(stored),
        offset(offset), localName(local.empty() ? name : local) {}
};

/// An archive as torch writes it; `is64` with the records for 64-bit sizes.
inline std::string archiveOf(std::vector<Part> parts, bool is64 = false, const std::string &comment = "") {
  std::string bytes, directory;
  for (const Part &part : parts) {
    const std::uint64_t offset = part.offset.value_or(bytes.size()), size = part.size.value_or(part.contents.size()),
                        stored = part.stored.value_or(part.contents.size());
    put(bytes, 0x04034b50, 4);
    for (std::uint64_t field : {std::uint64_t(20), part.flags, part.method, std::uint64_t(0), std::uint64_t(0)})
      put(bytes, field, 2);
    for (std::uint64_t field : {std::uint64_t(0), stored, size})
      put(bytes, field, 4);
    put(bytes, part.localName.size(), 2);
    put(bytes, 0, 2);
    bytes += part.localName + part.contents;
    put(directory, 0x02014b50, 4);
    for (std::uint64_t field :
         {std::uint64_t(20), std::uint64_t(20), part.flags, part.method, std::uint64_t(0), std::uint64_t(0)})
      put(directory, field, 2);
    put(directory, checksumOf(part.contents), 4);
    put(directory, is64 ? 0xffffffff : stored, 4);
    put(directory, is64 ? 0xffffffff : size, 4);
    put(directory, part.name.size(), 2);
    put(directory, is64 ? 28 : 0, 2);
    put(directory, 0, 2 + 2 + 2 + 4);
    put(directory, is64 ? 0xffffffff : offset, 4);
    directory += part.name;
    if (is64) {
      put(directory, 1, 2);
      put(directory, 24, 2);
      for (std::uint64_t field : {size, stored, offset})
        put(directory, field, 8);
    }
  }
  const std::uint64_t begin = bytes.size();
  bytes += directory;
  if (is64) {
    const std::uint64_t end = bytes.size();
    put(bytes, 0x06064b50, 4);
    put(bytes, 44, 8);
    put(bytes, 0, 2 + 2 + 4 + 4);
    for (std::uint64_t field :
         {std::uint64_t(parts.size()), std::uint64_t(parts.size()), std::uint64_t(directory.size()), begin})
      put(bytes, field, 8);
    put(bytes, 0x07064b50, 4);
    put(bytes, 0, 4);
    put(bytes, end, 8);
    put(bytes, 1, 4);
  }
  put(bytes, 0x06054b50, 4);
  put(bytes, 0, 4);
  put(bytes, is64 ? 0xffff : parts.size(), 2);
  put(bytes, is64 ? 0xffff : parts.size(), 2);
  put(bytes, is64 ? 0xffffffff : directory.size(), 4);
  put(bytes, is64 ? 0xffffffff : begin, 4);
  put(bytes, comment.size(), 2);
  return bytes + comment;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_ZIPBUILDER_H
