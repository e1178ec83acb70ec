//===- Files.cpp - reads small files, and protects inputs from outputs --------------===//
#include "runtime/base/Files.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <system_error>

namespace sluice {

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

Result<std::string> readFile(const std::string &path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (file && !isFile(path))
    return inputError("cannot read '" + path + "', expected a regular file");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file)
    return inputError("cannot read '" + path + "': " + std::generic_category().message(errno));
  return text;
}

} // namespace sluice
