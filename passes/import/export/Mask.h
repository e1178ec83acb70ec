//===- Mask.h - what a constant mask of attention lets through ----------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_MASK_H
#define SLUICE_PASSES_IMPORT_EXPORT_MASK_H

#include "passes/import/export/Constant.h"

namespace sluice::exported {

/// As `model.attention`: all keys, those up to the query, or the last `window` of them (0: all). The last query and the
/// last key are at one position.
struct MaskKind {
  bool causal = false;
  std::int64_t window = 0;
};

/// The kind of a mask that broadcasts to [.., queries, keys]: of booleans, where true keys are seen, or of numbers to
/// add, 0 and -infinity, or the least finite number in its place. Nullopt for another mask.
std::optional<MaskKind> classifyMask(const Constant &mask, std::int64_t queries, std::int64_t keys);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_MASK_H
