//===- Settings.h - the keys of a zoo model and their values ------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ZOO_SETTINGS_H
#define SLUICE_PASSES_IMPORT_ZOO_SETTINGS_H

#include "runtime/base/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::zoo {

enum class Kind : std::uint8_t { size, probability, flag, choice };

struct Key {
  llvm::StringLiteral name;
  /// The default as text.
  llvm::StringLiteral value;
  Kind kind = Kind::size;
  /// The largest value of a size.
  std::int64_t limit = 1 << 20;
  /// The values of a choice.
  std::vector<llvm::StringLiteral> choices = {};
};

/// A value for every key of a model.
class Settings {
public:
  /// Reads `key=value` texts over the defaults. `model` is named in messages.
  static Result<Settings> read(llvm::StringRef model, llvm::ArrayRef<Key> keys, llvm::ArrayRef<std::string> given);

  std::int64_t size(llvm::StringRef key) const;
  double probability(llvm::StringRef key) const;
  bool flag(llvm::StringRef key) const { return values.lookup(key) == "true"; }
  llvm::StringRef choice(llvm::StringRef key) const { return values.find(key)->second; }

private:
  llvm::StringMap<std::string> values;
};

/// The name of `known` that is nearest to `name`.
std::string nearestOf(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace sluice::zoo

#endif // SLUICE_PASSES_IMPORT_ZOO_SETTINGS_H
