//===- Families.h - the model families by their config.json -------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_FAMILIES_H
#define SLUICE_PASSES_IMPORT_FAMILIES_H

#include "passes/import/FamilyReader.h"

namespace sluice {

struct Family {
  /// `model_type`, and the configuration with its article, for messages.
  llvm::StringLiteral type, article;
  /// Reads the fields of the family's class, with its names and defaults.
  void (*read)(FamilyReader &reader);
};

/// All families, sorted by type.
llvm::ArrayRef<Family> families();

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_FAMILIES_H
