//===- ConfigFields.h - reading a config.json field by field ----------------------------===//
//
// Every field of a config is read, ignored because it does not affect the mathematics, or refused by name.
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

namespace sluice {

/// Reads fields one by one and keeps the first error in `status`.
class ConfigFields {
public:
  /// `family` ("a GPT-2 config") and `file` are for messages; `prefix` is put before names: "rope_parameters.".
  ConfigFields(const llvm::json::Object &object, std::string file, std::string family, std::string prefix = "")
      : object(object), file(std::move(file)), family(std::move(family)), prefix(std::move(prefix)) {}

  Status status;

  void fail(llvm::StringRef field, llvm::StringRef expected, const llvm::json::Value *got);
  /// The field, which is marked as known; null if it is missing or null.
  const llvm::json::Value *get(llvm::StringRef field);
  /// True if the field is in the file, null or not.
  bool has(llvm::StringRef field) const { return object.get(field) != nullptr; }
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
  /// An activation by any of its names in transformers: `tanh` or `none` (forms of gelu), `relu`, or `silu` where it
  /// may be that.
  std::string activation(llvm::StringRef field, llvm::StringRef otherwise, bool mayBeSilu);
  /// An unsupported feature: it must be off (missing, null, false, empty).
  void mustBeOff(llvm::StringRef field, llvm::StringRef why);
  /// Fields that do not change the computation.
  void allow(llvm::ArrayRef<llvm::StringRef> fields) { known.append(fields.begin(), fields.end()); }
  /// Fields of every family about storage, names or generation of text.
  void allowCommon();
  /// Refuses the remaining fields: they may change the mathematics.
  void refuseUnknown();

  const std::string &path() const { return file; }

private:
  const llvm::json::Object &object;
  std::string file, family, prefix;
  llvm::SmallVector<std::string> known;
};

/// The value as JSON text.
std::string jsonText(const llvm::json::Value &value);

/// The extents of a tensor of more than 64 TiB; nothing for a smaller one.
std::optional<std::string> oversizedShape(llvm::ArrayRef<std::int64_t> shape, std::int64_t elementBytes);

/// Refuses a tensor with more bytes than an address can name.
Status checkTensorSize(const std::string &file, llvm::StringRef name, llvm::ArrayRef<std::int64_t> shape);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_CONFIGFIELDS_H
