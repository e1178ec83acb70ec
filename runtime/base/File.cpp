//===- File.cpp - files that are read by ranges, and written atomically ------------===//
#include "runtime/base/File.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
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

static std::string kindError(const struct stat &info) {
  return concat("expected a regular file but got ", S_ISDIR(info.st_mode) ? "a directory" : "a different kind of file");
}

Result<InputFile> InputFile::open(const std::string &path, StatusCode code) {
  // A pipe without a writer is an error; opening it must not block.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!descriptor.isOpen() || ::fstat(descriptor.get(), &info) != 0)
    return inputError(concat("cannot read '", path, "': ", systemText(errno)));
  if (!S_ISREG(info.st_mode))
    return inputError(concat("cannot read '", path, "', ", kindError(info)));
  return InputFile(path, std::move(descriptor), static_cast<std::uint64_t>(info.st_size), code);
}

Status InputFile::readAt(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    ssize_t count = ::pread(descriptor.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return inputError(concat("cannot read '", name, "': ", systemText(errno)));
    if (count == 0)
      return Status(code, concat("'", name, "' ends at byte ", offset, ", expected ", out.size(), " bytes more"))
          .asDamage();
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return Status::ok();
}

Result<std::string> readFile(const std::string &path, StatusCode code, std::uint64_t limit) {
  SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path, code));
  if (file.size() > limit)
    return Status(code, concat("'", path, "', expected at most ", limit, " bytes but got ", file.size())).asDamage();
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

OutputFile::~OutputFile() {
  if (descriptor.isOpen() && !temporary.empty())
    ::unlink(temporary.c_str());
}

/// The path by which a file without a name can be linked.
static std::string pathOf(const Descriptor &descriptor) { return concat("/proc/self/fd/", descriptor.get()); }

/// A file without a name in the folder of `path`; not open where the system has none.
static Descriptor openUnnamed(const std::string &path) {
  Descriptor descriptor(::open(parentFolder(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  return descriptor.isOpen() && ::access(pathOf(descriptor).c_str(), F_OK) == 0 ? std::move(descriptor) : Descriptor();
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  // The rename would replace a device.
  if (struct stat info{}; ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return inputError(concat("cannot write '", path, "', ", kindError(info)));
  if (Descriptor unnamed = openUnnamed(path); unnamed.isOpen())
    return OutputFile(path, "", std::move(unnamed));
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

Status OutputFile::write(std::span<const std::byte> data) {
  constexpr std::uint64_t atOnce = 8 << 20;
  SLUICE_RETURN_IF_ERROR(writeAll(descriptor, destination, data));
  bytes += data.size();
  if (bytes - begun >= atOnce) {
    // Only a hint: the fsync of commit() reports the errors of the disk.
    (void)::sync_file_range(descriptor.get(), static_cast<off64_t>(begun), static_cast<off64_t>(bytes - begun),
                            SYNC_FILE_RANGE_WRITE);
    begun = bytes;
  }
  return Status::ok();
}

Status OutputFile::name() {
  if (temporary.empty()) {
    const std::string path = pathOf(descriptor);
    if (::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, destination.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return Status::ok();
    if (errno != EEXIST)
      return writeError(destination, errno);
    // A link cannot replace a file.
    temporary = concat(destination, ".", ::getpid());
    ::unlink(temporary.c_str());
    if (::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return writeError(destination, errno);
  }
  return ::rename(temporary.c_str(), destination.c_str()) == 0 ? Status::ok() : writeError(destination, errno);
}

Status OutputFile::commit() {
  if (::fsync(descriptor.get()) != 0)
    return writeError(destination, errno);
  SLUICE_RETURN_IF_ERROR(name());
  return ::close(descriptor.release()) == 0 ? Status::ok() : writeError(destination, errno);
}

Status checkWritableFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return writeError(folder, error.value());
  if (std::filesystem::exists(concat(folder, "/", trainingStateName), error))
    return inputError(concat("'", folder, "' is a training checkpoint, which would be destroyed"))
        .withNote("write to another folder");
  Result<OutputFile> probe = OutputFile::create(folder + "/probe");
  if (!probe.isOk())
    return writeError(folder, errno);
  return probe->write("sluice");
}

Status syncFolder(const std::string &folder) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.isOpen() || ::fsync(descriptor.get()) != 0)
    return writeError(folder, errno);
  return Status::ok();
}

Status checkNoInput(const std::string &output, const std::vector<std::string> &inputs) {
  struct stat written{};
  if (output.empty() || ::stat(output.c_str(), &written) != 0 || !S_ISREG(written.st_mode))
    return Status::ok();
  for (const std::string &input : inputs)
    if (struct stat read{};
        ::stat(input.c_str(), &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino)
      return inputError("output '" + output + "' is the same file as the input '" + input + "'");
  return Status::ok();
}

std::string parentFolder(const std::string &path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool isFile(const std::string &path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<std::string> userCacheFolder(const std::string &content) {
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/sluice";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/sluice";
  return inputError("there is no folder for " + content + ", because neither XDG_CACHE_HOME nor HOME is set")
      .withNote("set XDG_CACHE_HOME to a folder for cached files");
}

} // namespace sluice
