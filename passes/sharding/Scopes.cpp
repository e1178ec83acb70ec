//===- Scopes.cpp - where units are used in a section -------------------------------------===//

#include "passes/sharding/Scopes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Units.h"

#include <map>

using namespace mlir;
using namespace sluice;

bool sluice::isBackward(Operation *op) { return model::phaseOf(op) == Phase::backward; }

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

/// Spans of one unit: by direction and pass.
using Spans = std::map<std::pair<bool, std::int64_t>, Span>;

/// Adds a scope. Passes of one unit that overlap, as where what runs twice and what runs once are gathered together,
/// are one.
void addScope(std::vector<UnitScope> &scopes, UnitScope scope) {
  for (auto other = scopes.begin(); other != scopes.end();) {
    bool overlaps = other->unit == scope.unit && other->backward == scope.backward && other->begin < scope.end &&
                    scope.begin < other->end;
    if (!overlaps) {
      ++other;
      continue;
    }
    scope.begin = std::min(scope.begin, other->begin);
    scope.end = std::max(scope.end, other->end);
    scope.pass = std::min(scope.pass, other->pass);
    other = scopes.erase(other);
  }
  scopes.push_back(scope);
}

/// What the recipe says of a unit; whether it gathers and reduces is seen in the section.
UnitBehaviour behaviourOf(spmd::UnitOp unit) {
  UnitBehaviour behaviour;
  behaviour.root = unit.getSymName() == spmd::rootUnit;
  behaviour.gathers = behaviour.reduces = false;
  behaviour.reshardAfterForward = unit.getReshardAfterForward();
  behaviour.keepsPiece = unit.getPiece().has_value();
  behaviour.reshardBeforeBackward = unit.getReshardBeforeBackward();
  behaviour.skipsBackward = unit.getSkipBackward();
  behaviour.keepsAfterBackward = unit.getKeepAfterBackward();
  return behaviour;
}

/// Follows a section's ops in order and keeps where each unit is used.
class ScopeFinder {
public:
  ScopeFinder(spmd::SectionOp section, const Placement &placement)
      : placement(placement), blocks(section->getParentOfType<ModuleOp>()) {
    for (Operation &op : section.getBody().front().without_terminator())
      found.ops.push_back(&op);
    for (spmd::UnitOp unit : placement.units())
      found.units.push_back(behaviourOf(unit));
    found.readInBackward.assign(found.units.size(), nullptr);
    spans.resize(found.units.size());
  }

  SectionScopes run() {
    for (auto [position, op] : llvm::enumerate(found.ops))
      if (auto read = dyn_cast<model::ReadOp>(op))
        takeRead(read);
      else
        takeOp(op, static_cast<std::int64_t>(position));
    for (auto [unit, behaviour] : llvm::enumerate(found.units))
      if (behaviour.root)
        addRootScopes(unit);
      else
        for (const auto &[key, span] : spans[unit])
          if (!span.empty())
            addScope(found.scopes, {unit, key.first, span.begin, span.end, key.second});
    return std::move(found);
  }

private:
  /// A value that is a parameter's memory: a read, or a view of one.
  struct Memory {
    std::size_t unit;
    bool sharded;
  };

  /// Where a read stands says nothing: it is its readers that need the value.
  void takeRead(model::ReadOp read) {
    if (read->use_empty())
      return;
    std::size_t unit = placement.unitOf(read.getParameter());
    bool sharded = placement.dim(read.getParameter()).has_value();
    memories[read.getValue()] = {unit, sharded};
    found.units[unit].gathers |= sharded;
  }

  void takeOp(Operation *op, std::int64_t position) {
    bool backward = isBackward(op);
    std::int64_t pass = model::passOf(op);
    passes = std::max(passes, pass + 1);
    if (model::phaseOf(op) == Phase::forward)
      forwardEnds[pass] = position + 1;
    if (!backward)
      forwards[pass].cover(position);
    if (backward && firstBackward < 0)
      firstBackward = position;
    for (unsigned unit : blocks.around(model::blockOf(op)))
      spans[unit][{backward, pass}].cover(position);
    if (auto gradient = dyn_cast<model::GradientOp>(op)) {
      std::size_t unit = placement.unitOf(gradient.getParameter());
      spans[unit][{true, pass}].cover(position);
      found.units[unit].reduces = true;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      auto known = memories.find(operand.get());
      if (known == memories.end())
        continue;
      Memory memory = known->second;
      spans[memory.unit][{backward, pass}].cover(position);
      bool isView = operand.getOperandNumber() == 0 && isa<ViewOpInterface>(op);
      if (backward && !isView && memory.sharded && !found.readInBackward[memory.unit])
        found.readInBackward[memory.unit] = op;
      if (isView)
        for (Value view : op->getResults())
          memories[view] = memory;
    }
  }

  /// Nothing is gathered for a root that nobody reads, but it still is what prefetches the first unit. Its gradients
  /// are complete at the end alone: one backward scope for all passes.
  void addRootScopes(std::size_t unit) {
    auto end = static_cast<std::int64_t>(found.ops.size());
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const Span &forward = spans[unit][{false, pass}];
      std::int64_t from = pass == 0 ? 0 : forwards[pass].begin;
      std::int64_t to = firstBackward < 0 ? end : std::max(forward.end, forwardEnds[pass]);
      if (pass + 1 < passes)
        to = std::min(to, std::max(forward.end, forwards[pass + 1].begin));
      if (from >= 0)
        addScope(found.scopes, {unit, false, from, to, pass});
    }
    if (firstBackward >= 0)
      found.scopes.push_back({unit, true, firstBackward, end});
  }

  const Placement &placement;
  spmd::UnitBlocks blocks;
  SectionScopes found;
  std::vector<Spans> spans;
  llvm::DenseMap<Value, Memory> memories;
  std::int64_t firstBackward = -1, passes = 1;
  /// By pass: what is not backward, and where the phase `forward` ends.
  std::map<std::int64_t, Span> forwards;
  std::map<std::int64_t, std::int64_t> forwardEnds;
};

} // namespace

SectionScopes sluice::findScopes(spmd::SectionOp section, const Placement &placement) {
  return ScopeFinder(section, placement).run();
}
