//===- File.h - files that are read by ranges, and written atomically --------------===//
//
// InputFile reads byte ranges, readFile() all bytes; OutputFile writes a temporary file in the folder of its
// destination, which gets its name at commit(), so a reader sees the old file or the complete new one. Where the file
// system allows it, the temporary file has no name, and a process that is killed leaves none. Every failure names the
// path and the system's message.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_FILE_H
#define SLUICE_RUNTIME_BASE_FILE_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// "cannot write 'PATH': " with the system's message.
Status writeError(const std::string &path, int error);
/// Writes all bytes; `path` is for the error.
Status writeAll(const Descriptor &descriptor, const std::string &path, std::span<const std::byte> data);

class InputFile {
public:
  /// Opens a regular file. A missing or unreadable file or a directory is an input error, and so is a read that fails;
  /// a file that ends early has `code`, and is damaged.
  static Result<InputFile> open(const std::string &path, StatusCode code = StatusCode::input);
  const std::string &path() const { return name; }
  /// Bytes, as the file was when it was opened.
  std::uint64_t size() const { return bytes; }
  /// Fills `out` from `offset`; fewer bytes are an error.
  Status readAt(std::uint64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::string name, Descriptor descriptor, std::uint64_t bytes, StatusCode code)
      : name(std::move(name)), descriptor(std::move(descriptor)), bytes(bytes), code(code) {}

  std::string name;
  Descriptor descriptor;
  std::uint64_t bytes = 0;
  StatusCode code = StatusCode::input;
};

/// The most bytes of a file that people write, such as a config or a recipe.
inline constexpr std::uint64_t largestTextFile = 64 << 20;

/// The bytes of a regular file. A file that is missing or cannot be read is an input error; one that has more than
/// `limit` bytes has `code`, and is damaged.
Result<std::string> readFile(const std::string &path, StatusCode code = StatusCode::input,
                             std::uint64_t limit = UINT64_MAX);

class OutputFile {
public:
  /// Opens a temporary file in the destination's folder. A destination that exists and is no regular file is an error.
  static Result<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) = default;
  /// A file that was not committed is removed.
  ~OutputFile();

  /// Of a long file, the system is to write earlier bytes to the disk already, so that commit() waits for few.
  Status write(std::span<const std::byte> data);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Writes the bytes to the disk and names the file. Reports a full disk if no earlier call did.
  Status commit();

private:
  OutputFile(std::string destination, std::string temporary, Descriptor descriptor)
      : destination(std::move(destination)), temporary(std::move(temporary)), descriptor(std::move(descriptor)) {}

  Status name();

  std::string destination;
  /// Empty: the file has no name yet.
  std::string temporary;
  Descriptor descriptor;
  /// Bytes of the file, and those of them that the system was to write to the disk.
  std::uint64_t bytes = 0, begun = 0;
};

/// Creates the folder and its parents, and checks that a file can be written in it.
Status checkWritableFolder(const std::string &folder);
/// Writes the entries of a folder to the disk.
Status syncFolder(const std::string &folder);

/// The file that makes a folder a training checkpoint.
inline constexpr std::string_view trainingStateName = "state.json";

/// An error if `output` is one of the files `inputs`, by whatever path, because writing it would destroy the input.
/// Empty paths, missing files and files that are not regular (/dev/null, a pipe) are accepted.
Status checkNoInput(const std::string &output, const std::vector<std::string> &inputs);

/// The folder of a path: "." for a name.
std::string parentFolder(const std::string &path);

/// True for an existing regular file.
bool isFile(const std::string &path);

/// $XDG_CACHE_HOME/sluice, or .cache/sluice in $HOME. An error that names `content` without either variable.
Result<std::string> userCacheFolder(const std::string &content);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_FILE_H
