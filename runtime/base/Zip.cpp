//===- Zip.cpp - archives of files that are stored, not compressed --------------------===//
//
// The format is PKWARE's APPNOTE.TXT: local headers before the contents (4.3.7), one directory at the end (4.3.12),
// whose place is in a record after it (4.3.16), or in two for 64-bit sizes (4.3.14, 4.3.15). Numbers are
// little-endian.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Zip.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

using namespace sluice;

namespace {

constexpr std::uint32_t localSignature = 0x04034b50, directorySignature = 0x02014b50, endSignature = 0x06054b50,
                        end64Signature = 0x06064b50, locatorSignature = 0x07064b50;
constexpr std::size_t localSize = 30, recordSize = 46, endSize = 22, locatorSize = 20, end64Size = 56;
/// The longest comment after the end record.
constexpr std::uint64_t longestComment = 0xffff;
constexpr std::uint32_t in64 = 0xffffffff;
/// Flags: encrypted, sizes follow the contents, strongly encrypted, encrypted directory.
constexpr std::uint64_t encryptedFlags = 1 | 1 << 6 | 1 << 13;

std::uint64_t number(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

/// CRC-32 of ISO-HDLC: the polynomial 0x04c11db7 with reflected bits.
std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit)
        value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320 : 0);
      table[byte] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

Result<std::string> readBytes(const InputFile &file, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

} // namespace

Status ZipFile::damaged(const std::string &why) const {
  return Status(code, concat(path(), ": archive that is damaged: ", why)).asDamage();
}

Result<ZipFile> ZipFile::open(const std::string &path, StatusCode code) {
  SLUICE_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path, code));
  ZipFile archive(std::move(file), code);
  SLUICE_RETURN_IF_ERROR(archive.readDirectory());
  return archive;
}

Status ZipFile::readDirectory() {
  const std::uint64_t bytes = file.size(), tailSize = std::min(bytes, longestComment + endSize + locatorSize);
  SLUICE_ASSIGN_OR_RETURN(const std::string tail, readBytes(file, bytes - tailSize, tailSize));
  // The last end record whose comment reaches the end of the file.
  std::size_t end = tail.size() < endSize ? std::string::npos : tail.size() - endSize;
  for (;; --end) {
    if (end == std::string::npos)
      return Status(code, path() + ": not a zip archive").asDamage();
    if (number(tail, end, 4) == endSignature && end + endSize + number(tail, end + 20, 2) == tail.size())
      break;
  }
  std::uint64_t count = number(tail, end + 10, 2), size = number(tail, end + 12, 4), offset = number(tail, end + 16, 4);
  if (number(tail, end + 4, 2) != number(tail, end + 6, 2))
    return Status(code, path() + ": archive of several files, which is not supported");
  if (end >= locatorSize && number(tail, end - locatorSize, 4) == locatorSignature) {
    const std::uint64_t at = number(tail, end - locatorSize + 8, 8);
    if (at > bytes || bytes - at < end64Size)
      return damaged("its 64-bit end record is beyond the end of the file");
    SLUICE_ASSIGN_OR_RETURN(const std::string end64, readBytes(file, at, end64Size));
    if (number(end64, 0, 4) != end64Signature)
      return damaged("no 64-bit end record where its locator says");
    count = number(end64, 32, 8), size = number(end64, 40, 8), offset = number(end64, 48, 8);
  }
  if (offset > bytes || bytes - offset < size)
    return damaged("its directory reaches beyond the end of the file");
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readBytes(file, offset, size));
  std::string_view records = text;
  for (std::uint64_t i = 0; i < count; ++i)
    SLUICE_RETURN_IF_ERROR(readRecord(records, offset));
  if (!records.empty())
    return damaged("its directory has bytes after its last record");

  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto &[name, entry] : directory)
    if (entry.size != 0)
      ranges.emplace_back(entry.offset, entry.offset + entry.size);
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return damaged(concat("two entries share the byte ", ranges[i].first));
  return Status::ok();
}

/// Takes the record at the beginning of `records`.
Status ZipFile::readRecord(std::string_view &records, std::uint64_t directoryOffset) {
  if (records.size() < recordSize || number(records, 0, 4) != directorySignature)
    return damaged("its directory ends early");
  const std::uint64_t flags = number(records, 8, 2), method = number(records, 10, 2);
  const std::size_t nameSize = number(records, 28, 2), extraSize = number(records, 30, 2),
                    commentSize = number(records, 32, 2);
  if (records.size() - recordSize < nameSize + extraSize + commentSize)
    return damaged("its directory ends early");
  const std::string name(records.substr(recordSize, nameSize));
  Entry entry;
  entry.crc = static_cast<std::uint32_t>(number(records, 16, 4));
  std::uint64_t stored = number(records, 20, 4), header = number(records, 42, 4);
  entry.size = number(records, 24, 4);
  // 64-bit values are in an extra field, in this order, each only where its 32 bits are all ones.
  std::string_view extra = records.substr(recordSize + nameSize, extraSize);
  while (extra.size() >= 4) {
    const std::size_t fieldSize = number(extra, 2, 2);
    if (extra.size() - 4 < fieldSize)
      return damaged(concat("the extra field of '", printable(name), "' ends early"));
    if (number(extra, 0, 2) == 1) {
      std::size_t at = 4;
      for (std::uint64_t *value : {&entry.size, &stored, &header})
        if (*value == in64) {
          if (at + 8 > 4 + fieldSize)
            return damaged(concat("the 64-bit sizes of '", printable(name), "' are missing"));
          *value = number(extra, at, 8);
          at += 8;
        }
    }
    extra.remove_prefix(4 + fieldSize);
  }
  records.remove_prefix(recordSize + nameSize + extraSize + commentSize);

  if ((flags & encryptedFlags) != 0)
    return Status(code, concat(path(), ": '", printable(name), "' is encrypted, which is not supported"));
  if (method != 0)
    return Status(code, concat(path(), ": '", printable(name), "' is compressed, expected a stored entry"))
        .withNote("torch.save and torch.export.save store entries: write the file with them, not with a zip program");
  if (stored != entry.size)
    return damaged(concat("'", printable(name), "' is stored, but has two sizes"));
  if (header > directoryOffset || directoryOffset - header < localSize)
    return damaged(concat("'", printable(name), "' is not before the directory"));
  SLUICE_ASSIGN_OR_RETURN(const std::string local, readBytes(file, header, localSize));
  const std::uint64_t headerSize = localSize + number(local, 26, 2) + number(local, 28, 2);
  if (number(local, 0, 4) != localSignature || number(local, 26, 2) != nameSize)
    return damaged(concat("'", printable(name), "' is not where the directory says"));
  if (directoryOffset - header < headerSize || directoryOffset - header - headerSize < entry.size)
    return damaged(concat("'", printable(name), "' is not before the directory"));
  SLUICE_ASSIGN_OR_RETURN(const std::string localName, readBytes(file, header + localSize, nameSize));
  if (localName != name)
    return damaged(concat("'", printable(name), "' is not where the directory says"));
  entry.offset = header + headerSize;
  if (!directory.emplace(name, entry).second)
    return damaged(concat("it has '", printable(name), "' twice"));
  return Status::ok();
}

const ZipFile::Entry *ZipFile::find(std::string_view name) const {
  const auto entry = directory.find(name);
  return entry == directory.end() ? nullptr : &entry->second;
}

Status ZipFile::readAt(const Entry &entry, std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > entry.size || entry.size - offset < out.size())
    return damaged(concat("an entry of ", entry.size, " bytes has no bytes ", offset, " to ", offset + out.size()));
  return file.readAt(entry.offset + offset, out);
}

Result<std::string> ZipFile::read(std::string_view name, std::uint64_t limit) const {
  const Entry *entry = find(name);
  if (!entry)
    return Status(code, concat(path(), ": archive without '", printable(name), "'"));
  if (entry->size > limit)
    return Status(code,
                  concat(path(), ": '", printable(name), "' has ", entry->size, " bytes, expected at most ", limit));
  std::string text(entry->size, '\0');
  SLUICE_RETURN_IF_ERROR(readAt(*entry, 0, std::as_writable_bytes(std::span(text))));
  if (checksum(text) != entry->crc)
    return damaged(concat("the checksum of '", printable(name), "' is wrong"));
  return text;
}
