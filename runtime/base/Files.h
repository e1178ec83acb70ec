//===- Files.h - outputs that would take the place of inputs ----------------------===//
#ifndef SLUICE_RUNTIME_BASE_FILES_H
#define SLUICE_RUNTIME_BASE_FILES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sluice {

/// An error where `output` is one of the files `inputs`, by whatever path: what was read would be lost. Empty paths, what
/// is not there yet, and what is no plain file (/dev/null, a pipe) are well.
Status checkNoInput(const std::string &output, const std::vector<std::string> &inputs);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_FILES_H
