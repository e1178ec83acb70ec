//===- Weights.cpp - parameters out of and into safetensors ---------------------===//
#include "runtime/train/Weights.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace sluice {

/// Bytes that are read, compared or written at once.
static constexpr std::uint64_t pieceBytes = 1 << 20;

/// How a parameter lies in its file and on its ranks: `outer` rows of `total` times `inner` bytes, of which a rank holds
/// `chunk` from its coordinate on.
struct Layout {
  std::uint64_t outer = 1, total = 1, chunk = 1, inner = 1;

  Layout(const plan::ParameterT &parameter) {
    int dim = parameter.dim < 0 ? 0 : parameter.dim;
    inner = parameter.dtype == plan::DType::f64 ? 8 : 4;
    for (int d = 0; d < static_cast<int>(parameter.shape.size()); ++d) {
      auto extent = static_cast<std::uint64_t>(parameter.shape[d]);
      (d < dim ? outer : d == dim ? total : inner) *= extent;
    }
    chunk = parameter.dim < 0 ? total : static_cast<std::uint64_t>(parameter.chunk);
  }
  /// First slice of a coordinate, and how many it truly has.
  std::uint64_t begin(std::uint64_t coordinate) const { return std::min(coordinate * chunk, total); }
  std::uint64_t count(std::uint64_t coordinate) const { return std::min(total - begin(coordinate), chunk); }
};

static std::string_view dtypeOf(const plan::ParameterT &parameter) {
  return parameter.dtype == plan::DType::f64 ? "F64" : "F32";
}

static std::string fileOf(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path + "/model.safetensors" : path;
}

/// Buffers that checkpoints of older library versions hold beside the weights, computed and never trained: the causal
/// masks of an attention, "h.0.attn.bias" and "h.0.attn.masked_bias".
static bool isBuffer(std::string_view name) {
  for (std::string_view tail : {".attn.bias", ".attn.masked_bias"}) {
    if (!name.ends_with(tail))
      continue;
    std::string_view block = name.substr(0, name.size() - tail.size());
    std::size_t digits = block.find_last_not_of("0123456789");
    return digits != std::string_view::npos && digits + 1 < block.size() &&
           (block.substr(0, digits + 1) == "h." || block.substr(0, digits + 1).ends_with(".h."));
  }
  return false;
}

/// Where a checkpoint was saved from the module around the model, its names have a first part more ("transformer.").
/// Found at the first parameter whose name ends one of the file's; empty if the names are the parameters' own.
static std::string commonPrefix(const SafetensorsFile &file, const plan::PlanT &plan) {
  for (const auto &parameter : plan.parameters) {
    if (file.find(parameter->name))
      return {};
    for (const SafetensorsEntry &entry : file.entries())
      if (entry.name.ends_with("." + parameter->name) &&
          entry.name.find('.') == entry.name.size() - parameter->name.size() - 1)
        return entry.name.substr(0, entry.name.size() - parameter->name.size());
  }
  return {};
}

static Status checkEntry(const SafetensorsFile &file, const SafetensorsEntry &entry, const plan::ParameterT &parameter) {
  if (entry.dtype != dtypeOf(parameter))
    return refusedError(fmt::format("'{}': tensor '{}', expected dtype {} but got {}", file.path(), entry.name,
                                    dtypeOf(parameter), entry.dtype));
  if (entry.shape != parameter.shape)
    return refusedError(fmt::format("'{}': tensor '{}', expected shape {} but got {}", file.path(), entry.name,
                                    shapeText(parameter.shape), shapeText(entry.shape)));
  return Status::ok();
}

/// A tensor under a second name of a parameter is the same tensor, or the file is of another model.
static Status checkSame(const SafetensorsFile &file, const SafetensorsEntry &first, const SafetensorsEntry &second) {
  std::vector<std::byte> a(pieceBytes), b(pieceBytes);
  for (std::uint64_t at = 0; at < first.bytes(); at += pieceBytes) {
    std::size_t count = static_cast<std::size_t>(std::min(pieceBytes, first.bytes() - at));
    SLUICE_RETURN_IF_ERROR(file.read(first, at, std::span(a).first(count)));
    SLUICE_RETURN_IF_ERROR(file.read(second, at, std::span(b).first(count)));
    if (std::memcmp(a.data(), b.data(), count) != 0)
      return refusedError(fmt::format("'{}': tensors '{}' and '{}' are one in this plan, expected equal values but got "
                                      "different ones",
                                      file.path(), first.name, second.name));
  }
  return Status::ok();
}

/// Finds each parameter's tensor, and checks that nothing is missing, extra or of another form.
static Result<std::vector<const SafetensorsEntry *>> match(const SafetensorsFile &file, const plan::PlanT &plan) {
  std::string prefix = commonPrefix(file, plan);
  std::vector<const SafetensorsEntry *> found;
  std::map<std::string, bool> known;
  for (const auto &parameter : plan.parameters) {
    std::vector<std::string> names{parameter->name};
    names.insert(names.end(), parameter->aliases.begin(), parameter->aliases.end());
    const SafetensorsEntry *first = nullptr;
    for (const std::string &name : names)
      for (const std::string &full : {name, prefix + name}) {
        const SafetensorsEntry *entry = file.find(full);
        if (!entry || entry == first)
          continue;
        known[full] = true;
        SLUICE_RETURN_IF_ERROR(checkEntry(file, *entry, *parameter));
        if (first)
          SLUICE_RETURN_IF_ERROR(checkSame(file, *first, *entry));
        else
          first = entry;
      }
    if (!first)
      return refusedError(fmt::format("'{}': tensor '{}' is missing, expected {} {}", file.path(),
                                      prefix + parameter->name, dtypeOf(*parameter), shapeText(parameter->shape)));
    found.push_back(first);
  }
  for (const SafetensorsEntry &entry : file.entries())
    if (!known.count(entry.name) && !isBuffer(entry.name))
      return refusedError(
          fmt::format("'{}': tensor '{}' is extra, expected only the plan's parameters", file.path(), entry.name));
  return found;
}

/// Copies one parameter's part of the file into a rank's buffer, and zeros into the rest of it.
static Status loadShard(Ranks &ranks, int rank, const SafetensorsFile &file, const SafetensorsEntry &entry,
                        const plan::ParameterT &parameter, std::vector<std::byte> &piece) {
  const plan::PlanT &plan = ranks.plan();
  Layout layout(parameter);
  std::uint64_t coordinate = parameter.dim < 0 ? 0 : coordinateAlong(plan, static_cast<std::uint32_t>(rank), parameter.axes);
  std::uint64_t bytes = layout.count(coordinate) * layout.inner;
  for (std::uint64_t row = 0; row < layout.outer; ++row) {
    std::uint64_t from = (row * layout.total + layout.begin(coordinate)) * layout.inner;
    std::uint64_t to = row * layout.chunk * layout.inner;
    for (std::uint64_t at = 0; at < layout.chunk * layout.inner;) {
      bool real = at < bytes;
      std::uint64_t left = (real ? bytes : layout.chunk * layout.inner) - at;
      std::span<std::byte> part = std::span(piece).first(static_cast<std::size_t>(std::min(pieceBytes, left)));
      if (real)
        SLUICE_RETURN_IF_ERROR(file.read(entry, from + at, part));
      else
        std::memset(part.data(), 0, part.size());
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, parameter.buffer, to + at, part));
      at += part.size();
    }
  }
  return Status::ok();
}

Status loadWeights(Ranks &ranks, const std::string &path) {
  const plan::PlanT &plan = ranks.plan();
  SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(fileOf(path)));
  SLUICE_ASSIGN_OR_RETURN(std::vector<const SafetensorsEntry *> entries, match(file, plan));
  std::vector<std::byte> piece(pieceBytes);
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    for (int rank = 0; rank < ranks.size(); ++rank)
      SLUICE_RETURN_IF_ERROR(loadShard(ranks, rank, file, *entries[i], *plan.parameters[i], piece));
  return Status::ok();
}

/// Hands a whole parameter to `sink`, in the file's order, out of the shards of its ranks.
static Status emitParameter(const Ranks &ranks, const plan::ParameterT &parameter,
                            const SafetensorsTensor::Sink &sink) {
  const plan::PlanT &plan = ranks.plan();
  Layout layout(parameter);
  // The ranks at the origin of every other axis hold the shards in order; a whole parameter is rank 0's.
  std::vector<int> holders{0};
  if (parameter.dim >= 0)
    holders = groupMembers(plan, 0, parameter.axes);
  std::vector<std::byte> piece(pieceBytes);
  for (std::uint64_t row = 0; row < layout.outer; ++row)
    for (std::uint64_t coordinate = 0; coordinate < holders.size(); ++coordinate) {
      std::uint64_t bytes = layout.count(coordinate) * layout.inner;
      for (std::uint64_t at = 0; at < bytes;) {
        std::span<std::byte> part = std::span(piece).first(static_cast<std::size_t>(std::min(pieceBytes, bytes - at)));
        SLUICE_RETURN_IF_ERROR(
            ranks.read(holders[coordinate], parameter.buffer, row * layout.chunk * layout.inner + at, part));
        SLUICE_RETURN_IF_ERROR(sink(part));
        at += part.size();
      }
    }
  return Status::ok();
}

Status saveWeights(const Ranks &ranks, const std::string &folder) {
  SLUICE_RETURN_IF_ERROR(checkWritableFolder(folder));
  std::vector<SafetensorsTensor> tensors;
  for (const auto &parameter : ranks.plan().parameters)
    tensors.push_back({parameter->name, std::string(dtypeOf(*parameter)), parameter->shape,
                       [&ranks, &parameter = *parameter](const SafetensorsTensor::Sink &sink) {
                         return emitParameter(ranks, parameter, sink);
                       }});
  SLUICE_RETURN_IF_ERROR(writeSafetensors(folder + "/model.safetensors", std::move(tensors)));
  const std::string &config = ranks.plan().config;
  if (config.empty())
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder + "/config.json"));
  SLUICE_RETURN_IF_ERROR(file.write(config.ends_with('\n') ? config : config + "\n"));
  return file.commit();
}

} // namespace sluice
