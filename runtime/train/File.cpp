//===- File.cpp - files that are read by ranges, and written atomically ------------===//
#include "runtime/train/File.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice {

static std::string systemText(int error) { return std::generic_category().message(error); }

static Status writeError(const std::string &path, int error) {
  return inputError(fmt::format("cannot write '{}': {}", path, systemText(error)));
}

InputFile::InputFile(std::string name, int descriptor, std::uint64_t bytes, StatusCode code)
    : name(std::move(name)), descriptor(descriptor), bytes(bytes), code(code) {}

InputFile::InputFile(InputFile &&other) noexcept
    : name(std::move(other.name)), descriptor(std::exchange(other.descriptor, -1)), bytes(other.bytes),
      code(other.code) {}

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(descriptor, other.descriptor);
  std::swap(bytes, other.bytes);
  std::swap(code, other.code);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<InputFile> InputFile::open(const std::string &path, StatusCode code) {
  // A pipe without a writer is an error, not a wait.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return inputError(fmt::format("cannot read '{}': {}", path, systemText(errno)));
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) {
    int error = errno;
    ::close(descriptor);
    return inputError(fmt::format("cannot read '{}': {}", path, systemText(error)));
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return inputError(fmt::format("cannot read '{}', expected a regular file but got {}", path,
                                  S_ISDIR(info.st_mode) ? "a directory" : "a different kind of file"));
  }
  return InputFile(path, descriptor, static_cast<std::uint64_t>(info.st_size), code);
}

Status InputFile::readAt(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    ssize_t count = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return {code, fmt::format("cannot read '{}': {}", name, systemText(errno))};
    if (count == 0)
      return {code, fmt::format("'{}' ends at byte {}, expected {} bytes more", name, offset, out.size())};
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return Status::ok();
}

OutputFile::OutputFile(std::string destination, std::string temporary, int descriptor)
    : destination(std::move(destination)), temporary(std::move(temporary)), descriptor(descriptor) {}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : destination(std::move(other.destination)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(destination, other.destination);
  std::swap(temporary, other.temporary);
  std::swap(descriptor, other.descriptor);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (descriptor < 0)
    return;
  ::close(std::exchange(descriptor, -1));
  ::unlink(temporary.c_str());
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  std::string temporary = path + ".XXXXXX";
  int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return writeError(path, errno);
  // mkostemp creates a private file; the finished one gets the permissions of a plain create.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
  return OutputFile(path, std::move(temporary), descriptor);
}

Status OutputFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    ssize_t count = ::write(descriptor, data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return writeError(destination, errno);
    data = data.subspan(static_cast<std::size_t>(count));
  }
  return Status::ok();
}

Status OutputFile::commit() {
  if (::fsync(descriptor) != 0)
    return writeError(destination, errno);
  if (::rename(temporary.c_str(), destination.c_str()) != 0)
    return writeError(destination, errno);
  if (::close(std::exchange(descriptor, -1)) != 0)
    return writeError(destination, errno);
  return Status::ok();
}

Status checkWritableFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return writeError(folder, error.value());
  Result<OutputFile> probe = OutputFile::create(folder + "/probe");
  if (!probe.isOk())
    return writeError(folder, errno);
  return probe->write("sluice");
}

} // namespace sluice
