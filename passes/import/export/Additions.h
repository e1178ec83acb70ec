//===- Additions.h - what sluice.torch.export adds to an archive ---------------------------===//
//
// The entry `extra/sluice.json` of an archive, which torch.export.save writes for its caller. An archive without it
// has none of these.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ADDITIONS_H
#define SLUICE_PASSES_IMPORT_EXPORT_ADDITIONS_H

#include "runtime/base/Pt2Archive.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::exported {

struct Additions {
  /// Names of each parameter that has several: parameters on torch's device `meta` have no bytes to compare.
  std::vector<std::vector<std::string>> ties;
  /// Paths of modules under torch.utils.checkpoint.
  std::vector<std::string> checkpoints;
  /// A decomposed program whose values of no-grad regions are detached.
  bool isDetached = false;
  /// Rows of the example inputs, whose first dim is dynamic.
  std::optional<std::int64_t> batch;
};

/// An entry that is no JSON, of a later version, or with members of another type is an error.
Result<Additions> readAdditions(const Pt2Archive &archive);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ADDITIONS_H
