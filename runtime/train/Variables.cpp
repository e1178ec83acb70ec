//===- Variables.cpp - state that is no parameter, in weights files -------------===//
#include "runtime/train/Variables.h"

#include <fmt/format.h>

namespace sluice {
namespace {

const plan::BufferT &bufferOf(const plan::PlanT &plan, const plan::VariableT &variable) {
  return *plan.buffers[variable.buffer];
}

std::string nameOn(int rank, const plan::VariableT &variable) { return fmt::format("rank{}.{}", rank, variable.name); }

const CheckpointTensor *find(const Checkpoint &file, int rank, const plan::VariableT &variable) {
  const CheckpointTensor *own = file.find(nameOn(rank, variable));
  return own ? own : file.find(variable.name);
}

} // namespace

bool isVariable(const plan::PlanT &plan, std::string_view name) {
  std::string_view rest = name;
  if (name.starts_with("rank")) {
    std::size_t end = name.find_first_not_of("0123456789", 4);
    if (end != 4 && end != std::string_view::npos && name[end] == '.')
      rest = name.substr(end + 1);
  }
  for (const auto &variable : plan.variables)
    if (variable->name == name || variable->name == rest)
      return true;
  return false;
}

Status checkVariables(const Ranks &ranks, const Checkpoint &file) {
  for (const auto &variable : ranks.plan().variables)
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const plan::BufferT &buffer = bufferOf(ranks.plan(), *variable);
      const CheckpointTensor *found = find(file, rank, *variable);
      if (!found)
        return refusedError(fmt::format("'{}': tensor '{}' is missing, expected it, or '{}', with {} {}", file.path(),
                                        variable->name, nameOn(rank, *variable),
                                        safetensorsName(baseType(buffer.dtype)), shapeText(buffer.shape)));
      const SafetensorsEntry *entry = found->entry;
      // Booleans are bytes in a plan.
      const bool isBoolean = entry->dtype == "BOOL" && baseType(buffer.dtype) == DType::u8;
      if (entry->dtype != safetensorsName(baseType(buffer.dtype)) && !isBoolean)
        return refusedError(fmt::format("'{}': tensor '{}', expected dtype {} but got {}", file.path(), entry->name,
                                        safetensorsName(baseType(buffer.dtype)), entry->dtype));
      if (entry->shape != buffer.shape)
        return refusedError(fmt::format("'{}': tensor '{}', expected shape {} but got {}", file.path(), entry->name,
                                        shapeText(buffer.shape), shapeText(entry->shape)));
    }
  return Status::ok();
}

Status loadVariables(Ranks &ranks, const Checkpoint &file) {
  for (const auto &variable : ranks.plan().variables)
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (!ranks.holds(rank))
        continue;
      const CheckpointTensor *found = find(file, rank, *variable);
      std::vector<std::byte> bytes(found->entry->bytes());
      SLUICE_RETURN_IF_ERROR(found->file->read(*found->entry, 0, bytes));
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, variable->buffer, 0, bytes));
    }
  return Status::ok();
}

void addVariables(const Ranks &ranks, std::vector<SafetensorsTensor> &tensors) {
  for (const auto &variable : ranks.plan().variables)
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const plan::BufferT &buffer = bufferOf(ranks.plan(), *variable);
      tensors.push_back(
          {nameOn(rank, *variable), safetensorsName(baseType(buffer.dtype)), buffer.shape,
           [&ranks, id = variable->buffer, size = buffer.bytes, rank](const SafetensorsTensor::Sink &sink) {
             std::vector<std::byte> bytes(size);
             SLUICE_RETURN_IF_ERROR(ranks.read(rank, id, 0, bytes));
             return sink(bytes);
           }});
    }
}

} // namespace sluice
