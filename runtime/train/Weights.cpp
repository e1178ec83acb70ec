//===- Weights.cpp - parameters out of and into safetensors ---------------------===//
#include "runtime/train/Weights.h"
#include "runtime/base/Json.h"
#include "runtime/base/ShardMath.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Parts.h"
#include "runtime/train/Variables.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice {

/// Bytes that are read, compared or written at once, at most; a smaller tensor takes no more than its own, since new
/// memory costs time, page by page.
static constexpr std::uint64_t bufferBytes = 1 << 20, bufferElements = bufferBytes / 8;

/// Layout of a parameter in its file and on its ranks: `outer` rows of `total` times `inner` bytes, of which a rank has
/// `chunk` from its coordinate on.
struct Layout {
  std::uint64_t outer = 1, total = 1, chunk = 1, inner = 1;

  Layout(const plan::ParameterT &parameter) {
    int dim = std::max(cutDim(parameter), 0);
    inner = parameter.dtype == plan::DType::f64 ? 8 : 4;
    std::vector<std::int64_t> shape = cutShape(parameter);
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      auto extent = static_cast<std::uint64_t>(shape[d]);
      (d < dim ? outer : d == dim ? total : inner) *= extent;
    }
    chunk = parameter.dim < 0 ? total : static_cast<std::uint64_t>(parameter.chunk);
  }
  /// First slice of a coordinate, and the number of valid slices.
  std::uint64_t begin(std::uint64_t coordinate) const {
    return static_cast<std::uint64_t>(chunkBegin(signedOf(total), signedOf(chunk), signedOf(coordinate)));
  }
  std::uint64_t count(std::uint64_t coordinate) const {
    return static_cast<std::uint64_t>(validExtent(signedOf(total), signedOf(chunk), signedOf(coordinate)));
  }

private:
  static std::int64_t signedOf(std::uint64_t value) { return static_cast<std::int64_t>(value); }
};

static std::string_view dtypeOf(const plan::ParameterT &parameter) {
  return parameter.dtype == plan::DType::f64 ? "F64" : "F32";
}

/// Tensors that checkpoints may contain in addition to the weights, computed and never trained: the causal masks of an
/// attention in a numbered block, and the frequencies of rotary positions in a block or of the model, which older
/// library versions saved. The shape distinguishes a mask from a trained bias of that name.
static bool isBuffer(const CheckpointTensor &tensor) {
  const std::string_view name = tensor.name();
  const std::vector<std::int64_t> &shape = tensor.entry->shape;
  const bool isMask = shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
  if (name.ends_with("rotary_emb.inv_freq") && shape.size() == 1)
    return true;
  const bool known = (name.ends_with(".attn.bias") && isMask) ||
                     (name.ends_with(".attn.masked_bias") && (shape.empty() || shape == std::vector<std::int64_t>{1}));
  bool numbered = false;
  for (std::size_t begin = 0, dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', begin)) {
    numbered = numbered || (dot > begin &&
                            name.substr(begin, dot - begin).find_first_not_of("0123456789") == std::string_view::npos);
    begin = dot + 1;
  }
  return known && numbered;
}

namespace {

/// Difference between the names of a checkpoint and of the plan: an additional prefix if it was saved from the outer
/// module ("transformer."), a missing prefix if it was saved from the inner module ("model.").
struct Naming {
  std::string added;
  bool cut = false;

  std::string inFile(const std::string &name) const {
    std::size_t dot = name.find('.');
    return cut && dot != std::string::npos ? name.substr(dot + 1) : added + name;
  }
};

} // namespace

/// Found at the first parameter whose name ends one of the file's, or the other way around.
static Naming namingOf(const Checkpoint &file, const plan::PlanT &plan) {
  for (const auto &parameter : plan.parameters) {
    const std::string &name = parameter->name;
    if (file.find(name))
      return {};
    for (const CheckpointTensor &tensor : file.tensors())
      if (tensor.name().ends_with("." + name) && tensor.name().find('.') == tensor.name().size() - name.size() - 1)
        return {tensor.name().substr(0, tensor.name().size() - name.size()), false};
    std::size_t dot = name.find('.');
    if (dot != std::string::npos && file.find(name.substr(dot + 1)))
      return {"", true};
  }
  return {};
}

static Status checkTensor(const CheckpointTensor &tensor, const plan::ParameterT &parameter) {
  const std::string &dtype = tensor.entry->dtype;
  if (dtype != "F32" && dtype != "BF16" && dtype != "F16" && dtype != "F64")
    return refusedError(fmt::format("'{}': tensor '{}', expected dtype F32, BF16, F16 or F64 but got {}",
                                    tensor.file->path(), tensor.name(), dtype));
  if (tensor.entry->shape != parameter.shape)
    return refusedError(fmt::format("'{}': tensor '{}', expected shape {} but got {}", tensor.file->path(),
                                    tensor.name(), shapeText(parameter.shape), shapeText(tensor.entry->shape)));
  return Status::ok();
}

/// Elements of the full parameter that a rank has, as runs from `begin` on.
static Status forEachShardRun(const plan::PlanT &plan, const plan::ParameterT &parameter, int rank,
                              const std::function<Status(std::uint64_t begin, std::uint64_t count)> &visit) {
  auto coordinate = [&](const std::vector<std::uint32_t> &axes) {
    return coordinateAlong(plan, static_cast<std::uint32_t>(rank), axes);
  };
  if (parameter.split) {
    std::uint32_t part = coordinate(parameter.split->axes), shard = coordinate(parameter.axes);
    return forEachRun(plan, parameter, [&](const Run &run) {
      return run.part == part && run.shard == shard ? visit(run.begin, run.count) : Status::ok();
    });
  }
  Layout layout(parameter);
  std::uint64_t own = parameter.dim < 0 ? 0 : coordinate(parameter.axes);
  std::uint64_t inner = layout.inner / dtypeBytes(baseType(parameter.dtype));
  for (std::uint64_t outer = 0; outer < layout.outer; ++outer)
    SLUICE_RETURN_IF_ERROR(visit((outer * layout.total + layout.begin(own)) * inner, layout.count(own) * inner));
  return Status::ok();
}

/// A tensor under a second name of a parameter is the same tensor, or the file is of another model. Each process looks
/// at what its ranks have of it.
static Status checkSame(const Ranks &ranks, const plan::ParameterT &parameter, const CheckpointTensor &first,
                        const CheckpointTensor &second) {
  std::vector<double> a(std::min(bufferElements, first.elements())), b(a.size());
  std::vector<std::byte> room;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks.holds(rank))
      continue;
    SLUICE_RETURN_IF_ERROR(forEachShardRun(ranks.plan(), parameter, rank, [&](std::uint64_t begin, std::uint64_t all) {
      for (std::uint64_t at = 0; at < all; at += bufferElements) {
        auto count = static_cast<std::size_t>(std::min(bufferElements, all - at));
        SLUICE_RETURN_IF_ERROR(first.readAs(begin + at, std::span(a).first(count), room));
        SLUICE_RETURN_IF_ERROR(second.readAs(begin + at, std::span(b).first(count), room));
        if (std::memcmp(a.data(), b.data(), count * sizeof(double)) != 0)
          return refusedError(
              fmt::format("'{}': tensors '{}' and '{}' are one parameter of this plan, expected equal values but got "
                          "different ones",
                          second.file->path(), first.name(), second.name()));
      }
      return Status::ok();
    }));
  }
  return Status::ok();
}

/// Finds each parameter's tensor, and checks that nothing is missing, extra or of another form.
static Result<std::vector<const CheckpointTensor *>> match(const Checkpoint &file, const Ranks &ranks) {
  const plan::PlanT &plan = ranks.plan();
  Naming naming = namingOf(file, plan);
  std::vector<const CheckpointTensor *> found;
  std::set<std::string_view> known;
  for (const auto &parameter : plan.parameters) {
    std::vector<std::string> names{parameter->name};
    names.insert(names.end(), parameter->aliases.begin(), parameter->aliases.end());
    const CheckpointTensor *first = nullptr;
    for (const std::string &name : names)
      for (const std::string &full : {name, naming.inFile(name)}) {
        const CheckpointTensor *tensor = file.find(full);
        if (!tensor || !known.insert(tensor->name()).second)
          continue;
        SLUICE_RETURN_IF_ERROR(checkTensor(*tensor, *parameter));
        if (first)
          SLUICE_RETURN_IF_ERROR(checkSame(ranks, *parameter, *first, *tensor));
        else
          first = tensor;
      }
    if (!first)
      return refusedError(fmt::format("'{}': tensor '{}' is missing, expected {} {}", file.path(),
                                      naming.inFile(parameter->name), dtypeOf(*parameter),
                                      shapeText(parameter->shape)));
    found.push_back(first);
  }
  for (const CheckpointTensor &tensor : file.tensors())
    if (!known.count(tensor.name()) && !isBuffer(tensor) && !isVariable(plan, tensor.name()))
      return refusedError(fmt::format("'{}': tensor '{}' is extra, expected only the plan's parameters",
                                      tensor.file->path(), tensor.name()));
  return found;
}

/// As loadShard, for a parameter with a split.
template <typename T>
static Status loadPart(Ranks &ranks, int rank, const CheckpointTensor &tensor, const plan::ParameterT &parameter) {
  const plan::PlanT &plan = ranks.plan();
  std::uint64_t elements = elementCount(shardShape(parameter)).value_or(0);
  std::vector<T> buffer(std::min(bufferElements, elements));
  std::vector<std::byte> room;
  for (std::uint64_t at = 0; at < elements; at += bufferElements)
    SLUICE_RETURN_IF_ERROR(ranks.write(
        rank, parameter.buffer, at * sizeof(T),
        std::as_bytes(std::span(buffer).first(static_cast<std::size_t>(std::min(bufferElements, elements - at))))));
  std::uint32_t part = coordinateAlong(plan, static_cast<std::uint32_t>(rank), parameter.split->axes);
  std::uint32_t shard = coordinateAlong(plan, static_cast<std::uint32_t>(rank), parameter.axes);
  return forEachRun(plan, parameter, [&](const Run &run) -> Status {
    if (run.part != part || run.shard != shard)
      return Status::ok();
    for (std::uint64_t at = 0; at < run.count; at += bufferElements) {
      std::span<T> values = std::span(buffer).first(static_cast<std::size_t>(std::min(bufferElements, run.count - at)));
      SLUICE_RETURN_IF_ERROR(tensor.readAs(run.begin + at, values, room));
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, parameter.buffer, (run.offset + at) * sizeof(T), std::as_bytes(values)));
    }
    return Status::ok();
  });
}

/// Copies one parameter's part of the file into a rank's buffer, and zeros into the rest of it.
template <typename T>
static Status loadShard(Ranks &ranks, int rank, const CheckpointTensor &tensor, const plan::ParameterT &parameter) {
  const plan::PlanT &plan = ranks.plan();
  if (parameter.split)
    return loadPart<T>(ranks, rank, tensor, parameter);
  Layout layout(parameter);
  std::uint64_t coordinate =
      parameter.dim < 0 ? 0 : coordinateAlong(plan, static_cast<std::uint32_t>(rank), parameter.axes);
  std::uint64_t inner = layout.inner / sizeof(T), real = layout.count(coordinate) * inner, row = layout.chunk * inner;
  std::vector<T> buffer(std::min(bufferElements, row));
  std::vector<std::byte> room;
  for (std::uint64_t outer = 0; outer < layout.outer; ++outer) {
    std::uint64_t from = (outer * layout.total + layout.begin(coordinate)) * inner;
    for (std::uint64_t at = 0; at < row;) {
      std::uint64_t left = (at < real ? real : row) - at;
      std::span<T> part = std::span(buffer).first(static_cast<std::size_t>(std::min(bufferElements, left)));
      if (at < real)
        SLUICE_RETURN_IF_ERROR(tensor.readAs(from + at, part, room));
      else
        std::fill(part.begin(), part.end(), T(0));
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, parameter.buffer, (outer * row + at) * sizeof(T), std::as_bytes(part)));
      at += part.size();
    }
  }
  return Status::ok();
}

Status loadWeights(Ranks &ranks, const std::string &path) {
  const plan::PlanT &plan = ranks.plan();
  SLUICE_ASSIGN_OR_RETURN(Checkpoint file, Checkpoint::open(path));
  SLUICE_ASSIGN_OR_RETURN(std::vector<const CheckpointTensor *> tensors, match(file, ranks));
  SLUICE_RETURN_IF_ERROR(checkVariables(ranks, file));
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (!ranks.holds(rank))
        continue;
      const plan::ParameterT &parameter = *plan.parameters[i];
      SLUICE_RETURN_IF_ERROR(parameter.dtype == plan::DType::f64
                                 ? loadShard<double>(ranks, rank, *tensors[i], parameter)
                                 : loadShard<float>(ranks, rank, *tensors[i], parameter));
    }
  return loadVariables(ranks, file);
}

/// As emitParameter, for a parameter with a split.
static Status emitParts(const Ranks &ranks, const plan::ParameterT &parameter, const SafetensorsTensor::Sink &sink) {
  const plan::PlanT &plan = ranks.plan();
  std::vector<std::uint32_t> axes = parameter.split->axes;
  axes.insert(axes.end(), parameter.axes.begin(), parameter.axes.end());
  std::vector<int> holders = groupMembers(plan, 0, axes);
  std::uint64_t shards = groupSize(plan, parameter.axes), element = dtypeBytes(baseType(parameter.dtype));
  std::vector<std::byte> buffer(std::min(bufferBytes, elementCount(parameter.shape).value_or(0) * element));
  return forEachRun(plan, parameter, [&](const Run &run) -> Status {
    for (std::uint64_t at = 0; at < run.count * element;) {
      std::span<std::byte> part =
          std::span(buffer).first(static_cast<std::size_t>(std::min(bufferBytes, run.count * element - at)));
      SLUICE_RETURN_IF_ERROR(
          ranks.read(holders[run.part * shards + run.shard], parameter.buffer, run.offset * element + at, part));
      SLUICE_RETURN_IF_ERROR(sink(part));
      at += part.size();
    }
    return Status::ok();
  });
}

/// Passes a full parameter to `sink`, in the file's order, from the shards of its ranks.
static Status emitParameter(const Ranks &ranks, const plan::ParameterT &parameter,
                            const SafetensorsTensor::Sink &sink) {
  const plan::PlanT &plan = ranks.plan();
  if (parameter.split)
    return emitParts(ranks, parameter, sink);
  Layout layout(parameter);
  // The ranks at coordinate 0 of every other axis have the shards in order; a replicated parameter is read from rank 0.
  std::vector<int> holders{0};
  if (parameter.dim >= 0)
    holders = groupMembers(plan, 0, parameter.axes);
  std::vector<std::byte> buffer(std::min(bufferBytes, layout.chunk * layout.inner));
  for (std::uint64_t row = 0; row < layout.outer; ++row)
    for (std::uint64_t coordinate = 0; coordinate < holders.size(); ++coordinate) {
      std::uint64_t bytes = layout.count(coordinate) * layout.inner;
      for (std::uint64_t at = 0; at < bytes;) {
        std::span<std::byte> part =
            std::span(buffer).first(static_cast<std::size_t>(std::min(bufferBytes, bytes - at)));
        SLUICE_RETURN_IF_ERROR(
            ranks.read(holders[coordinate], parameter.buffer, row * layout.chunk * layout.inner + at, part));
        SLUICE_RETURN_IF_ERROR(sink(part));
        at += part.size();
      }
    }
  return Status::ok();
}

/// The model's config with the dtype of the saved weights: a reader that converts to the config's dtype would otherwise
/// round them.
static std::string withDType(const plan::PlanT &plan) {
  // No config is longer; a plan from anywhere must not take minutes to save.
  if (plan.config.size() > std::size_t(1) << 20 || plan.parameters.empty())
    return plan.config;
  Json config = parseJson<Json>(plan.config);
  std::string dtype = dtypeOf(*plan.parameters[0]) == "F64" ? "float64" : "float32";
  bool same = true;
  for (const char *key : {"dtype", "torch_dtype"})
    if (const auto member = config.find(key); member != config.end() && *member != dtype) {
      *member = dtype;
      same = false;
    }
  return same ? plan.config : dumpJson(config, 2) + "\n";
}

Status saveWeights(const Ranks &ranks, const std::string &folder) {
  SLUICE_RETURN_IF_ERROR(checkWritableFolder(folder));
  std::vector<SafetensorsTensor> tensors;
  for (const auto &parameter : ranks.plan().parameters)
    tensors.push_back({parameter->name, std::string(dtypeOf(*parameter)), parameter->shape,
                       [&ranks, &parameter = *parameter](const SafetensorsTensor::Sink &sink) {
                         return emitParameter(ranks, parameter, sink);
                       }});
  addVariables(ranks, tensors);
  SLUICE_RETURN_IF_ERROR(writeCheckpoint(folder, std::move(tensors)));
  if (ranks.plan().config.empty())
    return Status::ok();
  std::string config = withDType(ranks.plan());
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder + "/config.json"));
  SLUICE_RETURN_IF_ERROR(file.write(config.ends_with('\n') ? config : config + "\n"));
  return file.commit();
}

} // namespace sluice
