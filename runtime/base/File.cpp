//===- File.cpp - files that are read by ranges, and written atomically ------------===//
#include "runtime/base/File.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sluice {

static std::string systemText(int error) { return std::generic_category().message(error); }

Status writeError(const std::string &path, int error) {
  return inputError(concat("cannot write '", path, "': ", systemText(error)));
}

Result<InputFile> InputFile::open(const std::string &path, StatusCode code) {
  // A pipe without a writer is an error; opening it must not block.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!descriptor.isOpen() || ::fstat(descriptor.get(), &info) != 0)
    return inputError(concat("cannot read '", path, "': ", systemText(errno)));
  if (!S_ISREG(info.st_mode))
    return inputError(concat("cannot read '", path, "', expected a regular file but got ",
                             S_ISDIR(info.st_mode) ? "a directory" : "a different kind of file"));
  return InputFile(path, std::move(descriptor), static_cast<std::uint64_t>(info.st_size), code);
}

Status InputFile::readAt(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    ssize_t count = ::pread(descriptor.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return {code, concat("cannot read '", name, "': ", systemText(errno))};
    if (count == 0)
      return {code, concat("'", name, "' ends at byte ", offset, ", expected ", out.size(), " bytes more")};
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return Status::ok();
}

OutputFile::~OutputFile() {
  if (descriptor.isOpen())
    ::unlink(temporary.c_str());
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  std::string temporary = path + ".XXXXXX";
  Descriptor descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!descriptor.isOpen())
    return writeError(path, errno);
  // mkostemp creates a private file; the complete file gets the usual permissions of a new file.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor.get(), 0666 & ~mask);
  return OutputFile(path, std::move(temporary), std::move(descriptor));
}

Status writeAll(const Descriptor &descriptor, const std::string &path, std::span<const std::byte> data) {
  while (!data.empty()) {
    ssize_t count = ::write(descriptor.get(), data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return writeError(path, errno);
    data = data.subspan(static_cast<std::size_t>(count));
  }
  return Status::ok();
}

Status OutputFile::commit() {
  if (::fsync(descriptor.get()) != 0 || ::rename(temporary.c_str(), destination.c_str()) != 0 ||
      ::close(descriptor.release()) != 0)
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
