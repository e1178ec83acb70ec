//===- ConfigFields.cpp - reading a config.json field by field --------------------------===//

#include "passes/import/ConfigFields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <cmath>
#include <iterator>

using namespace sluice;
namespace json = llvm::json;

static constexpr std::int64_t sizeLimit = 1 << 30, layerLimit = 100000;

std::string sluice::jsonText(const json::Value &value) {
  // The shortest text of a number, as in the file: llvm's has 17 digits.
  if (std::optional<double> number = value.getAsNumber(); number && !value.getAsInteger()) {
    char digits[32];
    return {digits, std::to_chars(digits, std::end(digits), *number).ptr};
  }
  std::string out;
  llvm::raw_string_ostream(out) << value;
  return out;
}

void ConfigFields::fail(llvm::StringRef field, llvm::StringRef expected, const json::Value *got) {
  if (!status.isOk())
    return;
  std::string name = "field '" + prefix + field.str() + "'";
  status = got ? inputError(file + ": " + name + ", expected " + expected.str() + " but got " + jsonText(*got))
               : inputError(file + ": missing " + name).withNote("set it to " + expected.str());
}

void ConfigFields::refuse(llvm::StringRef field, llvm::StringRef reason, llvm::StringRef remedy) {
  if (status.isOk())
    status = inputError(file + ": field '" + prefix + field.str() + "' = " + jsonText(*object.get(field)) +
                        " is not supported: " + reason.str())
                 .withNote(remedy.str());
}

const json::Value *ConfigFields::get(llvm::StringRef field) {
  const json::Value *value = object.get(field);
  bool isGiven = value && !value->getAsNull();
  (isGiven ? used : allowed).push_back(field.str());
  return isGiven ? value : nullptr;
}

std::int64_t ConfigFields::size(llvm::StringRef field, llvm::StringRef otherName) {
  const json::Value *value = get(field);
  if (!otherName.empty()) {
    const json::Value *other = get(otherName);
    if (value && other && *value != *other)
      fail(field, "the same as '" + otherName.str() + "' = " + jsonText(*other), value);
    value = value ? value : other;
  }
  std::optional<std::int64_t> integer = value ? value->getAsInteger() : std::nullopt;
  if (integer && *integer >= 1 && *integer <= sizeLimit)
    return *integer;
  fail(field, "an integer from 1 to 1073741824", value);
  return 1;
}

std::int64_t ConfigFields::optionalSize(llvm::StringRef field, std::int64_t otherwise) {
  return get(field) ? size(field) : otherwise;
}

std::int64_t ConfigFields::layers(llvm::StringRef field, llvm::StringRef otherName) {
  std::int64_t count = size(field, otherName);
  if (count <= layerLimit)
    return count;
  json::Value got(count);
  fail(field, "at most " + std::to_string(layerLimit), &got);
  return 1;
}

std::int64_t ConfigFields::integer(llvm::StringRef field, std::int64_t otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  if (std::optional<std::int64_t> integer = value->getAsInteger())
    return *integer;
  fail(field, "an integer", value);
  return otherwise;
}

double ConfigFields::number(llvm::StringRef field, double otherwise, bool mayBeZero) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  std::optional<double> number = value->getAsNumber();
  if (number && std::isfinite(*number) && *number >= 0 && (mayBeZero || *number != 0))
    return *number;
  fail(field, mayBeZero ? "a number of at least 0" : "a number above 0", value);
  return otherwise;
}

double ConfigFields::rate(llvm::StringRef field, double otherwise) {
  double given = number(field, otherwise, true);
  if (!(given < 1))
    fail(field, "a number from 0 to 1 (below 1)", object.get(field));
  return given;
}

bool ConfigFields::boolean(llvm::StringRef field, bool otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  if (std::optional<bool> boolean = value->getAsBoolean())
    return *boolean;
  fail(field, "true or false", value);
  return otherwise;
}

std::string ConfigFields::text(llvm::StringRef field, llvm::StringRef otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise.str();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  fail(field, "a text", value);
  return otherwise.str();
}

std::string ConfigFields::activation(llvm::StringRef field, llvm::StringRef otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise.str();
  std::string found = llvm::StringSwitch<std::string>(value->getAsString().value_or(""))
                          .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"}, "tanh")
                          .Cases({"gelu", "gelu_python"}, "none")
                          .Case("relu", "relu")
                          .Cases({"silu", "swish"}, "silu")
                          .Default("");
  if (found.empty())
    fail(field, "\"silu\", \"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", \"gelu\" or \"relu\"", value);
  return found;
}

/// Null, false, 0, or empty.
static bool isOff(const json::Value &value) {
  if (const json::Object *inner = value.getAsObject())
    return inner->empty();
  if (const json::Array *inner = value.getAsArray())
    return inner->empty();
  return value.getAsNull() || value == json::Value(false) || value.getAsNumber() == std::optional<double>(0) ||
         value == json::Value("");
}

void ConfigFields::mustBeOff(llvm::StringRef field, llvm::StringRef reason) {
  allowed.push_back(field.str());
  if (const json::Value *value = object.get(field); value && !isOff(*value))
    refuse(field, reason);
}

llvm::SmallVector<llvm::StringRef> ConfigFields::sortedNames() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &entry : object)
    if (!entry.first.str().starts_with("_"))
      names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

void ConfigFields::refuseUnknown() {
  for (llvm::StringRef name : sortedNames()) {
    if (llvm::is_contained(used, name) || llvm::is_contained(allowed, name) || !status.isOk())
      continue;
    std::optional<bool> harmless = isWithoutEffect(name, *object.get(name));
    if (!harmless)
      status = inputError(file + ": unknown field '" + prefix + name.str() + "' in " + family)
                   .withNote("correct the name, or remove the field if it does not change the computation");
    else if (!*harmless)
      refuse(name, family + " has no such field");
  }
}

std::vector<std::string> ConfigFields::withoutEffect() const {
  std::vector<std::string> list = nestedWithoutEffect;
  for (llvm::StringRef name : sortedNames())
    if (name != "model_type" && !llvm::is_contained(used, name))
      list.push_back("'" + prefix + name.str() + "' = " + jsonText(*object.get(name)));
  llvm::sort(list);
  return list;
}

void ConfigFields::take(ConfigFields &nested) {
  if (status.isOk())
    status = nested.status;
  nestedWithoutEffect = nested.withoutEffect();
}

std::optional<std::string> sluice::oversizedShape(llvm::ArrayRef<std::int64_t> shape, std::int64_t elementBytes) {
  constexpr __int128 limit = static_cast<__int128>(1) << 46;
  __int128 bytes = elementBytes;
  std::string extents;
  for (std::int64_t extent : shape) {
    extents += (extents.empty() ? "" : "x") + std::to_string(extent);
    if (bytes <= limit)
      bytes *= extent;
  }
  return bytes > limit ? std::optional(extents) : std::nullopt;
}

Status sluice::checkTensorSize(const std::string &file, llvm::StringRef name, llvm::ArrayRef<std::int64_t> shape) {
  if (std::optional<std::string> extents = oversizedShape(shape, /*elementBytes=*/4))
    return inputError(file + ": size of " + name.str() + ", expected at most 64 TiB but got " + *extents + " of f32");
  return Status::ok();
}
