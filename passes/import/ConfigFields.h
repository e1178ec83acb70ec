//===- ConfigFields.h - reading a config.json field by field ----------------------------===//
//
// Every field of a config is used, has no effect on the computation, or is refused by name, with the reason and a
// remedy.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_CONFIGFIELDS_H
#define SLUICE_PASSES_IMPORT_CONFIGFIELDS_H

#include "runtime/base/Status.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Reads fields one by one and keeps the first error in `status`.
class ConfigFields {
public:
  /// `family` ("a GPT-2 config") and `file` are for messages; `prefix` is put before names: "rope_parameters.".
  ConfigFields(const llvm::json::Object &object, std::string file, std::string family, std::string prefix = "")
      : object(object), file(std::move(file)), family(std::move(family)), prefix(std::move(prefix)) {}

  Status status;

  /// Records the error of a missing field (`got` is null) or of a value that is not `expected`.
  void fail(llvm::StringRef field, llvm::StringRef expected, const llvm::json::Value *got);
  /// Records the error of a value that is valid but not supported.
  void refuse(llvm::StringRef field, llvm::StringRef reason, llvm::StringRef remedy = removeIfUnused);
  static constexpr llvm::StringLiteral removeIfUnused =
      "remove the field only if the checkpoint was trained without it";
  /// The field, which is marked as known; null if it is missing or null.
  const llvm::json::Value *get(llvm::StringRef field);
  /// The field as it is in the file.
  const llvm::json::Value *find(llvm::StringRef field) const { return object.get(field); }
  /// True if the field is in the file, null or not.
  bool has(llvm::StringRef field) const { return find(field) != nullptr; }
  std::int64_t integer(llvm::StringRef field, std::int64_t otherwise);
  /// A required size; the family may have another name for it.
  std::int64_t size(llvm::StringRef field, llvm::StringRef otherName = "");
  std::int64_t optionalSize(llvm::StringRef field, std::int64_t otherwise);
  /// A number of layers: a size with an upper bound.
  std::int64_t layers(llvm::StringRef field, llvm::StringRef otherName = "");
  /// Above 0, or at least 0.
  double number(llvm::StringRef field, double otherwise, bool mayBeZero);
  /// A rate of dropout.
  double rate(llvm::StringRef field, double otherwise);
  bool boolean(llvm::StringRef field, bool otherwise);
  std::string text(llvm::StringRef field, llvm::StringRef otherwise);
  /// An activation by any of its names in transformers: `silu`, `tanh` or `none` (forms of gelu), or `relu`.
  std::string activation(llvm::StringRef field, llvm::StringRef otherwise);
  /// An unsupported feature: it must be off (missing, null, false, empty).
  void mustBeOff(llvm::StringRef field, llvm::StringRef reason);
  /// Fields that do not change the computation.
  void allow(llvm::ArrayRef<llvm::StringRef> fields) { allowed.append(fields.begin(), fields.end()); }
  /// Refuses the remaining fields that may change the computation: those of other families at values that have an
  /// effect, and unknown ones.
  void refuseUnknown();
  /// The fields of the file that do not change the computation, as "'name' = value", sorted; after refuseUnknown.
  std::vector<std::string> withoutEffect() const;
  /// Takes the error and the list of a nested object.
  void take(ConfigFields &nested);

  const std::string &path() const { return file; }

private:
  llvm::SmallVector<llvm::StringRef> sortedNames() const;

  const llvm::json::Object &object;
  std::string file, family, prefix;
  /// Fields whose values are read, and those without effect.
  llvm::SmallVector<std::string> used, allowed;
  std::vector<std::string> nestedWithoutEffect;
};

/// True for a field of any family, or of the files of published checkpoints, if `value` has no effect on the
/// computation; nullopt if the name is unknown. The fields are those that a family does not use.
std::optional<bool> isWithoutEffect(llvm::StringRef field, const llvm::json::Value &value);

/// The value as JSON text.
std::string jsonText(const llvm::json::Value &value);

/// The extents of a tensor of more than 64 TiB; nothing for a smaller one.
std::optional<std::string> oversizedShape(llvm::ArrayRef<std::int64_t> shape, std::int64_t elementBytes);

/// Refuses a tensor with more bytes than an address can name.
Status checkTensorSize(const std::string &file, llvm::StringRef name, llvm::ArrayRef<std::int64_t> shape);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_CONFIGFIELDS_H
