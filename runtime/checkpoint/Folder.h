//===- Folder.h - the checkpoints of a run in a folder ------------------------------===//
//
// The checkpoint after step N is the folder `step-N` with at least eight digits. Names that begin so and end in
// ".partial" or ".damaged" are what an interrupted save left, and what a run could not continue from; they are never
// read, and removed after the next complete save.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_FOLDER_H
#define SLUICE_RUNTIME_CHECKPOINT_FOLDER_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr std::string_view partialSuffix = ".partial", damagedSuffix = ".damaged";

/// "FOLDER/step-00000500".
std::string stepPath(const std::string &folder, std::uint64_t step);
/// The step of a path that ends in such a name.
std::optional<std::uint64_t> stepOf(std::string_view path);

/// Steps with a checkpoint, ascending; empty for a folder that does not exist.
Result<std::vector<std::uint64_t>> listSteps(const std::string &folder);

/// True if the folder is itself a checkpoint.
bool isCheckpoint(const std::string &folder);

/// Removes the partial folders, and the damaged ones if `damagedToo`.
Status removeLeftovers(const std::string &folder, bool damagedToo);
/// Removes a folder and its files; an absent folder is no error. A checkpoint is renamed first, so that no part of it
/// can be read as one.
Status removeCheckpoint(const std::string &path);

/// Creates the folder and its parents, and checks that a checkpoint can be created in it.
Status createFolder(const std::string &folder);
/// Locks a run's folder (flock of the file `.lock` in it) until the result is closed or the process ends. A folder that
/// another process, or another run of this one, has locked is StatusCode::input. Users who cannot write the file cannot
/// read it either, because a file that is open for reading can be locked. On a file system without locks the result is
/// not open.
Result<Descriptor> lockFolder(const std::string &folder);
Status renamePath(const std::string &from, const std::string &to);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_FOLDER_H
