//===- Archive.cpp - the program and the numbers of a torch.export archive -----------------===//

#include "passes/import/export/Archive.h"

#include "runtime/base/Half.h"
#include "runtime/base/Json.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/Text.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::exported;

Result<nlohmann::json> exported::readProgramJson(const Pt2Archive &archive) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, archive.program());
  const auto failed = [&](const std::string &why) { return inputError(concat(archive.path(), ": ", why)); };
  if (nestsTooDeep(text))
    return failed(concat("the program nests more than ", deepestJson, " objects and arrays"));
  auto value = parseJson<nlohmann::json>(text);
  if (value.is_discarded())
    return failed(concat("the program is not JSON: ", whyNotJson(text)));
  if (!value.is_object())
    return failed("the program is not a JSON object");
  return value;
}

Status exported::inFile(const std::string &file, const Status &status) {
  Status named = inputError(concat(file, ": ", status.message()));
  for (const std::string &note : status.notes())
    named.addNote(note);
  return named;
}

Result<ScalarType> exported::elementTypeOf(const Pt2Tensor &tensor) {
  static constexpr std::pair<std::string_view, ScalarType> types[] = {
      {"U8", ScalarType::u8},         {"I32", ScalarType::i32},   {"I64", ScalarType::i64},
      {"F16", ScalarType::f16},       {"F32", ScalarType::f32},   {"F64", ScalarType::f64},
      {"BOOL", ScalarType::boolean},  {"BF16", ScalarType::bf16}, {"complex64", ScalarType::f32},
      {"complex128", ScalarType::f64}};
  for (const auto &[name, type] : types)
    if (tensor.dtype == name)
      return type;
  return inputError(concat("element type ", tensor.dtype,
                           ", expected that of a float of 16 to 64 bits, or I32, I64, "
                           "U8 or BOOL"));
}

/// A view of few bytes may have any number of elements.
static constexpr std::uint64_t mostNumbers = std::uint64_t(1) << 27;

template <typename T> static double numberAt(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

static double element(const std::byte *bytes, ScalarType type) {
  switch (type) {
  case ScalarType::u8:
  case ScalarType::boolean:
    return numberAt<std::uint8_t>(bytes);
  case ScalarType::i32:
    return numberAt<std::int32_t>(bytes);
  case ScalarType::i64:
    return numberAt<std::int64_t>(bytes);
  case ScalarType::f32:
    return numberAt<float>(bytes);
  case ScalarType::f64:
    return numberAt<double>(bytes);
  case ScalarType::f16:
  case ScalarType::bf16: {
    std::uint16_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    return type == ScalarType::f16 ? f16ToFloat(bits) : bf16ToFloat(bits);
  }
  }
  llvm_unreachable("covered");
}

Result<std::vector<double>> exported::readNumbers(const Pt2Archive &archive, const Pt2Tensor &tensor) {
  SLUICE_RETURN_IF_ERROR(tensor.readable);
  SLUICE_ASSIGN_OR_RETURN(const ScalarType type, elementTypeOf(tensor));
  if (const std::uint64_t count = tensor.bytesInOrder() / tensor.elementBytes; count > mostNumbers)
    return inputError(concat(archive.path(), ": a buffer of ", count, " elements, expected at most ", mostNumbers));
  std::vector<std::byte> bytes(tensor.bytesInOrder());
  SLUICE_RETURN_IF_ERROR(archive.read(tensor, 0, bytes));
  const std::size_t width = tensor.elementBytes / (tensor.isComplex() ? 2 : 1);
  std::vector<double> values(bytes.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = element(bytes.data() + i * width, type);
  return values;
}
