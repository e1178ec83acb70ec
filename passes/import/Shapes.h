//===- Shapes.h - the shapes of entry points as text --------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_SHAPES_H
#define SLUICE_PASSES_IMPORT_SHAPES_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Rows of one rank's micro-batch, and tokens of a row.
struct RowShape {
  std::int64_t batch = 1, sequence = 1;
  bool operator==(const RowShape &) const = default;
};

/// Largest rows, and largest tokens.
inline constexpr std::int64_t mostExtent = std::int64_t(1) << 30;

/// Texts such as "8x512", which `option` gives; a usage error if one is of another form, beyond mostExtent, or given
/// twice.
Result<std::vector<RowShape>> readShapes(const std::string &option, const std::vector<std::string> &texts);

/// The name of an entry point for a shape: "train_step_8x512".
std::string entryNameOf(const std::string &entry, const RowShape &shape);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_SHAPES_H
