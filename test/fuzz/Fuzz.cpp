//===- Fuzz.cpp - what the fuzz targets share ---------------------------------------------===//
#include "Fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::fuzz {

void claim(bool holds, std::string_view text) {
  if (holds)
    return;
  std::fprintf(stderr, "claim that does not hold: %.*s\n", int(text.size()), text.data());
  std::abort();
}

void claimReported(const Status &status) {
  claim(!status.message().empty(), "a failure has no message");
  claim(status.code() == StatusCode::input || status.code() == StatusCode::refused,
        "the input is not the cause of the error: " + status.message());
}

MemoryFile::MemoryFile() : descriptor(::memfd_create("fuzz", MFD_CLOEXEC)) {
  claim(descriptor.isOpen(), "there is no file in memory");
  name = "/proc/self/fd/" + std::to_string(descriptor.get());
}

void MemoryFile::write(std::string_view bytes) {
  claim(::ftruncate(descriptor.get(), 0) == 0 &&
            ::pwrite(descriptor.get(), bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()),
        "the file in memory cannot be written");
}

MemoryFolder::MemoryFolder() : name("/dev/shm/sluice-fuzz-XXXXXX") {
  claim(::mkdtemp(name.data()), "there is no folder in /dev/shm");
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
}

void writeFile(const std::string &path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  claim(bool(file.write(bytes.data(), std::streamsize(bytes.size()))), "a file in memory cannot be written");
}

} // namespace sluice::fuzz
