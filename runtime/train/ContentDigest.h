//===- ContentDigest.h - recognises the content of large files ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CONTENTDIGEST_H
#define SLUICE_RUNTIME_TRAIN_CONTENTDIGEST_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sluice {

/// "3f2a90b1c4d5e6f7, 4096 bytes": the start of a SHA-256 over the sizes and the content of the files, in order. Files
/// of more than 64 MiB together are sampled: blocks of 64 KiB at equal distances, the first and the last included, so a
/// difference in a few bytes of a large file of the same size may be missed. Of a folder, its .safetensors and .json
/// files count, by name. A text that is no path, as "random:1", is digested as text. An unreadable file is an input
/// error.
Result<std::string> contentDigest(const std::vector<std::string> &paths);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CONTENTDIGEST_H
