//===- Rotation.h - tables of rotary positions -------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ROTATION_H
#define SLUICE_PASSES_IMPORT_EXPORT_ROTATION_H

#include "passes/import/export/Constant.h"

namespace sluice::exported {

/// As `model.rope` takes them, and the factor of cosines and sines, which the op does not have.
struct RotaryTables {
  double theta = 10000, factor = 1;
  /// Empty: theta gives all frequencies.
  llvm::SmallVector<std::int64_t> divisors;
};

/// The rotation whose cosines and sines are these tables, of shape [.., positions, size], where the halves of a head
/// have equal angles, position times frequency. Each entry is compared, within 1e-6 of its angle; nullopt for other
/// tables.
std::optional<RotaryTables> fitRotation(const Constant &cosines, const Constant &sines, std::int64_t positions,
                                        std::int64_t size);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ROTATION_H
