//===- Safetensors.h - the weights format of Hugging Face ----------------------===//
//
// A strict reader that does not trust the header and reads only the requested byte ranges, and a writer whose bytes
// depend only on the tensors. The format: 8 bytes of header length, a JSON header, the tensors' bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_SAFETENSORS_H
#define SLUICE_RUNTIME_TRAIN_SAFETENSORS_H

#include "runtime/base/DType.h"
#include "runtime/base/File.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct SafetensorsEntry {
  std::string name;
  /// As in the file: "F32", "BF16", "I64", ...
  std::string dtype;
  std::vector<std::int64_t> shape;
  /// Bytes from the start of the data, half-open.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  /// Of a module, and no parameter: only archives of torch.export distinguish them (Pt2Weights.h).
  bool isBuffer = false;

  std::uint64_t bytes() const { return end - begin; }
};

/// Bytes of an element of a dtype of the format; 0 for an unknown name.
std::uint64_t elementBytes(std::string_view dtype);

/// The format's name of a dtype, and back; nullopt for a name of no dtype of plans.
std::string safetensorsName(DType dtype);
std::optional<DType> dtypeOf(std::string_view name);

/// "[2, 3]".
std::string shapeText(const std::vector<std::int64_t> &shape);

/// A file with named tensors, whose elements are read in row-major order.
class TensorFile {
public:
  virtual ~TensorFile() = default;
  virtual const std::string &path() const = 0;
  /// In order of name.
  virtual const std::vector<SafetensorsEntry> &entries() const = 0;
  /// Reads `out.size()` bytes from `offset` within the tensor.
  virtual Status read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const = 0;
};

class SafetensorsFile : public TensorFile {
public:
  /// Reads and checks the header: its length, its JSON, unique names, known dtypes, sizes that agree with shapes, and
  /// ranges that cover the data without hole or overlap. Anything else is StatusCode::refused.
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const override { return file.path(); }
  const std::vector<SafetensorsEntry> &entries() const override { return list; }
  const SafetensorsEntry *find(std::string_view name) const;
  /// Bytes before the tensors' data.
  std::uint64_t headerBytes() const { return dataBegin; }
  Status read(const SafetensorsEntry &entry, std::uint64_t offset, std::span<std::byte> out) const override;

private:
  SafetensorsFile(InputFile file, std::uint64_t dataBegin, std::vector<SafetensorsEntry> list);
  InputFile file;
  std::uint64_t dataBegin = 0;
  std::vector<SafetensorsEntry> list;
};

/// A tensor to write. `emit` passes its bytes to `sink` in order, in parts of any size.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  using Sink = std::function<Status(std::span<const std::byte>)>;
  std::function<Status(const Sink &sink)> emit;
};

/// Of the header's `__metadata__`, in addition to the format.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Writes the tensors in order of name. The file is renamed to its path when it is complete. `observe`, if given, gets
/// all bytes of the file.
Status writeSafetensors(const std::string &path, std::vector<SafetensorsTensor> tensors,
                        const SafetensorsMetadata &metadata = {}, const SafetensorsTensor::Sink &observe = {});

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_SAFETENSORS_H
