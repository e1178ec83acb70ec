//===- Scopes.cpp - the scopes of units in a section ---------------------------------------===//

#include "passes/sharding/Scopes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Units.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace sluice;

bool sluice::isBackward(Operation *op) { return model::phaseOf(op) == Phase::backward; }

Operation *SectionScopes::at(std::int64_t position, Block &block) const {
  return position < static_cast<std::int64_t>(ops.size()) ? ops[position] : block.getTerminator();
}

namespace {

/// A range of positions that grows.
struct Span {
  std::int64_t begin = -1, end = -1;
  void cover(std::int64_t position) {
    begin = begin < 0 ? position : std::min(begin, position);
    end = std::max(end, position + 1);
  }
  bool empty() const { return begin < 0; }
};

/// The spans of one unit, by direction and invocation.
using Spans = std::map<std::pair<bool, std::int64_t>, Span>;

/// Adds a scope. Overlapping scopes of one unit become one, as where a block that runs twice and one that runs once are
/// in one unit.
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
    scope.invocation = std::min(scope.invocation, other->invocation);
    other = scopes.erase(other);
  }
  scopes.push_back(scope);
}

/// Follows a section's ops in order and collects the uses of each unit.
class ScopeFinder {
public:
  ScopeFinder(spmd::SectionOp section, const Placement &placement)
      : blocks(section->getParentOfType<ModuleOp>()), placement(placement) {
    for (spmd::UnitOp unit : placement.units()) {
      found.units.emplace_back();
      found.units.back().root = unit.getRoot();
      found.units.back().gathers = found.units.back().reduces = false;
    }
    spans.resize(found.units.size());
    for (Operation &op : section.getBody().front().without_terminator())
      if (auto reshard = dyn_cast<spmd::ReshardOp>(op); reshard && isParameterRead(reshard))
        addRead(reshard);
      else if (!preparesRead(&op))
        found.ops.push_back(&op);
  }

  SectionScopes run() {
    for (auto [position, op] : llvm::enumerate(found.ops))
      visit(op, static_cast<std::int64_t>(position));
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
  /// The position of a read does not count, but the positions of its readers.
  void addRead(spmd::ReshardOp read) {
    std::size_t unit = placement.indexOf(*read.getUnit());
    for (Value value : read.getResults())
      unitOfRead[value] = unit;
    found.units[unit].gathers = true;
  }

  void visit(Operation *op, std::int64_t position) {
    bool backward = isBackward(op);
    std::int64_t invocation = model::invocationOf(op);
    invocations = std::max(invocations, invocation + 1);
    if (model::phaseOf(op) == Phase::forward)
      forwardEnds[invocation] = position + 1;
    if (!backward)
      forwards[invocation].cover(position);
    if (backward && firstBackward < 0)
      firstBackward = position;
    for (unsigned unit : blocks.around(model::blockOf(op)))
      spans[unit][{backward, invocation}].cover(position);
    if (auto gradient = dyn_cast<spmd::ReshardOp>(op); gradient && gradient.getUnit()) {
      std::size_t unit = placement.indexOf(*gradient.getUnit());
      spans[unit][{true, invocation}].cover(position);
      found.units[unit].reduces = true;
      // A second gradient of a parameter is that of another backward pass.
      found.units[unit].reducesPerScope |= !parametersWithGradient.insert(parameterOf(gradient)).second;
    }
    for (Value operand : op->getOperands())
      if (auto known = unitOfRead.find(sourceOfViews(operand)); known != unitOfRead.end())
        spans[known->second][{backward, invocation}].cover(position);
  }

  /// A root whose parameters have no readers has scopes as well, which prefetch the first unit. Its gradients are
  /// complete only at the end: one backward scope for all invocations.
  void addRootScopes(std::size_t unit) {
    auto end = static_cast<std::int64_t>(found.ops.size());
    for (std::int64_t invocation = 0; invocation < invocations; ++invocation) {
      const Span &forward = spans[unit][{false, invocation}];
      std::int64_t from = invocation == 0 ? 0 : forwards[invocation].begin;
      std::int64_t to = firstBackward < 0 ? end : std::max(forward.end, forwardEnds[invocation]);
      if (invocation + 1 < invocations)
        to = std::min(to, std::max(forward.end, forwards[invocation + 1].begin));
      if (from >= 0)
        addScope(found.scopes, {unit, false, from, to, invocation});
    }
    if (firstBackward >= 0)
      found.scopes.push_back({unit, true, firstBackward, end});
  }

  spmd::UnitBlocks blocks;
  const Placement &placement;
  SectionScopes found;
  std::vector<Spans> spans;
  /// The unit of each value of a read.
  llvm::DenseMap<Value, std::size_t> unitOfRead;
  llvm::StringSet<> parametersWithGradient;
  std::int64_t firstBackward = -1, invocations = 1;
  /// By invocation: the ops that are not backward, and the end of the phase `forward`.
  std::map<std::int64_t, Span> forwards;
  std::map<std::int64_t, std::int64_t> forwardEnds;
};

} // namespace

SectionScopes sluice::findScopes(spmd::SectionOp section, const Placement &placement) {
  return ScopeFinder(section, placement).run();
}
