//===- Scopes.cpp - where units are used in a section -------------------------------------===//

#include "passes/sharding/Scopes.h"

#include "dialect/spmd/Names.h"

using namespace mlir;
using namespace sluice;

bool sluice::isBackward(Operation *op) { return spmd::phaseOf(op) == "backward"; }

Operation *SectionScopes::at(std::int64_t position, Block &block) const {
  return position < static_cast<std::int64_t>(ops.size()) ? ops[position] : block.getTerminator();
}

namespace {

/// The growing scopes of one unit.
struct Span {
  std::int64_t begin = -1, end = -1;
  void cover(std::int64_t position) {
    if (begin < 0)
      begin = position;
    begin = std::min(begin, position);
    end = std::max(end, position + 1);
  }
  bool empty() const { return begin < 0; }
};

} // namespace

SectionScopes sluice::findScopes(spmd::SectionOp section, const Placement &placement) {
  SectionScopes found;
  for (Operation &op : section.getBody().front().without_terminator())
    found.ops.push_back(&op);

  llvm::StringMap<std::size_t> unitNamed;
  for (spmd::UnitOp unit : placement.units()) {
    unitNamed.insert({unit.getSymName(), found.units.size()});
    UnitBehaviour behaviour;
    behaviour.root = unit.getSymName() == spmd::rootUnit;
    behaviour.gathers = behaviour.reduces = false;
    behaviour.reshardAfterForward = unit.getReshardAfterForward();
    found.units.push_back(behaviour);
  }

  // [unit][backward]
  std::vector<std::array<Span, 2>> spans(found.units.size());
  // Values that are a parameter's memory: reads, and views of reads.
  llvm::DenseMap<Value, std::size_t> ofUnit;
  std::int64_t forwardEnd = 0, firstBackward = -1;
  for (auto [index, op] : llvm::enumerate(found.ops)) {
    auto position = static_cast<std::int64_t>(index);
    bool backward = isBackward(op);
    if (auto read = dyn_cast<model::ReadOp>(op)) {
      // Where a read stands says nothing: it is its readers that need the value.
      if (read->use_empty())
        continue;
      std::size_t unit = placement.unitOf(read.getParameter());
      ofUnit[read.getValue()] = unit;
      found.units[unit].gathers |= placement.dim(read.getParameter()).has_value();
      continue;
    }
    if (spmd::phaseOf(op) == "forward")
      forwardEnd = position + 1;
    if (backward && firstBackward < 0)
      firstBackward = position;
    if (auto block = unitNamed.find(spmd::outermostBlock(spmd::blockOf(op))); block != unitNamed.end())
      if (!found.units[block->second].root)
        spans[block->second][backward].cover(position);
    if (auto gradient = dyn_cast<model::GradientOp>(op)) {
      std::size_t unit = placement.unitOf(gradient.getParameter());
      spans[unit][true].cover(position);
      found.units[unit].reduces = true;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      auto reader = ofUnit.find(operand.get());
      if (reader == ofUnit.end())
        continue;
      spans[reader->second][backward].cover(position);
      if (operand.getOperandNumber() == 0 && isa<ViewOpInterface>(op))
        for (Value view : op->getResults())
          ofUnit[view] = reader->second;
    }
  }

  auto end = static_cast<std::int64_t>(found.ops.size());
  for (auto [unit, behaviour] : llvm::enumerate(found.units)) {
    auto &[forward, backward] = spans[unit];
    if (behaviour.root) {
      // Nothing is gathered for a root that nobody reads, but it still is what prefetches the first unit.
      forward.begin = 0;
      forward.end = firstBackward < 0 ? end : std::max(forward.end, forwardEnd);
      if (firstBackward >= 0) {
        backward.begin = firstBackward;
        backward.end = end;
      }
    }
    if (!forward.empty())
      found.scopes.push_back({unit, false, forward.begin, forward.end});
    if (!backward.empty())
      found.scopes.push_back({unit, true, backward.begin, backward.end});
  }
  return found;
}
