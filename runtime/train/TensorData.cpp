//===- TensorData.cpp - inputs from safetensors files ----------------------------===//
#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/train/InputData.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <span>

namespace sluice {
namespace {

class TensorData : public InputData {
public:
  struct Column {
    const SafetensorsEntry *entry = nullptr;
    DType dtype = DType::f32;
  };
  struct Source {
    SafetensorsFile file;
    /// By port.
    std::vector<Column> columns;
    std::uint64_t count = 0;
  };

  TensorData(std::vector<const plan::PortT *> ports) : ports(std::move(ports)) {}

  Status add(const std::string &path) {
    SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    Source source{std::move(file), {}, 0};
    for (const plan::PortT *port : ports) {
      SLUICE_ASSIGN_OR_RETURN(Column column, findColumn(source.file, *port));
      auto count = static_cast<std::uint64_t>(column.entry->shape[0]);
      if (!source.columns.empty() && count != source.count)
        return inputError(fmt::format("'{}': tensor '{}', expected {} sequences like '{}' but got {}", path, port->name,
                                      source.count, ports[0]->name, count));
      source.count = count;
      source.columns.push_back(column);
      raw.resize(std::max<std::size_t>(raw.size(), rowElements(*port) * dtypeBytes(column.dtype)));
    }
    total += source.count;
    sources.push_back(std::move(source));
    return Status::ok();
  }

  std::uint64_t samples() const override { return total; }
  bool mayIgnoreTargets() const override { return true; }
  std::string formats() const override { return std::string(dataFormatName(DataFormat::safetensors)); }

  Status read(std::uint64_t sample, std::span<const std::span<std::byte>> rows) override {
    for (const Source &source : sources) {
      if (sample >= source.count) {
        sample -= source.count;
        continue;
      }
      for (std::size_t i = 0; i < ports.size(); ++i)
        SLUICE_RETURN_IF_ERROR(readRow(source, i, sample, rows[i]));
      return Status::ok();
    }
    return internalError(fmt::format("sample {} beyond the data's {}", sample, total));
  }

private:
  static Result<Column> findColumn(const SafetensorsFile &file, const plan::PortT &port) {
    const SafetensorsEntry *entry = file.find(port.name);
    if (!entry) {
      // Limits the message for a checkpoint that was given by mistake.
      constexpr std::size_t shown = 8;
      std::string names = join(std::span(file.entries()).first(std::min(shown, file.entries().size())), ", ",
                               [](const SafetensorsEntry &other) { return other.name; });
      if (file.entries().size() > shown)
        names += fmt::format(" and {} more", file.entries().size() - shown);
      return inputError(fmt::format("'{}': tensor for the input '{}', expected one of that name but got {}",
                                    file.path(), port.name, names.empty() ? "none" : names));
    }
    std::vector<std::int64_t> row(port.view->shape.begin() + 1, port.view->shape.end());
    if (entry->shape.empty() || !std::equal(entry->shape.begin() + 1, entry->shape.end(), row.begin(), row.end()))
      return inputError(fmt::format("'{}': shape of the tensor '{}', expected sequences of {} but got {}", file.path(),
                                    port.name, shapeText(row), shapeText(entry->shape)));
    std::optional<DType> dtype = dtypeOf(entry->dtype);
    DType expected = baseType(port.view->dtype);
    if (!dtype || isFloat(*dtype) != isFloat(expected))
      return inputError(fmt::format("'{}': type of the tensor '{}', expected {} for an input of {} but got {}",
                                    file.path(), port.name, isFloat(expected) ? "floats" : "integers",
                                    dtypeName(expected), entry->dtype));
    return Column{entry, *dtype};
  }

  Status readRow(const Source &source, std::size_t index, std::uint64_t sample, std::span<std::byte> out) {
    const plan::PortT &port = *ports[index];
    const Column &column = source.columns[index];
    std::uint64_t count = rowElements(port);
    std::span<std::byte> bytes = std::span(raw).first(count * dtypeBytes(column.dtype));
    SLUICE_RETURN_IF_ERROR(source.file.read(*column.entry, sample * bytes.size(), bytes));
    DType dtype = baseType(port.view->dtype);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto at = static_cast<std::int64_t>(i);
      if (isFloat(dtype)) {
        cpu::storeNumber(out.data(), dtype, at, cpu::loadNumber(bytes.data(), column.dtype, at));
        continue;
      }
      std::int64_t value = cpu::loadInteger(bytes.data(), column.dtype, at);
      // Negative numbers mark ignored positions.
      std::int64_t limit = port.limit != 0 ? static_cast<std::int64_t>(port.limit) - 1 : INT32_MAX;
      if (value > limit || (dtype != DType::i64 && value < INT32_MIN))
        return inputError(fmt::format("'{}': tensor '{}' of sequence {}, expected integers up to {} but got {}",
                                      source.file.path(), port.name, sample, limit, value));
      cpu::storeInteger(out.data(), dtype, at, value);
    }
    if (port.role == plan::PortRole::documents)
      if (Status status = checkDocuments(out, dtype); !status.isOk())
        return inputError(fmt::format("'{}': tensor '{}' of sequence {}: {}", source.file.path(), port.name, sample,
                                      status.message()))
            .withNote(status.notes().front());
    return Status::ok();
  }

  std::vector<const plan::PortT *> ports;
  std::vector<Source> sources;
  std::uint64_t total = 0;
  /// One row with the type of the file: a member, so that a step does not allocate.
  std::vector<std::byte> raw;
};

} // namespace

Result<std::unique_ptr<InputData>> openTensorData(const std::vector<std::string> &paths,
                                                  const std::vector<const plan::PortT *> &ports,
                                                  std::uint64_t minimum) {
  auto data = std::make_unique<TensorData>(ports);
  for (const std::string &path : paths)
    SLUICE_RETURN_IF_ERROR(data->add(path));
  if (data->samples() < minimum)
    return inputError(fmt::format("data '{}'{} are too short, expected at least {} sequences but got {}", paths[0],
                                  paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "", minimum,
                                  data->samples()));
  return std::unique_ptr<InputData>(std::move(data));
}

} // namespace sluice
