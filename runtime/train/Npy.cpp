//===- Npy.cpp - the header of numpy's .npy files ----------------------------------===//
#include "runtime/train/Npy.h"

#include "runtime/base/Json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {

/// Size limit of a header; that of a one-dimensional array has 118 bytes.
static constexpr std::uint64_t maxArrayHeaderBytes = 1 << 16;

/// The Python dictionary as JSON. Strings in it have neither quotes nor brackets, other than in names of fields of
/// structured types, which are no token ids.
static nlohmann::json parseDictionary(std::string text) {
  std::string json;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // JSON has no comma before a closing bracket.
    if ((c == ')' || c == '}') && json.find_last_not_of(" \n") != std::string::npos)
      if (const std::size_t last = json.find_last_not_of(" \n"); json[last] == ',')
        json.erase(last);
    if (text.compare(i, 4, "True") == 0 || text.compare(i, 5, "False") == 0) {
      json += c == 'T' ? "true" : "false";
      i += c == 'T' ? 3 : 4;
      continue;
    }
    json += c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c;
  }
  return parseJson<nlohmann::json>(json);
}

/// Sets the width and sign of an element; false for a type that has no token ids.
static bool setType(const std::string &type, NpyArray &array) {
  if (type != "<u2" && type != "<u4" && type != "<i4" && type != "<i8")
    return false;
  array.width = static_cast<std::uint64_t>(type[2] - '0');
  array.isSigned = type[1] == 'i';
  return true;
}

Result<NpyArray> readNpyHeader(const InputFile &file) {
  const std::string &path = file.path();
  // The magic, two bytes of version, and a length of 2 or 4 bytes.
  unsigned char head[12] = {};
  if (file.size() >= sizeof head)
    SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(head))));
  if (std::string_view(reinterpret_cast<const char *>(head), npyMagic.size()) != npyMagic)
    return inputError(fmt::format("'{}' is not a .npy file", path));
  const int version = head[6];
  if (version < 1 || version > 3)
    return inputError(fmt::format("'{}': version of the .npy file, expected 1, 2 or 3 but got {}", path, version));
  const std::uint64_t before = version == 1 ? 10 : 12;
  std::uint64_t length = head[8] + 256u * head[9];
  if (version > 1)
    length += (std::uint64_t(head[10]) << 16) + (std::uint64_t(head[11]) << 24);
  const std::uint64_t limit = std::min(maxArrayHeaderBytes, file.size() - before);
  if (length > limit)
    return inputError(
        fmt::format("'{}': header of the .npy file, expected at most {} bytes but got {}", path, limit, length));
  std::string text(static_cast<std::size_t>(length), '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(before, std::as_writable_bytes(std::span(text))));

  const nlohmann::json header = parseDictionary(text);
  const auto type = header.find("descr"), shape = header.find("shape");
  if (!header.is_object() || type == header.end() || shape == header.end() || !shape->is_array())
    return inputError(fmt::format("'{}': header of the .npy file has no 'descr' and 'shape'", path));
  NpyArray array;
  array.begin = before + length;
  if (!type->is_string() || !setType(*type->get_ptr<const std::string *>(), array))
    return inputError(fmt::format("'{}': type of the array, expected '<u2', '<u4', '<i4' or '<i8' but got {}", path,
                                  dumpJson(*type)))
        .withNote("convert it with numpy: array.astype(numpy.uint32)");
  if (shape->size() != 1 || !(*shape)[0].is_number_unsigned())
    return inputError(fmt::format("'{}': shape of the array, expected one dim but got {}", path, dumpJson(*shape)))
        .withNote("convert it with numpy: array.reshape(-1)");
  array.count = *(*shape)[0].get_ptr<const std::uint64_t *>();
  const std::uint64_t data = file.size() - array.begin;
  if (data % array.width != 0 || data / array.width != array.count)
    return inputError(fmt::format("'{}': the array has {} elements of {} bytes, but the file has {} bytes after its "
                                  "header",
                                  path, array.count, array.width, data));
  return array;
}

} // namespace sluice
