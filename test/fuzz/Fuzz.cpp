//===- Fuzz.cpp - what the fuzz targets share ---------------------------------------------===//
#include "Fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
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

MemoryFile::MemoryFile(std::string path)
    : descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), name(std::move(path)) {
  claim(descriptor.isOpen(), "a file in memory cannot be opened");
}

void MemoryFile::write(std::string_view bytes) {
  claim(::pwrite(descriptor.get(), bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()) &&
            ::ftruncate(descriptor.get(), off_t(bytes.size())) == 0,
        "a file in memory cannot be written");
}

MemoryFolder::MemoryFolder() : name("/dev/shm/sluice-fuzz-XXXXXX") {
  claim(::mkdtemp(name.data()), "there is no folder in /dev/shm");
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
}

} // namespace sluice::fuzz
