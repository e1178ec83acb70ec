//===- Files.h - reads small files, and protects inputs from outputs ----------------===//
#ifndef SLUICE_RUNTIME_BASE_FILES_H
#define SLUICE_RUNTIME_BASE_FILES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sluice {

/// An error if `output` is one of the files `inputs`, by whatever path, because writing it would destroy the input.
/// Empty paths, missing files and files that are not regular (/dev/null, a pipe) are accepted.
Status checkNoInput(const std::string &output, const std::vector<std::string> &inputs);

/// True for an existing regular file.
bool isFile(const std::string &path);

/// $XDG_CACHE_HOME/sluice, or .cache/sluice in $HOME. An error that names `content` without either variable.
Result<std::string> userCacheFolder(const std::string &content);

/// The bytes of a regular file. A file that is missing or cannot be read is an input error.
Result<std::string> readFile(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_FILES_H
