//===- ModelUnits.cpp - the units of a module -------------------------------------------===//

#include "passes/recipe/ModelUnits.h"

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sluice;

static UnitRequest requestOf(const Recipe::Sharding &sharding) {
  UnitRequest request;
  if (auto *rule = std::get_if<std::string>(&sharding.units)) {
    StringRef text = *rule;
    if (text == "root") {
      request.kind = UnitRequest::Kind::root;
    } else if (text.consume_front("bytes:")) {
      std::int64_t bytes = 0;
      (void)parseByteCount(text, bytes);
      request.kind = UnitRequest::Kind::bytes;
      request.bytes = static_cast<std::uint64_t>(bytes);
    }
  } else {
    request.kind = UnitRequest::Kind::table;
    for (const auto &[name, members] : std::get<1>(sharding.units)) {
      auto *glob = std::get_if<std::string>(&members);
      request.table.push_back({name, glob ? Strings{*glob} : std::get<Strings>(members)});
    }
  }
  request.matches = [](const std::string &glob, const std::string &name) { return matchesGlob(glob, name); };
  return request;
}

ModelUnits::ModelUnits(ModuleOp module, const Recipe::Sharding &sharding) {
  findUses(module);
  std::vector<UnitParameter> described;
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (!parameter.isState()) {
      list.push_back(parameter);
      described.push_back(describe(parameter));
    }
  unitPlan = planUnits(described, blocks, firstOps, requestOf(sharding));
  for (auto [parameter, unit] : llvm::zip(list, unitPlan.unitOf))
    unitOfParameter[parameter.getSymName()] = unit;
  for (auto [unit, paths] : llvm::enumerate(unitPlan.blocks))
    for (const std::string &path : paths)
      unitOfBlock[path] = unit;
}

void ModelUnits::findUses(ModuleOp module) {
  std::size_t position = 0;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      ++position;
      addBlocks(model::blockOf(op), position);
      for (Value operand : op->getOperands()) {
        // A use is at the reader of the value; the read itself may be anywhere.
        auto read = operand.getDefiningOp<model::ReadOp>();
        if (!read || read.getState() || model::phaseOf(read) == Phase::update)
          continue;
        Uses &used = uses[read.getParameter()];
        used.blocks.push_back(model::blockOf(op).str());
        used.first = std::min(used.first, position);
      }
    });
}

/// A path and the paths around it, outermost first.
void ModelUnits::addBlocks(StringRef path, std::size_t position) {
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    std::string block = path.take_front(end).str();
    if (knownBlocks.insert(block).second) {
      blocks.push_back(block);
      firstOps.push_back(position);
    }
  }
}

UnitParameter ModelUnits::describe(model::ParameterOp parameter) const {
  Uses used = uses.lookup(parameter.getSymName());
  UnitParameter described{parameter.getSymName().str(), used.blocks};
  if (auto aliases = parameter.getAliases())
    for (auto alias : aliases->getAsRange<StringAttr>())
      described.aliases.push_back(alias.getValue().str());
  described.bytes = static_cast<std::uint64_t>(parameter.getType().getNumElements()) *
                    (parameter.getType().getElementTypeBitWidth() / 8);
  described.firstUse = used.first;
  return described;
}

StringRef ModelUnits::ofParameter(StringRef parameter) const {
  return unitPlan.units[unitOfParameter.lookup(parameter)];
}

StringRef ModelUnits::ofOp(Operation *op) const {
  for (StringRef path = model::blockOf(op); !path.empty();
       path = path.take_front(path.contains('/') ? path.rfind('/') : 0))
    if (auto found = unitOfBlock.find(path); found != unitOfBlock.end())
      return unitPlan.units[found->second];
  for (Value operand : op->getOperands())
    if (auto read = operand.getDefiningOp<model::ReadOp>(); read && !read.getState())
      if (std::size_t unit = unitOfParameter.lookup(read.getParameter()); unitPlan.blocks[unit].empty())
        return unitPlan.units[unit];
  return root();
}
