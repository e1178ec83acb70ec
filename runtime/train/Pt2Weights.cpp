//===- Pt2Weights.cpp - the weights in an archive of torch.export ---------------===//
#include "runtime/train/Pt2Weights.h"

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace sluice {

/// Limit of the list; those of the largest known models have some MB.
static constexpr std::uint64_t maxListBytes = 100'000'000;

/// The dtype of a number of torch.export's schema, in the names of safetensors where it has the dtype.
static std::string dtypeOfNumber(std::int64_t number) {
  static constexpr std::string_view names[] = {"",    "U8",  "I8",        "I16",       "I32",        "I64",  "F16",
                                               "F32", "F64", "complex32", "complex64", "complex128", "BOOL", "BF16"};
  if (number > 0 && number < static_cast<std::int64_t>(std::size(names)))
    return std::string(names[number]);
  return fmt::format("number {} of torch.export", number);
}

static std::optional<std::int64_t> numberOf(const nlohmann::json &fields, const char *key) {
  const auto value = fields.find(key);
  const auto *number = value == fields.end() ? nullptr : value->get_ptr<const std::int64_t *>();
  return number ? std::optional(*number) : std::nullopt;
}

/// The number of `{"as_int": 3}`; negative for anything else.
static std::int64_t integerOf(const nlohmann::json &value) { return numberOf(value, "as_int").value_or(-1); }

static std::optional<std::vector<std::int64_t>> integersOf(const nlohmann::json &fields, const char *key) {
  const auto values = fields.find(key);
  if (values == fields.end() || !values->is_array())
    return std::nullopt;
  std::vector<std::int64_t> list;
  for (const nlohmann::json &each : *values) {
    list.push_back(integerOf(each));
    if (list.back() < 0)
      return std::nullopt;
  }
  return list;
}

static bool isTrue(const nlohmann::json &fields, const char *key) {
  const auto value = fields.find(key);
  const bool *flag = value == fields.end() ? nullptr : value->get_ptr<const bool *>();
  return flag && *flag;
}

Result<bool> Pt2Weights::isArchive(const std::string &path) {
  if (path.ends_with(".pt2"))
    return true;
  SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path, StatusCode::refused));
  std::array<char, 4> first{};
  if (file.size() < first.size())
    return false;
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(first))));
  return std::string_view(first.data(), first.size()) == "PK\x03\x04";
}

Result<Pt2Weights> Pt2Weights::open(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::open(path, StatusCode::refused));
  // The root folder has the file's name at the time of saving.
  constexpr std::string_view program = "models/model.json";
  std::vector<std::string> roots;
  for (const auto &[name, entry] : zip.entries())
    if (name.ends_with(program) && name.find('/') == name.size() - program.size() - 1)
      roots.push_back(name.substr(0, name.size() - program.size()));
  if (roots.size() != 1)
    return refusedError(fmt::format("'{}': zip archive, expected one entry '{}', as torch.export.save writes it, but "
                                    "got {}",
                                    path, program, roots.size()));
  SLUICE_ASSIGN_OR_RETURN(const std::string order, zip.read(roots[0] + "byteorder", 16));
  if (order != "little")
    return refusedError(fmt::format("'{}': byte order, expected 'little' but got '{}'", path, order));
  Pt2Weights weights(std::move(zip));
  SLUICE_RETURN_IF_ERROR(weights.readList(roots[0] + "data/weights/"));
  return weights;
}

Status Pt2Weights::readList(const std::string &folder) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, zip.read(folder + "model_weights_config.json", maxListBytes));
  std::string duplicate;
  const auto file = parseJson<nlohmann::json>(text, &duplicate);
  const auto config = file.find("config");
  if (config == file.end() || !config->is_object())
    return damageError(fmt::format("'{}': list of weights is not a JSON object with 'config'", path()));
  if (!duplicate.empty())
    return damageError(fmt::format("'{}': list of weights has key '{}' twice", path(), duplicate));
  for (const auto &[name, fields] : config->items()) {
    SafetensorsEntry entry;
    entry.name = name;
    Result<Layout> layout = readTensor(fields, folder, entry);
    if (!layout.isOk()) {
      if (entry.isBuffer && !layout.status().isDamage())
        continue;
      return layout.takeStatus();
    }
    list.push_back(std::move(entry));
    layouts.push_back(std::move(*layout));
  }
  return Status::ok();
}

Result<Pt2Weights::Layout> Pt2Weights::readTensor(const nlohmann::json &fields, const std::string &folder,
                                                  SafetensorsEntry &entry) const {
  const std::string where = fmt::format("'{}': tensor '{}'", path(), entry.name);
  const auto storage = fields.find("path_name"), meta = fields.find("tensor_meta");
  if (storage == fields.end() || !storage->is_string())
    return damageError(fmt::format("{} has no path_name in the list of weights", where));
  entry.isBuffer = !isTrue(fields, "is_param");
  if (isTrue(fields, "use_pickle") || meta == fields.end() || meta->is_null())
    return refusedError(fmt::format("{} is pickled, and pickled tensors are not read", where));
  const std::optional<std::int64_t> dtype = numberOf(*meta, "dtype"), layoutKind = numberOf(*meta, "layout");
  const auto offset = meta->find("storage_offset");
  const std::int64_t first = offset == meta->end() ? -1 : integerOf(*offset);
  std::optional<std::vector<std::int64_t>> sizes = integersOf(*meta, "sizes"), strides = integersOf(*meta, "strides");
  if (!dtype || first < 0 || !sizes || !strides || sizes->size() != strides->size())
    return damageError(
        fmt::format("{} needs a dtype, a storage_offset, and as many sizes as strides of at least 0", where));
  constexpr std::int64_t strided = 7;
  if (layoutKind && *layoutKind != strided)
    return refusedError(fmt::format("{} is sparse, and sparse tensors are not read", where));
  entry.dtype = dtypeOfNumber(*dtype);
  entry.shape = std::move(*sizes);
  const std::uint64_t element = elementBytes(entry.dtype);
  if (element == 0)
    return refusedError(fmt::format("{}, expected a dtype such as F32 or BF16 but got {}", where, entry.dtype));
  const std::optional<std::uint64_t> elements = elementCount(entry.shape);
  if (!elements || __builtin_mul_overflow(*elements, element, &entry.end) || entry.end > INT64_MAX)
    return damageError(
        fmt::format("{}, expected a size of less than 2^63 bytes but got shape {}", where, shapeText(entry.shape)));
  Layout layout;
  if (*elements == 0)
    return layout;
  const ZipFile::Entry *bytes = zip.find(folder + *storage->get_ptr<const std::string *>());
  if (!bytes || bytes->size == 0)
    return refusedError(fmt::format("{} has no bytes in the archive", where));
  layout.storage = *bytes;
  bool overflows = __builtin_mul_overflow(static_cast<std::uint64_t>(first), element, &layout.begin);
  // From the last dim: the stride without gaps, and the index of the last element.
  std::uint64_t dense = 1, last = static_cast<std::uint64_t>(first), step = 0;
  bool isDense = true;
  for (std::size_t dim = entry.shape.size(); dim-- > 0;) {
    const auto size = static_cast<std::uint64_t>(entry.shape[dim]),
               stride = static_cast<std::uint64_t>((*strides)[dim]);
    isDense = isDense && (size == 1 || stride == dense);
    dense *= size;
    overflows =
        overflows || __builtin_mul_overflow(size - 1, stride, &step) || __builtin_add_overflow(last, step, &last);
  }
  if (overflows || last >= layout.storage.size / element)
    return damageError(fmt::format("{} reaches beyond the {} bytes of its storage", where, layout.storage.size));
  layout.end = (last + 1) * element;
  if (!isDense)
    layout.strides.assign(strides->begin(), strides->end());
  return layout;
}

Status Pt2Weights::read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t element = elementBytes(entry.dtype);
  if (offset > entry.bytes() || out.size() > entry.bytes() - offset || offset % element != 0 ||
      out.size() % element != 0)
    return internalError(fmt::format("'{}': read past the end of tensor '{}'", path(), entry.name));
  if (out.empty())
    return Status::ok();
  const Layout &layout = layouts[static_cast<std::size_t>(&entry - list.data())];
  if (layout.strides.empty())
    return zip.readAt(layout.storage, layout.begin + offset, out);
  if (const std::uint64_t begin = layout.storage.offset + layout.begin;
      copyBegin != begin || copy.size() != layout.end - layout.begin) {
    copyBegin = 0;
    copy.resize(layout.end - layout.begin);
    SLUICE_RETURN_IF_ERROR(zip.readAt(layout.storage, layout.begin, copy));
    copyBegin = begin;
  }
  // The index of the first element, and its place in the copy.
  std::vector<std::uint64_t> index(entry.shape.size());
  std::uint64_t rest = offset / element, at = 0;
  for (std::size_t dim = index.size(); dim-- > 0;) {
    const auto size = static_cast<std::uint64_t>(entry.shape[dim]);
    index[dim] = rest % size;
    rest /= size;
    at += index[dim] * layout.strides[dim];
  }
  for (std::size_t done = 0; done < out.size(); done += element) {
    std::memcpy(out.data() + done, copy.data() + at * element, element);
    for (std::size_t dim = index.size(); dim-- > 0;) {
      at += layout.strides[dim];
      if (++index[dim] < static_cast<std::uint64_t>(entry.shape[dim]))
        break;
      at -= layout.strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
  return Status::ok();
}

} // namespace sluice
