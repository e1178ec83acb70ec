//===- Pt2Archive.cpp - archives of torch.export --------------------------------------===//
#include "runtime/base/Pt2Archive.h"

#include "runtime/base/JsonDepth.h"
#include "runtime/base/Text.h"

#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

using namespace sluice;

/// Limits of the JSON texts: those of the largest known models have some MB.
static constexpr std::uint64_t largestList = 100'000'000, largestProgram = std::uint64_t(1) << 30;

static constexpr std::string_view programName = "models/model.json";

/// The bytes of an element by the number of a dtype in torch.export's schema; 0: its elements are not read.
static constexpr std::pair<std::string_view, std::uint64_t> dtypes[] = {
    {"", 0},    {"U8", 1},  {"I8", 1},        {"I16", 2},       {"I32", 4},         {"I64", 8},  {"F16", 2},
    {"F32", 4}, {"F64", 8}, {"complex32", 0}, {"complex64", 8}, {"complex128", 16}, {"BOOL", 1}, {"BF16", 2}};

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

std::uint64_t Pt2Tensor::bytesInOrder() const {
  std::uint64_t bytes = elementBytes;
  for (std::int64_t size : shape)
    bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

bool Pt2Tensor::isContiguous() const {
  std::uint64_t step = 1;
  for (std::size_t dim = shape.size(); dim-- > 0; step *= static_cast<std::uint64_t>(shape[dim]))
    if (shape[dim] != 1 && static_cast<std::uint64_t>(strides[dim]) != step)
      return false;
  return true;
}

Status Pt2Archive::error(const std::string &message) const { return {code, concat(path(), ": ", message)}; }

std::string Pt2Archive::programEntry() const { return concat(root, "models/", name, ".json"); }

Result<Pt2Archive> Pt2Archive::open(const std::string &path, StatusCode code, std::string_view program) {
  SLUICE_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::open(path, code));
  Pt2Archive archive(std::move(zip), code, program);
  // The root folder has the file's name at the time of saving.
  std::size_t roots = 0;
  bool isOlder = false;
  for (const auto &[name, entry] : archive.zip.entries()) {
    isOlder |= name.ends_with("serialized_exported_program.json");
    if (name.ends_with(programName) && name.find('/') == name.size() - programName.size() - 1) {
      archive.root = name.substr(0, name.size() - programName.size());
      ++roots;
    }
  }
  if (roots != 1) {
    Status status = archive.error(
        concat("zip archive, expected one entry '", programName, "', as torch.export.save writes it, but got ", roots));
    if (isOlder)
      status.addNote("it has the layout of torch before 2.8: export it again with a later version");
    return status;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string order, archive.zip.read(archive.root + "byteorder", 16));
  if (order != "little")
    return archive.error(concat("byte order, expected 'little' but got '", printable(order), "'"));
  SLUICE_RETURN_IF_ERROR(archive.readList(concat(archive.root, "data/weights/", program, "_weights_config.json"),
                                          archive.root + "data/weights/"));
  const std::string constants = concat(archive.root, "data/constants/", program, "_constants_config.json");
  if (archive.zip.find(constants))
    SLUICE_RETURN_IF_ERROR(archive.readList(constants, archive.root + "data/constants/"));
  return archive;
}

std::vector<std::string> Pt2Archive::programs() const {
  const std::string folder = root + "models/";
  std::vector<std::string> names;
  for (const auto &[entry, _] : zip.entries())
    if (entry.starts_with(folder) && entry.ends_with(".json"))
      names.push_back(entry.substr(folder.size(), entry.size() - folder.size() - std::string_view(".json").size()));
  return names;
}

Result<std::string> Pt2Archive::program() const { return zip.read(programEntry(), largestProgram); }

Result<std::optional<std::string>> Pt2Archive::extra(std::string_view name) const {
  const std::string entry = concat(root, "extra/", name);
  if (!zip.find(entry))
    return std::optional<std::string>();
  SLUICE_ASSIGN_OR_RETURN(std::string text, zip.read(entry, largestList));
  return std::optional(std::move(text));
}

const Pt2Tensor *Pt2Archive::find(std::string_view name) const {
  const auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

Status Pt2Archive::readList(const std::string &name, const std::string &folder) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, zip.read(name, largestList));
  std::string duplicate;
  const auto file = parseJson<nlohmann::json>(text, &duplicate);
  const auto config = file.find("config");
  if (config == file.end() || !config->is_object())
    return error(concat("'", printable(name), "' is not a JSON object with 'config'")).asDamage();
  if (!duplicate.empty())
    return error(concat("'", printable(name), "' has the key '", printable(duplicate), "' twice")).asDamage();
  for (const auto &[key, fields] : config->items()) {
    Pt2Tensor tensor;
    SLUICE_RETURN_IF_ERROR(readTensor(key, fields, folder, tensor));
    list.insert_or_assign(key, std::move(tensor));
  }
  return Status::ok();
}

Status Pt2Archive::readTensor(const std::string &name, const nlohmann::json &fields, const std::string &folder,
                              Pt2Tensor &tensor) const {
  const std::string where = concat("tensor '", printable(name), "'");
  const auto storage = fields.find("path_name"), meta = fields.find("tensor_meta");
  if (storage == fields.end() || !storage->is_string())
    return error(where + " has no path_name in its list").asDamage();
  tensor.storage = folder + *storage->get_ptr<const std::string *>();
  tensor.isParameter = isTrue(fields, "is_param");
  if (isTrue(fields, "use_pickle") || meta == fields.end() || meta->is_null())
    tensor.readable = error(where + " is pickled, and pickled tensors are not read");
  if (meta == fields.end() || meta->is_null())
    return Status::ok();
  const std::optional<std::int64_t> dtype = numberOf(*meta, "dtype"), layout = numberOf(*meta, "layout");
  const auto offset = meta->find("storage_offset");
  tensor.offset = offset == meta->end() ? -1 : integerOf(*offset);
  std::optional<std::vector<std::int64_t>> sizes = integersOf(*meta, "sizes"), strides = integersOf(*meta, "strides");
  if (!dtype || tensor.offset < 0 || !sizes || !strides || sizes->size() != strides->size())
    return error(where + " needs a dtype, a storage_offset, and as many sizes as strides of at least 0").asDamage();
  tensor.shape = std::move(*sizes);
  tensor.strides = std::move(*strides);
  tensor.requiresGradient = isTrue(*meta, "requires_grad");
  const bool isKnown = *dtype > 0 && *dtype < static_cast<std::int64_t>(std::size(dtypes));
  tensor.dtype = isKnown ? std::string(dtypes[*dtype].first) : concat("number ", *dtype, " of torch.export");
  tensor.elementBytes = isKnown ? dtypes[*dtype].second : 0;
  constexpr std::int64_t strided = 7;
  if (!tensor.readable.isOk())
    return Status::ok();
  if (layout && *layout != strided)
    tensor.readable = error(where + " is sparse, and sparse tensors are not read");
  else if (tensor.elementBytes == 0)
    tensor.readable = error(concat(where, ", expected a dtype such as F32 or BF16 but got ", tensor.dtype));
  if (!tensor.readable.isOk())
    return Status::ok();

  std::uint64_t size = tensor.elementBytes;
  bool overflows = false, isEmpty = false;
  for (std::int64_t extent : tensor.shape) {
    isEmpty |= extent == 0;
    overflows |= __builtin_mul_overflow(size, static_cast<std::uint64_t>(extent), &size);
  }
  if (isEmpty)
    return Status::ok();
  if (overflows || size > INT64_MAX)
    return error(concat(where, ", expected a size of less than 2^63 bytes but got shape [",
                        join(tensor.shape, ", ", [](std::int64_t each) { return each; }), "]"))
        .asDamage();
  const ZipFile::Entry *bytes = zip.find(tensor.storage);
  if (!bytes || bytes->size == 0) {
    tensor.readable = error(where + " has no bytes in the archive");
    return Status::ok();
  }
  tensor.bytes = *bytes;
  // The index of the last element.
  const auto first = static_cast<std::uint64_t>(tensor.offset);
  std::uint64_t last = first;
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    std::uint64_t step = 0;
    overflows |= __builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[dim]) - 1,
                                        static_cast<std::uint64_t>(tensor.strides[dim]), &step) ||
                 __builtin_add_overflow(last, step, &last);
  }
  if (overflows || last >= tensor.bytes.size / tensor.elementBytes)
    return error(concat(where, " reaches beyond the ", tensor.bytes.size, " bytes of its storage")).asDamage();
  tensor.begin = first * tensor.elementBytes;
  tensor.end = (last + 1) * tensor.elementBytes;
  return Status::ok();
}

Status Pt2Archive::read(const Pt2Tensor &tensor, std::uint64_t offset, std::span<std::byte> out) const {
  SLUICE_RETURN_IF_ERROR(tensor.readable);
  const std::uint64_t element = tensor.elementBytes, whole = tensor.bytesInOrder();
  if (offset > whole || out.size() > whole - offset || offset % element != 0 || out.size() % element != 0)
    return internalError(concat(path(), ": read past the end of a tensor"));
  if (out.empty())
    return Status::ok();
  if (tensor.isContiguous())
    return zip.readAt(tensor.bytes, tensor.begin + offset, out);
  if (const std::uint64_t begin = tensor.bytes.offset + tensor.begin;
      copyBegin != begin || copy.size() != tensor.end - tensor.begin) {
    copyBegin = 0;
    copy.resize(tensor.end - tensor.begin);
    SLUICE_RETURN_IF_ERROR(zip.readAt(tensor.bytes, tensor.begin, copy));
    copyBegin = begin;
  }
  // The index of the first element, and its place in the copy.
  std::vector<std::uint64_t> index(tensor.shape.size());
  const auto stride = [&](std::size_t dim) { return static_cast<std::uint64_t>(tensor.strides[dim]); };
  const auto size = [&](std::size_t dim) { return static_cast<std::uint64_t>(tensor.shape[dim]); };
  std::uint64_t rest = offset / element, at = 0;
  for (std::size_t dim = index.size(); dim-- > 0; rest /= size(dim)) {
    index[dim] = rest % size(dim);
    at += index[dim] * stride(dim);
  }
  for (std::size_t done = 0; done < out.size(); done += element) {
    std::memcpy(out.data() + done, copy.data() + at * element, element);
    for (std::size_t dim = index.size(); dim-- > 0;) {
      at += stride(dim);
      if (++index[dim] < size(dim))
        break;
      at -= stride(dim) * size(dim);
      index[dim] = 0;
    }
  }
  return Status::ok();
}
