//===- PlanBuffer.cpp - buffers during the lowering to plan ---------------------------===//
#include "passes/schedule/PlanBuffer.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sluice {
namespace {

/// A buffer that the forward writes and the backward reads is an activation; one that the backward writes and the
/// update reads is a gradient.
BufferClass classOf(const PlanBuffer &buffer) {
  const AccessPhases &writers = buffer.writers, &readers = buffer.readers;
  const bool inForward = writers.contains(Phase::forward) || writers.contains(Phase::loss);
  if (inForward && (readers.contains(Phase::backward) || readers.hasRecompute()))
    return BufferClass::activation;
  if (writers.contains(Phase::backward) && readers.contains(Phase::update) && buffer.type.getRank() > 0)
    return BufferClass::gradient;
  if (writers.hasRecompute() && readers.contains(Phase::backward))
    return BufferClass::activation;
  return BufferClass::temporary;
}

llvm::StringRef shortName(BufferClass bufferClass) {
  switch (bufferClass) {
  case BufferClass::activation:
    return "act";
  case BufferClass::temporary:
    return "tmp";
  case BufferClass::gradient:
    return "grad";
  case BufferClass::communication:
    return "comm";
  default:
    return stringifyBufferClass(bufferClass);
  }
}

} // namespace

int PlanBuffers::add(RankedTensorType type, Location location, std::string entry,
                     std::optional<BufferClass> bufferClass) {
  buffers.emplace_back(RankedTensorType::get(type.getShape(), type.getElementType()), location);
  buffers.back().entry = std::move(entry);
  buffers.back().bufferClass = bufferClass;
  return size() - 1;
}

int PlanBuffers::persistent(llvm::StringRef parameter, llvm::StringRef state, RankedTensorType type,
                            plan_ir::ValidAttr valid, BufferClass bufferClass, Location location) {
  auto [it, isNew] = persistents.try_emplace({parameter.str(), state.str()}, 0);
  if (isNew) {
    it->second = add(type, location, "", bufferClass);
    PlanBuffer &buffer = buffers.back();
    buffer.parameter = parameter;
    buffer.state = state;
    buffer.valid = valid;
    buffer.hint = (parameter + "." + (state.empty() ? "shard" : state)).str();
  }
  return it->second;
}

void PlanBuffers::finish(ModuleOp module) {
  llvm::StringSet<> taken;
  for (Operation &op : *module.getBody())
    if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      taken.insert(name);
  llvm::StringMap<int> counters;
  const auto numbered = [&](const std::string &stem) {
    std::string name;
    do
      name = stem + "." + std::to_string(counters[stem]++);
    while (!taken.insert(name).second);
    return name;
  };
  for (PlanBuffer &buffer : buffers) {
    if (!buffer.bufferClass)
      buffer.bufferClass = classOf(buffer);
    const std::string stem = buffer.block.empty() ? "root" : buffer.block;
    std::string name;
    if (buffer.hint.empty())
      name = numbered(stem + "." + shortName(*buffer.bufferClass).str());
    else if (buffer.bufferClass != BufferClass::gathered && taken.insert(buffer.hint).second)
      name = buffer.hint;
    else
      name = numbered(buffer.hint);
    buffer.symbol = FlatSymbolRefAttr::get(module.getContext(), name);
  }
}

} // namespace sluice
