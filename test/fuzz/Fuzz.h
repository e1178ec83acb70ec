//===- Fuzz.h - what the fuzz targets share -----------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_FUZZ_H
#define SLUICE_TEST_FUZZ_FUZZ_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::fuzz {

/// Ends the program with a message if a claim does not hold; libFuzzer then reports the input.
void claim(bool holds, std::string_view text);

/// Claims that a failure has a message and that its cause is the input: it is not an internal error.
void claimReported(const Status &status);

inline std::string_view textOf(const std::uint8_t *data, std::size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// A file in memory for readers that open a path. It stays open, because to open a file takes longer than most readers.
class MemoryFile {
public:
  /// A file without a name, and one with a name in a MemoryFolder.
  MemoryFile();
  explicit MemoryFile(std::string path);

  /// A path by which this process opens the file.
  const std::string &path() const { return name; }
  /// Replaces the contents.
  void write(std::string_view bytes);

private:
  Descriptor descriptor;
  std::string name;
};

/// A folder in memory, which is removed at the end of the program.
class MemoryFolder {
public:
  MemoryFolder();
  ~MemoryFolder();

  const std::string &path() const { return name; }

private:
  std::string name;
};

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_FUZZ_H
