//===- Zip.h - archives of files that are stored, not compressed ----------------------===//
//
// The container of torch.export's .pt2 archives: every entry is stored, so its bytes are read in place. Archives with
// 64-bit sizes (zip64) are read. An archive may come from anyone: names that occur twice, entries that overlap or reach
// beyond the file, and compressed or encrypted entries are refused.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_ZIP_H
#define SLUICE_RUNTIME_BASE_ZIP_H

#include "runtime/base/File.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace sluice {

class ZipFile {
public:
  struct Entry {
    /// Bytes of the contents: from `offset` in the file, `size` many.
    std::uint64_t offset = 0, size = 0;
    /// The checksum (CRC-32) that the archive states.
    std::uint32_t crc = 0;
  };

  /// Reads the directory of the archive. A file that is no archive, or one that is refused, is an error with `code`.
  static Result<ZipFile> open(const std::string &path, StatusCode code = StatusCode::input);

  const std::string &path() const { return file.path(); }
  /// By name.
  const std::map<std::string, Entry, std::less<>> &entries() const { return directory; }
  /// Null without an entry of this name.
  const Entry *find(std::string_view name) const;
  /// Fills `out` from `offset` of the entry's contents. A range beyond them is an error.
  Status readAt(const Entry &entry, std::uint64_t offset, std::span<std::byte> out) const;
  /// The contents, compared with their checksum; more than `limit` bytes are an error that names `name`.
  Result<std::string> read(std::string_view name, std::uint64_t limit) const;

private:
  ZipFile(InputFile file, StatusCode code) : file(std::move(file)), code(code) {}
  Status readDirectory();
  Status readRecord(std::string_view &records, std::uint64_t directoryOffset);
  Status damaged(const std::string &why) const;

  InputFile file;
  StatusCode code;
  std::map<std::string, Entry, std::less<>> directory;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_ZIP_H
