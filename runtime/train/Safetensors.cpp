//===- Safetensors.cpp - the weights format of Hugging Face --------------------===//
#include "runtime/train/Safetensors.h"

#include "runtime/base/Json.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sluice {

// The files and all supported machines are little-endian.
static_assert(std::endian::native == std::endian::little);

/// The limit of the format's own library.
static constexpr std::uint64_t maxHeaderBytes = 100'000'000;

std::uint64_t elementBytes(std::string_view dtype) {
  static constexpr std::string_view one[] = {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3"},
                                    two[] = {"I16", "U16", "F16", "BF16"}, four[] = {"I32", "U32", "F32"},
                                    eight[] = {"F64", "I64", "U64"};
  const auto isIn = [&](const auto &names) { return std::ranges::find(names, dtype) != std::end(names); };
  return isIn(one) ? 1 : isIn(two) ? 2 : isIn(four) ? 4 : isIn(eight) ? 8 : 0;
}

std::string safetensorsName(DType dtype) {
  std::string name(dtypeName(dtype));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::optional<DType> dtypeOf(std::string_view name) {
  for (std::size_t i = 0; i < dtypeCount; ++i)
    if (safetensorsName(static_cast<DType>(i)) == name)
      return static_cast<DType>(i);
  return name == "BOOL" ? std::optional(DType::u8) : std::nullopt;
}

/// Elements times the element's bytes, or false if that does not fit in 63 bits.
static bool sizeInBytes(const std::vector<std::int64_t> &shape, std::uint64_t element, std::uint64_t &bytes) {
  bytes = element;
  for (std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) || bytes > INT64_MAX)
      return false;
  return true;
}

std::string shapeText(const std::vector<std::int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// Reads a list of non-negative integers.
static bool readIntegers(const nlohmann::json &value, std::vector<std::int64_t> &out) {
  if (!value.is_array())
    return false;
  for (const nlohmann::json &each : value) {
    const auto *number = each.get_ptr<const std::int64_t *>();
    if (!number || *number < 0)
      return false;
    out.push_back(*number);
  }
  return true;
}

/// One tensor of the header; `where` is "'FILE': tensor 'NAME'".
static Result<SafetensorsEntry> readEntry(const std::string &where, const std::string &name,
                                          const nlohmann::json &value) {
  if (!value.is_object())
    return refusedError(fmt::format("{}, expected an object in the header but got {}", where, value.type_name()));
  SafetensorsEntry entry;
  entry.name = name;
  std::vector<std::int64_t> offsets;
  bool hasShape = false;
  for (const auto &[key, field] : value.items()) {
    if (key == "dtype" && field.is_string())
      entry.dtype = *field.get_ptr<const std::string *>();
    else if (key == "shape")
      hasShape = readIntegers(field, entry.shape);
    else if (key == "data_offsets" && readIntegers(field, offsets))
      continue;
    else
      return refusedError(fmt::format("{}, expected the fields dtype, shape and data_offsets but got '{}' of type {}",
                                      where, key, field.type_name()));
  }
  if (entry.dtype.empty() || !hasShape || offsets.size() != 2)
    return refusedError(fmt::format("{} needs a dtype, a shape and two data_offsets", where));
  std::uint64_t element = elementBytes(entry.dtype);
  if (element == 0)
    return refusedError(fmt::format("{}, expected a dtype such as F32 or BF16 but got '{}'", where, entry.dtype));
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);
  if (entry.end < entry.begin)
    return refusedError(
        fmt::format("{}, expected data_offsets in order but got [{}, {}]", where, entry.begin, entry.end));
  std::uint64_t bytes = 0;
  if (!sizeInBytes(entry.shape, element, bytes))
    return refusedError(
        fmt::format("{}, expected a size of less than 2^63 bytes but got shape {}", where, shapeText(entry.shape)));
  if (bytes != entry.bytes())
    return refusedError(fmt::format("{}, expected {} bytes for {} {} but got {}", where, bytes, entry.dtype,
                                    shapeText(entry.shape), entry.bytes()));
  return entry;
}

/// The ranges, in order of offset, must cover [0, dataBytes) without hole or overlap.
static Status checkCover(const std::string &path, const std::vector<SafetensorsEntry> &list, std::uint64_t dataBytes) {
  std::vector<const SafetensorsEntry *> byOffset;
  for (const SafetensorsEntry &entry : list)
    byOffset.push_back(&entry);
  std::stable_sort(byOffset.begin(), byOffset.end(), [](const auto *a, const auto *b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  std::uint64_t at = 0;
  for (const SafetensorsEntry *entry : byOffset) {
    if (entry->begin != at)
      return refusedError(fmt::format("'{}': tensor '{}' {}, expected it to begin at byte {} but got {}", path,
                                      entry->name, entry->begin < at ? "overlaps the one before it" : "leaves a gap",
                                      at, entry->begin));
    if (entry->end > dataBytes)
      return refusedError(fmt::format("'{}': tensor '{}' is outside the file, expected it to end by byte {} of the "
                                      "data but got {}",
                                      path, entry->name, dataBytes, entry->end));
    at = entry->end;
  }
  if (at != dataBytes)
    return refusedError(fmt::format("'{}': size of the data, expected {} bytes but got {}", path, at, dataBytes));
  return Status::ok();
}

SafetensorsFile::SafetensorsFile(InputFile file, std::uint64_t dataBegin, std::vector<SafetensorsEntry> list)
    : file(std::move(file)), dataBegin(dataBegin), list(std::move(list)) {}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path, StatusCode::refused));
  if (file.size() < 8)
    return refusedError(
        fmt::format("'{}' is cut off, expected at least 8 bytes of safetensors but got {}", path, file.size()));
  std::uint64_t headerBytes = 0;
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
  if (headerBytes > maxHeaderBytes)
    return refusedError(
        fmt::format("'{}' is not a safetensors file: its first 8 bytes are not the length of a header", path));
  if (headerBytes > file.size() - 8)
    return refusedError(
        fmt::format("'{}' is cut off, or is not a safetensors file: its header ends at byte {}, but the "
                    "file has {}",
                    path, 8 + headerBytes, file.size()));
  std::string text(static_cast<std::size_t>(headerBytes), '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(8, std::as_writable_bytes(std::span(text))));

  std::string duplicate;
  const auto header = parseJson<nlohmann::json>(text, &duplicate);
  if (!header.is_object() || !text.starts_with('{'))
    return refusedError(fmt::format("'{}': header is not a JSON object", path));
  if (!duplicate.empty())
    return refusedError(fmt::format("'{}': header has key '{}' twice", path, duplicate));

  std::vector<SafetensorsEntry> list;
  for (const auto &[name, value] : header.items()) {
    if (name == "__metadata__")
      continue;
    SLUICE_ASSIGN_OR_RETURN(SafetensorsEntry entry,
                            readEntry(fmt::format("'{}': tensor '{}'", path, name), name, value));
    list.push_back(std::move(entry));
  }
  SLUICE_RETURN_IF_ERROR(checkCover(path, list, file.size() - 8 - headerBytes));
  return SafetensorsFile(std::move(file), 8 + headerBytes, std::move(list));
}

const SafetensorsEntry *SafetensorsFile::find(std::string_view name) const {
  auto at = std::lower_bound(list.begin(), list.end(), name,
                             [](const SafetensorsEntry &entry, std::string_view key) { return entry.name < key; });
  return at != list.end() && at->name == name ? &*at : nullptr;
}

Status SafetensorsFile::read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > entry.bytes() || out.size() > entry.bytes() - offset)
    return internalError(fmt::format("'{}': read past the end of tensor '{}'", path(), entry.name));
  return file.readAt(dataBegin + entry.begin + offset, out);
}

Status writeSafetensors(const std::string &path, std::vector<SafetensorsTensor> tensors,
                        const SafetensorsMetadata &metadata, const SafetensorsTensor::Sink &observe) {
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  // transformers refuses files that do not say which framework's layout they are in.
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  for (const auto &[key, value] : metadata)
    header["__metadata__"][key] = value;
  std::uint64_t at = 0;
  for (const SafetensorsTensor &tensor : tensors) {
    std::uint64_t bytes = 0;
    if (!sizeInBytes(tensor.shape, elementBytes(tensor.dtype), bytes) || header.contains(tensor.name))
      return internalError(fmt::format("tensor '{}' cannot be written", tensor.name));
    header[tensor.name] = {{"data_offsets", {at, at + bytes}}, {"dtype", tensor.dtype}, {"shape", tensor.shape}};
    at += bytes;
  }
  std::string text = dumpJson(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');

  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  std::uint64_t length = text.size(), written = 0;
  auto sink = [&](std::span<const std::byte> data) {
    written += data.size();
    SLUICE_RETURN_IF_ERROR(file.write(data));
    return observe ? observe(data) : Status::ok();
  };
  SLUICE_RETURN_IF_ERROR(sink(std::as_bytes(std::span(&length, 1))));
  SLUICE_RETURN_IF_ERROR(sink(std::as_bytes(std::span(text))));
  written = 0;
  for (const SafetensorsTensor &tensor : tensors)
    SLUICE_RETURN_IF_ERROR(tensor.emit(sink));
  if (written != at)
    return internalError(fmt::format("'{}': expected {} bytes of tensors but got {}", path, at, written));
  return file.commit();
}

} // namespace sluice
