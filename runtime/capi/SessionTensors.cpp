//===- SessionTensors.cpp - descriptions and tensors of a session ----------------------===//
#include "runtime/capi/Session.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/TensorValues.h"
#include "runtime/plan/Roles.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::capi {

/// True for an output with one value for all ranks.
static bool isOneValue(const plan::PortT &port) {
  using enum plan::PortRole;
  return port.role == loss || port.role == gradient_norm || port.role == guard || port.role == counted;
}

/// The type of an output of a session: rows of all its micro-batches and `places` data-parallel ranks.
static TensorType outputType(const plan::EntryT &entry, const plan::PortT &port, std::uint64_t places) {
  TensorType type;
  type.dtype = baseType(port.view->dtype);
  type.shape = port.view->shape;
  if (isOneValue(port))
    return type;
  if (type.shape.empty())
    type.shape = {1};
  const std::uint64_t microbatches = port.per_repetition && !entry.sections.empty() ? entry.sections[0]->repeat : 1;
  type.shape[0] *= static_cast<std::int64_t>(microbatches * places);
  return type;
}

Result<std::string> Session::describe() {
  const TrainProgress progress = training ? training->progress() : TrainProgress();
  Json entryList = Json::array();
  for (const auto &[name, entry] : entries) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const Input &input : entry.inputs)
      inputs.push_back({{"name", input.port->name},
                        {"role", plan::EnumNamePortRole(input.port->role)},
                        {"dtype", dtypeName(input.type.dtype)},
                        {"shape", input.type.shape},
                        {"limit", input.type.limit}});
    for (const auto &port : entry.entry->outputs) {
      const TensorType type = outputType(*entry.entry, *port, places.size());
      outputs.push_back({{"name", port->name},
                         {"role", plan::EnumNamePortRole(port->role)},
                         {"dtype", dtypeName(type.dtype)},
                         {"shape", type.shape}});
    }
    entryList.push_back({{"name", name},
                         {"trains", hasUpdate(*entry.entry)},
                         {"inputs", std::move(inputs)},
                         {"outputs", std::move(outputs)}});
  }
  Json parameters = Json::array(), states = Json::array();
  for (const PlanTensor &tensor : tensors) {
    const bool isParameter = tensor.parameter && tensor.name == tensor.parameter->name;
    (isParameter ? parameters : states)
        .push_back({{"name", tensor.name}, {"dtype", dtypeName(tensor.dtype)}, {"shape", tensor.shape}});
  }
  const std::lock_guard lock(noteMutex);
  const Json json = {{"world", ranks ? ranks->size() : 0},
                     {"ranks", held},
                     {"data_ranks", places.size()},
                     {"step", progress.step},
                     {"updates", progress.updates},
                     {"entries", std::move(entryList)},
                     {"parameters", std::move(parameters)},
                     {"states", std::move(states)},
                     {"notes", notes}};
  return dumpJson(json, 2) + "\n";
}

Result<OwnedTensor> Session::output(std::string_view entryName, std::string_view name) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(const Entry *entry, findEntry(entryName));
  const auto &outputs = entry->entry->outputs;
  const auto found = std::ranges::find(outputs, name, [](const auto &port) { return port->name; });
  if (found == outputs.end())
    return inputError(
        concat("entry point '", entryName, "' has no output '", name, "', expected one of ",
               outputs.empty() ? "none" : join(outputs, ", ", [](const auto &port) { return port->name; })));
  // Ports of different entry points may share memory.
  if (lastRun != entryName)
    return inputError(concat("output '", name, "' of entry point '", entryName, "', which did not run last"))
        .withNote("outputs are read after a run of their entry point, before a run of another one");
  const plan::PortT &port = **found;
  const TensorType type = outputType(*entry->entry, port, places.size());
  const NewTensor created = newTensor(type.dtype, type.shape);
  OwnedTensor tensor(created.tensor);
  const std::uint64_t copies = isOneValue(port) ? 1 : places.size();
  const std::uint64_t slices = copies * (port.per_repetition ? entry->entry->sections[0]->repeat : 1);
  const std::uint64_t slice = created.bytes.size() / slices;
  std::uint64_t place = 0;
  for (const auto &[coordinate, rank] : places) {
    for (std::uint64_t repetition = 0; repetition * copies < slices; ++repetition)
      SLUICE_RETURN_IF_ERROR(ranks->readOwn(rank, port.view->buffer,
                                            port.view->offset + repetition * port.view->repetition_stride,
                                            created.bytes.subspan((repetition * copies + place) * slice, slice)));
    if (++place == copies)
      break;
  }
  return tensor;
}

Result<OwnedTensor> Session::read(std::string_view name) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(const PlanTensor *found, findTensor(name));
  SLUICE_RETURN_IF_ERROR(finish());
  const NewTensor created = newTensor(found->dtype, found->shape);
  OwnedTensor tensor(created.tensor);
  Status status = readTensor(*ranks, *found, created.bytes);
  if (!status.isOk())
    return end(std::move(status));
  return tensor;
}

Status Session::write(std::string_view name, const DLTensor &tensor) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(const PlanTensor *found, findTensor(name));
  const TensorType type{found->dtype, found->shape};
  std::vector<std::byte> values(type.bytes());
  SLUICE_RETURN_IF_ERROR(copyTensor(tensor, type, concat("'", name, "'"), values));
  SLUICE_RETURN_IF_ERROR(finish());
  Status status = writeTensor(*ranks, *found, values);
  return status.isOk() ? status : end(std::move(status));
}

/// The extents of a rank's shard of a parameter without padding; an error if padding is between its elements.
static Result<std::vector<std::int64_t>> shardExtents(const plan::PlanT &plan, const PlanTensor &tensor, int rank) {
  std::uint64_t elements = 0;
  for (const ShardRun &run : runsOf(plan, tensor, rank))
    elements += run.count;
  if (!tensor.parameter)
    return tensor.shape;
  std::vector<std::int64_t> extents = shardShape(*tensor.parameter);
  std::uint64_t padded = elementCount(extents).value_or(0);
  if (padded == elements)
    return extents;
  const plan::ParameterT &parameter = *tensor.parameter;
  int dim = cutDim(parameter);
  if (const plan::TensorSplitT *split = parameter.split.get();
      split && split->extent * groupSize(plan, split->axes) != static_cast<std::uint64_t>(parameter.shape[split->dim]))
    dim = parameter.dim < 0 && split->segments == 1 ? static_cast<int>(split->dim) : -1;
  if (dim >= 0) {
    const auto at = static_cast<std::size_t>(dim);
    const std::uint64_t rows = padded / static_cast<std::uint64_t>(std::max<std::int64_t>(extents[at], 1));
    if (rows != 0 && elements % rows == 0) {
      extents[at] = static_cast<std::int64_t>(elements / rows);
      return extents;
    }
  }
  return inputError(concat("'", tensor.name, "' has padding between the elements of its shard on rank ", rank))
      .withNote("sluice_session_read copies the parameter without padding");
}

Result<OwnedTensor> Session::view(std::string_view name, int rank) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(const PlanTensor *found, findTensor(name));
  if (!std::ranges::count(held, rank))
    return inputError(concat("rank ", rank, ", expected one of this process, ", join(held, ", ")));
  if (found->rank >= 0 && found->rank != rank)
    return inputError(concat("'", name, "' is a state of rank ", found->rank, ", not of rank ", rank));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::int64_t> extents, shardExtents(ranks->plan(), *found, rank));
  SLUICE_RETURN_IF_ERROR(finish());
  SLUICE_ASSIGN_OR_RETURN(SharedMemory memory, ranks->memoryOf(rank, found->buffer));
  // Steps are complete while a view exists.
  ++*views;
  std::shared_ptr<void> owner(memory.bytes.data(), [counter = views, arena = std::move(memory.owner)](void *) mutable {
    --*counter;
    arena.reset();
  });
  std::vector<std::int64_t> padded = found->parameter ? shardShape(*found->parameter) : found->shape;
  std::vector<std::int64_t> strides(padded.size(), 1);
  for (std::size_t d = padded.size(); d-- > 1;)
    strides[d - 1] = strides[d] * padded[d];
  return OwnedTensor(
      wrapTensor(std::move(owner), memory.bytes.data(), found->dtype, std::move(extents), std::move(strides), 0));
}

} // namespace sluice::capi
