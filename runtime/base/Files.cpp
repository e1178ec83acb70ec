//===- Files.cpp - checks that an output does not overwrite an input ---------------===//
#include "runtime/base/Files.h"

#include <sys/stat.h>

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

} // namespace sluice
