//===- Faults.cpp - system calls that fail, of this test program -------------------------===//
#include "test/unit/checkpoint/Faults.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice::test {
namespace {

bool isArmed = false, hasReached = false;
Fault armed;
int calls = 0;
std::string failing;

/// A file that was written and not synchronized: a copy of its descriptor, by inode.
std::map<ino_t, int> unsynchronized;
/// A new name of a file; `from` is empty for a file that had none.
struct Rename {
  std::string from, to;
};
std::vector<Rename> renames;

template <typename Function> Function *next(const char *name, Function *) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

ino_t inodeOf(int descriptor) {
  struct stat info{};
  return next("fstat", ::fstat)(descriptor, &info) == 0 ? info.st_ino : 0;
}

void lose(int descriptor) {
  struct stat info{};
  next("fstat", ::fstat)(descriptor, &info);
  // The length is on the disk, the bytes are not.
  if (::ftruncate(descriptor, 0) == 0)
    (void)!::ftruncate(descriptor, info.st_size);
}

void endMachine() {
  if (armed.kind != FaultKind::kill)
    for (const auto &[inode, descriptor] : unsynchronized)
      lose(descriptor);
  if (armed.kind == FaultKind::powerLossWithRenames)
    for (auto each = renames.rbegin(); each != renames.rend(); ++each)
      each->from.empty() ? next("unlink", ::unlink)(each->to.c_str())
                         : next("rename", ::rename)(each->to.c_str(), each->from.c_str());
}

/// True if this call of the function fails; with an error, it sets errno.
bool fails(const char *function) {
  if (!isArmed || (armed.function && std::string_view(function) != armed.function))
    return false;
  const bool isIt = calls++ == armed.call;
  if (isIt) {
    hasReached = true;
    failing = function;
    if (armed.kind != FaultKind::error && armed.kind != FaultKind::shortTransfer) {
      endMachine();
      ::_exit(faultExit);
    }
  }
  if (!isIt && !(hasReached && armed.isPermanent && failing == function))
    return false;
  errno = armed.kind == FaultKind::error ? armed.error : EINTR;
  return true;
}

} // namespace

ArmedFault::ArmedFault(const Fault &fault) {
  armed = fault;
  calls = 0;
  hasReached = false;
  isArmed = true;
}

ArmedFault::~ArmedFault() {
  isArmed = false;
  for (const auto &[inode, descriptor] : unsynchronized)
    ::close(descriptor);
  unsynchronized.clear();
  renames.clear();
}

void ArmedFault::losePower() const {
  isArmed = false;
  endMachine();
}

bool ArmedFault::hasFired() const { return hasReached; }

} // namespace sluice::test

using namespace sluice::test;

extern "C" {

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  return fails("open") ? -1 : next("open", ::open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  return fails("openat") ? -1 : next("openat", ::openat)(folder, path, flags, mode);
}

DIR *fdopendir(int descriptor) { return fails("fdopendir") ? nullptr : next("fdopendir", ::fdopendir)(descriptor); }
dirent *readdir(DIR *folder) { return fails("readdir") ? nullptr : next("readdir", ::readdir)(folder); }

int access(const char *path, int mode) noexcept { return fails("access") ? -1 : next("access", ::access)(path, mode); }

int mkostemp(char *path, int flags) { return fails("mkostemp") ? -1 : next("mkostemp", ::mkostemp)(path, flags); }

int fstat(int descriptor, struct stat *info) noexcept {
  return fails("fstat") ? -1 : next("fstat", ::fstat)(descriptor, info);
}

int stat(const char *path, struct stat *info) noexcept { return fails("stat") ? -1 : next("stat", ::stat)(path, info); }

int lstat(const char *path, struct stat *info) noexcept {
  return fails("lstat") ? -1 : next("lstat", ::lstat)(path, info);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (fails("write")) {
    if (armed.kind != FaultKind::shortTransfer || count < 2)
      return -1;
    count /= 2;
  }
  const ssize_t written = next("write", ::write)(descriptor, bytes, count);
  if (isArmed && written > 0 && !unsynchronized.contains(inodeOf(descriptor)))
    unsynchronized[inodeOf(descriptor)] = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 500);
  return written;
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  if (fails("pread")) {
    if (armed.kind != FaultKind::shortTransfer || count < 2)
      return -1;
    count /= 2;
  }
  return next("pread", ::pread)(descriptor, bytes, count, offset);
}

int fsync(int descriptor) {
  // The disk of the machine has no part in the tests.
  const bool failed = fails("fsync");
  if (!isArmed)
    return 0;
  if (const auto file = unsynchronized.find(inodeOf(descriptor)); file != unsynchronized.end()) {
    if (failed)
      lose(file->second);
    next("close", ::close)(file->second);
    unsynchronized.erase(file);
  } else if (!failed) {
    std::erase_if(renames, [&](const auto &each) {
      struct stat info{};
      const std::string folder = each.to.substr(0, each.to.rfind('/'));
      return next("stat", ::stat)(folder.c_str(), &info) == 0 && info.st_ino == inodeOf(descriptor);
    });
  }
  return failed ? -1 : 0;
}

int rename(const char *from, const char *to) noexcept {
  if (fails("rename"))
    return -1;
  const int result = next("rename", ::rename)(from, to);
  if (isArmed && result == 0)
    renames.push_back({from, to});
  return result;
}

int linkat(int fromFolder, const char *from, int toFolder, const char *to, int flags) noexcept {
  if (fails("linkat"))
    return -1;
  const int result = next("linkat", ::linkat)(fromFolder, from, toFolder, to, flags);
  if (isArmed && result == 0)
    renames.push_back({"", to});
  return result;
}

int mkdir(const char *path, mode_t mode) noexcept { return fails("mkdir") ? -1 : next("mkdir", ::mkdir)(path, mode); }
int unlink(const char *path) noexcept { return fails("unlink") ? -1 : next("unlink", ::unlink)(path); }
int unlinkat(int folder, const char *path, int flags) noexcept {
  return fails("unlinkat") ? -1 : next("unlinkat", ::unlinkat)(folder, path, flags);
}
int remove(const char *path) noexcept { return fails("remove") ? -1 : next("remove", ::remove)(path); }

int close(int descriptor) {
  const bool failed = fails("close");
  const int result = next("close", ::close)(descriptor);
  return failed ? -1 : result;
}
}
