//===- Secret.cpp - the secret that the ranks of a job share ------------------------===//
#include "runtime/collective/socket/Secret.h"
#include "runtime/base/Descriptor.h"
#include "runtime/base/File.h"
#include "runtime/base/Text.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

namespace sluice::socket {
namespace {

constexpr std::size_t leastBytes = 16, mostBytes = 4096, createdBytes = 32;

Status systemError(std::string_view verb, const std::string &path, int error) {
  return inputError(concat("cannot ", verb, " the secret file '", path, "': ", std::strerror(error)));
}

std::string modeText(const struct stat &info) {
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
  return mode;
}

/// Another user who owns the file, or can replace it, knows the secret; root can read both kinds of files.
Status checkOwners(const struct stat &file, const std::string &path) {
  if (file.st_uid != ::geteuid())
    return inputError(concat("the secret file '", path, "' belongs to user ", file.st_uid,
                             ", expected the user of this process, ", ::geteuid()))
        .withNote("copy it, with mode 600, or give another file with --secret-file");
  const std::string parent = parentFolder(path);
  struct stat folder{};
  if (::stat(parent.c_str(), &folder) != 0)
    return systemError("read", path, errno);
  if (folder.st_uid != ::geteuid() && folder.st_uid != 0)
    return inputError(concat("the folder of the secret file '", path, "' belongs to user ", folder.st_uid,
                             ", expected the user of this process, ", ::geteuid(), ", or root"))
        .withNote("keep the secret in a folder of this user");
  // In a folder with the sticky bit only its owner can replace the file. The group of the user is often the user's own.
  const mode_t others = folder.st_gid == ::getegid() ? 002 : 022;
  if ((folder.st_mode & others) != 0 && (folder.st_mode & S_ISVTX) == 0)
    return inputError(concat("other users can replace the secret file '", path, "' (mode ", modeText(folder),
                             " of its folder)"))
        .withNote(concat("allow only its owner: chmod go-w ", parent));
  return {};
}

Result<Digest> readSecret(const Descriptor &file, const std::string &path) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0)
    return systemError("read", path, errno);
  if (!S_ISREG(info.st_mode))
    return inputError(concat("the secret file '", path, "' is not a regular file"));
  SLUICE_RETURN_IF_ERROR(checkOwners(info, path));
  if ((info.st_mode & 077) != 0)
    return inputError(concat("other users can open the secret file '", path, "' (mode ", modeText(info), ")"))
        .withNote(concat("allow only its owner: chmod 600 ", path));
  std::array<std::uint8_t, mostBytes + 1> bytes{};
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (count < 0)
    return systemError("read", path, errno);
  const auto size = static_cast<std::size_t>(count);
  if (size < leastBytes || size > mostBytes)
    return inputError(concat("the secret file '", path, "', expected ", leastBytes, " to ", mostBytes,
                             " bytes but got ", size > mostBytes ? static_cast<std::size_t>(info.st_size) : size))
        .withNote(concat("write random bytes: head -c 32 /dev/urandom > ", path));
  return sha256(std::span(bytes).first(size));
}

/// Fills an empty file with random bytes.
Status fill(const Descriptor &file, const std::string &path) {
  // Of several processes the first one writes.
  struct stat info{};
  if (::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &info) != 0)
    return systemError("write", path, errno);
  std::array<std::byte, createdBytes> bytes{};
  if (info.st_size == 0 && (::getentropy(bytes.data(), bytes.size()) != 0 ||
                            ::pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())))
    return systemError("write", path, errno);
  return ::flock(file.get(), LOCK_UN) == 0 ? Status() : systemError("write", path, errno);
}

} // namespace

Result<Digest> readSecretFile(const std::string &path) {
  // Without O_NONBLOCK a pipe would wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.isOpen())
    return systemError("read", path, errno);
  return readSecret(file, path);
}

Result<Digest> readUserSecret() {
  constexpr std::string_view remedy = "give all ranks a secret with --secret-file FILE";
  Result<std::string> folder = userCacheFolder("the secret of the connections between ranks");
  if (!folder.isOk())
    return folder.takeStatus().withNote(std::string(remedy));
  const std::string path = *folder + "/secret";
  std::error_code error;
  if (std::filesystem::create_directories(*folder, error))
    std::filesystem::permissions(*folder, std::filesystem::perms::owner_all, error);
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  Status status = file.isOpen() ? fill(file, path) : systemError("write", path, errno);
  if (!status.isOk())
    return std::move(status).withNote(std::string(remedy));
  return readSecret(file, path);
}

} // namespace sluice::socket
