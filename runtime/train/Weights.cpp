//===- Weights.cpp - parameters out of and into safetensors ---------------------===//
#include "runtime/train/Weights.h"
#include "runtime/base/Json.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/ShardRuns.h"
#include "runtime/train/Variables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice {

/// Limit of the bytes that are read, compared or written at once.
static constexpr std::uint64_t bufferBytes = 1 << 20, bufferElements = bufferBytes / 8;

/// Tensors that checkpoints may contain in addition to the weights, computed and never trained: those that an archive
/// of torch.export marks; and by their names the causal masks of an attention in a numbered block, and the frequencies
/// of rotary positions in a block or of the model, which older library versions saved. The shape distinguishes a mask
/// from a trained bias of that name.
static bool isBuffer(const CheckpointTensor &tensor) {
  const std::string_view name = tensor.name();
  const std::vector<std::int64_t> &shape = tensor.entry->shape;
  if (tensor.entry->isBuffer)
    return true;
  const bool isMask = shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
  if (name.ends_with("rotary_emb.inv_freq") && shape.size() == 1)
    return true;
  const auto isOfAttention = [&](std::string_view buffer) {
    return name.ends_with(".attn" + std::string(buffer)) || name.ends_with(".attention" + std::string(buffer));
  };
  const bool known = (isOfAttention(".bias") && isMask) ||
                     (isOfAttention(".masked_bias") && (shape.empty() || shape == std::vector<std::int64_t>{1}));
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

/// Determined at the first parameter whose name is a suffix of a name in the file, or the reverse.
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
  const std::string &name = tensor.entry->dtype;
  if (const std::optional<DType> dtype = dtypeOf(name); !dtype || !isFloat(*dtype))
    return refusedError(fmt::format("'{}': tensor '{}', expected dtype F32, BF16, F16 or F64 but got {}",
                                    tensor.file->path(), tensor.name(), name));
  if (tensor.entry->shape != parameter.shape)
    return refusedError(fmt::format("'{}': tensor '{}', expected shape {} but got {}", tensor.file->path(),
                                    tensor.name(), shapeText(parameter.shape), shapeText(tensor.entry->shape)));
  return Status::ok();
}

/// Calls `visit` for the runs of a parameter that ranks of this process have, with these ranks.
static Status forEachLocalRun(const Ranks &ranks, const plan::ParameterT &parameter,
                              const std::function<Status(const ShardRun &, const std::vector<int> &)> &visit) {
  const plan::PlanT &plan = ranks.plan();
  const std::vector<std::uint32_t> axes = shardAxes(parameter);
  std::vector<std::vector<int>> holders(groupSize(plan, axes));
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (ranks.holds(rank))
      holders[coordinateAlong(plan, static_cast<std::uint32_t>(rank), axes)].push_back(rank);
  return forEachShardRun(plan, parameter, [&](const ShardRun &run) {
    return holders[run.position].empty() ? Status::ok() : visit(run, holders[run.position]);
  });
}

/// The first elements of `buffer`, of which `left` are still to be processed.
template <typename T> static std::span<T> nextOf(std::vector<T> &buffer, std::uint64_t left) {
  return std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), left)));
}

/// Compares a tensor under a second name of a parameter with the first one, as far as ranks of this process have it.
static Status checkSame(const Ranks &ranks, const plan::ParameterT &parameter, const CheckpointTensor &first,
                        const CheckpointTensor &second) {
  std::vector<double> a(std::min(bufferElements, first.elements())), b(a.size());
  std::vector<std::byte> room;
  return forEachLocalRun(ranks, parameter, [&](const ShardRun &run, const std::vector<int> &) -> Status {
    for (std::uint64_t at = 0; at < run.count;) {
      const std::span<double> x = nextOf(a, run.count - at), y = nextOf(b, run.count - at);
      SLUICE_RETURN_IF_ERROR(first.readAs(run.begin + at, x, room));
      SLUICE_RETURN_IF_ERROR(second.readAs(run.begin + at, y, room));
      if (std::memcmp(x.data(), y.data(), x.size_bytes()) != 0)
        return refusedError(
            fmt::format("'{}': tensors '{}' and '{}' are one parameter of this plan, expected equal values but got "
                        "different ones",
                        second.file->path(), first.name(), second.name()));
      at += x.size();
    }
    return Status::ok();
  });
}

/// Finds each parameter's tensor, and checks that no tensor is missing, extra or of a different shape or dtype.
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
                                      naming.inFile(parameter->name), safetensorsName(baseType(parameter->dtype)),
                                      shapeText(parameter->shape)));
    found.push_back(first);
  }
  for (const CheckpointTensor &tensor : file.tensors())
    if (!known.count(tensor.name()) && !isBuffer(tensor) && !isVariable(plan, tensor.name())) {
      Status status = refusedError(fmt::format("'{}': tensor '{}' is extra, expected only the plan's parameters",
                                               tensor.file->path(), tensor.name()));
      if (file.isArchive())
        status.addNote(
            "a plan has no parameter that the loss does not read: sluice-import export --weights FILE writes "
            "the plan's parameters");
      return status;
    }
  return found;
}

/// Copies one parameter from the file into the shards of this process, and zeros into their padding.
template <typename T>
static Status loadParameter(Ranks &ranks, const CheckpointTensor &tensor, const plan::ParameterT &parameter) {
  const plan::PlanT &plan = ranks.plan();
  const std::uint64_t elements = elementCount(shardShape(parameter)).value_or(0);
  std::vector<T> buffer(std::min(bufferElements, elements));
  std::vector<std::byte> room;
  const bool isPadded = elements * groupSize(plan, shardAxes(parameter)) != elementCount(parameter.shape);
  for (int rank = 0; isPadded && rank < ranks.size(); ++rank)
    for (std::uint64_t at = 0; ranks.holds(rank) && at < elements; at += buffer.size())
      SLUICE_RETURN_IF_ERROR(
          ranks.write(rank, parameter.buffer, at * sizeof(T), std::as_bytes(nextOf(buffer, elements - at))));
  return forEachLocalRun(ranks, parameter, [&](const ShardRun &run, const std::vector<int> &holders) -> Status {
    for (std::uint64_t at = 0; at < run.count;) {
      const std::span<T> values = nextOf(buffer, run.count - at);
      SLUICE_RETURN_IF_ERROR(tensor.readAs(run.begin + at, values, room));
      for (int rank : holders)
        SLUICE_RETURN_IF_ERROR(
            ranks.write(rank, parameter.buffer, (run.offset + at) * sizeof(T), std::as_bytes(values)));
      at += values.size();
    }
    return Status::ok();
  });
}

Result<std::vector<DType>> loadWeights(Ranks &ranks, const std::string &path) {
  const plan::PlanT &plan = ranks.plan();
  SLUICE_ASSIGN_OR_RETURN(Checkpoint file, Checkpoint::open(path));
  SLUICE_ASSIGN_OR_RETURN(std::vector<const CheckpointTensor *> tensors, match(file, ranks));
  SLUICE_RETURN_IF_ERROR(checkVariables(ranks, file));
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const plan::ParameterT &parameter = *plan.parameters[i];
    SLUICE_RETURN_IF_ERROR(parameter.dtype == plan::DType::f64 ? loadParameter<double>(ranks, *tensors[i], parameter)
                                                               : loadParameter<float>(ranks, *tensors[i], parameter));
  }
  SLUICE_RETURN_IF_ERROR(loadVariables(ranks, file));
  std::vector<DType> dtypes;
  for (const CheckpointTensor *tensor : tensors)
    dtypes.push_back(dtypeOf(tensor->entry->dtype).value_or(DType::f32));
  return dtypes;
}

/// Passes a full parameter to `sink` as elements of `dtype`, in the file's order, from the shards of its ranks.
static Status emitParameter(const Ranks &ranks, const plan::ParameterT &parameter, DType dtype,
                            const SafetensorsTensor::Sink &sink) {
  const plan::PlanT &plan = ranks.plan();
  // The ranks at coordinate 0 of all other axes.
  const std::vector<int> holders = groupMembers(plan, 0, shardAxes(parameter));
  const DType kept = baseType(parameter.dtype);
  const std::uint64_t element = dtypeBytes(kept);
  std::vector<std::byte> buffer(std::min(bufferBytes, elementCount(shardShape(parameter)).value_or(0) * element));
  std::vector<std::byte> converted(dtype == kept ? 0 : buffer.size() / element * dtypeBytes(dtype));
  return forEachShardRun(plan, parameter, [&](const ShardRun &run) -> Status {
    for (std::uint64_t at = 0; at < run.count * element;) {
      const std::span<std::byte> part = nextOf(buffer, run.count * element - at);
      SLUICE_RETURN_IF_ERROR(ranks.read(holders[run.position], parameter.buffer, run.offset * element + at, part));
      at += part.size();
      if (dtype == kept) {
        SLUICE_RETURN_IF_ERROR(sink(part));
        continue;
      }
      const std::uint64_t count = part.size() / element;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::int64_t>(i);
        cpu::storeNumber(converted.data(), dtype, index, cpu::loadNumber(part.data(), kept, index));
      }
      SLUICE_RETURN_IF_ERROR(sink(std::span(converted).first(count * dtypeBytes(dtype))));
    }
    return Status::ok();
  });
}

/// The dtype in which each parameter is saved.
static std::vector<DType> savedTypes(const plan::PlanT &plan, const SaveOptions &options) {
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const DType kept = baseType(plan.parameters[i]->dtype);
    const bool isLoaded = i < options.loaded.size() && kept == DType::f32;
    dtypes.push_back(options.dtype.value_or(isLoaded ? options.loaded[i] : kept));
  }
  return dtypes;
}

/// The dtype of the largest number of elements.
static DType commonType(const plan::PlanT &plan, const std::vector<DType> &dtypes) {
  std::array<std::uint64_t, dtypeCount> elements{};
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    elements[static_cast<std::size_t>(dtypes[i])] += elementCount(plan.parameters[i]->shape).value_or(0);
  return static_cast<DType>(std::ranges::max_element(elements) - elements.begin());
}

/// The config's name of a dtype, which is PyTorch's.
static std::string torchName(DType dtype) {
  switch (dtype) {
  case DType::f64:
    return "float64";
  case DType::bf16:
    return "bfloat16";
  case DType::f16:
    return "float16";
  default:
    return "float32";
  }
}

/// The model's config with the dtype of the saved weights: a reader that converts to the config's dtype would otherwise
/// round them.
static std::string withDType(const plan::PlanT &plan, DType saved, bool isGiven) {
  // No config is longer; an untrusted plan must not take minutes to save.
  if (plan.config.size() > std::size_t(1) << 20 || plan.parameters.empty())
    return plan.config;
  Json config = parseJson<Json>(plan.config);
  const std::string dtype = torchName(saved);
  bool same = true;
  for (const char *key : {"dtype", "torch_dtype"})
    if (const auto member = config.find(key); member != config.end() && *member != dtype) {
      *member = dtype;
      same = false;
    }
  // Without the member a reader takes f32.
  if (isGiven && config.is_object() && !config.contains("dtype") && !config.contains("torch_dtype")) {
    config["dtype"] = dtype;
    same = false;
  }
  return same ? plan.config : dumpJson(config, 2) + "\n";
}

Status saveWeights(const Ranks &ranks, const std::string &folder, const SaveOptions &options) {
  SLUICE_RETURN_IF_ERROR(checkWritableFolder(folder));
  const std::vector<DType> dtypes = savedTypes(ranks.plan(), options);
  std::vector<SafetensorsTensor> tensors;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const plan::ParameterT &parameter = *ranks.plan().parameters[i];
    tensors.push_back({parameter.name, safetensorsName(dtypes[i]), parameter.shape,
                       [&ranks, &parameter, dtype = dtypes[i]](const SafetensorsTensor::Sink &sink) {
                         return emitParameter(ranks, parameter, dtype, sink);
                       }});
  }
  addVariables(ranks, tensors);
  SLUICE_RETURN_IF_ERROR(writeCheckpoint(folder, std::move(tensors), options.shardBytes));
  if (ranks.plan().config.empty())
    return Status::ok();
  std::string config = withDType(ranks.plan(), commonType(ranks.plan(), dtypes), options.dtype.has_value());
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder + "/config.json"));
  SLUICE_RETURN_IF_ERROR(file.write(config.ends_with('\n') ? config : config + "\n"));
  return file.commit();
}

} // namespace sluice
