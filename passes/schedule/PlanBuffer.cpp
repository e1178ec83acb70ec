//===- PlanBuffer.cpp - buffers while the plan is being made ------------------------===//
#include "passes/schedule/PlanBuffer.h"

using namespace mlir;

namespace sluice {
namespace {

/// What the backward reads of the forward is an activation; what the update reads of the backward is a gradient.
std::string classOf(const PlanBuffer &buffer) {
  const bool inForward = buffer.writers.count("forward") || buffer.writers.count("loss");
  if (inForward && (buffer.readers.count("backward") || buffer.readers.count("recompute")))
    return "activation";
  if (buffer.writers.count("backward") && buffer.readers.count("update") && buffer.type.getRank() > 0)
    return "gradient";
  if (buffer.writers.count("recompute") && buffer.readers.count("backward"))
    return "activation";
  return "temporary";
}

llvm::StringRef shortName(llvm::StringRef bufferClass) {
  if (bufferClass == "activation")
    return "act";
  if (bufferClass == "temporary")
    return "tmp";
  if (bufferClass == "gradient")
    return "grad";
  if (bufferClass == "communication")
    return "comm";
  return bufferClass;
}

} // namespace

int PlanBuffers::add(RankedTensorType type, Location location, std::string entry, std::string bufferClass) {
  buffers.emplace_back(RankedTensorType::get(type.getShape(), type.getElementType()), location);
  buffers.back().entry = std::move(entry);
  buffers.back().bufferClass = std::move(bufferClass);
  return size() - 1;
}

int PlanBuffers::persistent(llvm::StringRef parameter, llvm::StringRef state, RankedTensorType type,
                            plan_ir::ValidAttr valid, llvm::StringRef bufferClass, Location location) {
  auto [it, isNew] = persistents.try_emplace({parameter.str(), state.str()}, 0);
  if (isNew) {
    it->second = add(type, location, "", bufferClass.str());
    PlanBuffer &buffer = buffers.back();
    buffer.parameter = parameter;
    buffer.state = state;
    buffer.valid = valid;
    buffer.hint = (parameter + "." + (state.empty() ? "shard" : state)).str();
  }
  return it->second;
}

void PlanBuffers::finish(ModuleOp module) {
  std::set<std::string> taken;
  for (Operation &op : *module.getBody())
    if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      taken.insert(name.str());
  std::map<std::string, int> counters;
  const auto numbered = [&](const std::string &stem) {
    std::string name;
    do
      name = stem + "." + std::to_string(counters[stem]++);
    while (!taken.insert(name).second);
    return name;
  };
  for (PlanBuffer &buffer : buffers) {
    if (buffer.bufferClass.empty())
      buffer.bufferClass = classOf(buffer);
    const std::string stem = buffer.block.empty() ? "root" : buffer.block;
    if (buffer.hint.empty())
      buffer.name = numbered(stem + "." + shortName(buffer.bufferClass).str());
    else if (buffer.bufferClass != "gathered" && taken.insert(buffer.hint).second)
      buffer.name = buffer.hint;
    else
      buffer.name = numbered(buffer.hint);
  }
}

} // namespace sluice
