//===- File.h - files that are read by ranges, and written atomically --------------===//
//
// InputFile reads byte ranges; OutputFile writes a temporary file in the folder of its destination and renames it at
// commit(), so a reader sees the old file or the complete new one. Every failure names the path and the system's
// message.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_FILE_H
#define SLUICE_RUNTIME_TRAIN_FILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class InputFile {
public:
  /// Opens a regular file. Missing, unreadable and a directory are errors of the input; failures to read have `code`.
  static Result<InputFile> open(const std::string &path, StatusCode code = StatusCode::input);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  const std::string &path() const { return name; }
  /// Bytes, as the file was when it was opened.
  std::uint64_t size() const { return bytes; }
  /// Fills `out` from `offset`; fewer bytes are an error.
  Status readAt(std::uint64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::string name, int descriptor, std::uint64_t bytes, StatusCode code);
  std::string name;
  int descriptor = -1;
  std::uint64_t bytes = 0;
  StatusCode code = StatusCode::input;
};

class OutputFile {
public:
  /// Opens a temporary file in the destination's folder.
  static Result<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  /// A file that was not committed is removed.
  ~OutputFile();

  Status write(std::span<const std::byte> data);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Forces the bytes to the disk and gives the file its name. A full disk is found here at the latest.
  Status commit();

private:
  OutputFile(std::string destination, std::string temporary, int descriptor);
  void discard();
  std::string destination;
  std::string temporary;
  int descriptor = -1;
};

/// Creates the folder and its parents, and checks that a file can be written in it.
Status checkWritableFolder(const std::string &folder);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_FILE_H
