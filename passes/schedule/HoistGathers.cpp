//===- HoistGathers.cpp - gathers are issued ahead of their use ------------------------------===//
//
// The order is planned by gatherIssue (passes/solver/PrefetchOrder.h) over the entries of scopes that are read off the
// IR; this pass moves the starts.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"

#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PrefetchOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_HOISTGATHERS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Where the program enters a unit's scope: at the wait for its gather, or at its first op if it has none.
struct Entry {
  std::string unit;
  bool backward = false;
  spmd::WaitOp wait;
  Operation *first = nullptr;
  std::int64_t position = 0;
  bool isRoot() const { return unit == spmd::rootUnit; }
};

bool isBackward(Operation *op) { return spmd::phaseOf(op) == "backward"; }

spmd::AllGatherStartOp gatherOf(spmd::WaitOp wait) { return wait.getToken().getDefiningOp<spmd::AllGatherStartOp>(); }

/// Entries in program order. `units` are the names of all units.
std::vector<Entry> findEntries(Block &block, ArrayRef<std::string> units) {
  std::vector<Entry> entries;
  auto entry = [&](StringRef unit, bool backward) -> Entry & {
    for (Entry &known : entries)
      if (known.unit == unit && known.backward == backward)
        return known;
    entries.emplace_back();
    entries.back().unit = unit.str();
    entries.back().backward = backward;
    return entries.back();
  };
  for (auto [position, op] : llvm::enumerate(block.without_terminator())) {
    auto at = static_cast<std::int64_t>(position);
    // The root is entered with the first op of a direction.
    Entry &root = entry(spmd::rootUnit, isBackward(&op));
    if (!root.first) {
      root.first = &op;
      root.position = at;
    }
    auto wait = dyn_cast<spmd::WaitOp>(op);
    if (wait && gatherOf(wait)) {
      Entry &gathered = entry(spmd::unitOf(gatherOf(wait)), isBackward(wait));
      gathered.wait = wait;
      gathered.position = at;
    }
    StringRef block = spmd::outermostBlock(spmd::blockOf(&op));
    if (block.empty() || !llvm::is_contained(units, block))
      continue;
    Entry &used = entry(block, isBackward(&op));
    if (!used.wait && !used.first) {
      used.first = &op;
      used.position = at;
    }
  }
  llvm::stable_sort(entries, [](const Entry &a, const Entry &b) {
    return a.position != b.position ? a.position < b.position : a.isRoot() && !b.isRoot();
  });
  return entries;
}

/// Moves ops one after the other behind a place.
class Mover {
public:
  /// Behind `after`; at the start of the block for none.
  Mover(Block &block, Operation *after) : block(block), after(after) {}

  void move(Operation *op) {
    if (after)
      op->moveAfter(after);
    else if (op != &block.front())
      op->moveBefore(&block.front());
    after = op;
  }

private:
  Block &block;
  Operation *after;
};

/// The ops in the section that make a start's operands, if they need nothing else of the section.
FailureOr<SmallVector<Operation *>> makers(spmd::AllGatherStartOp start) {
  SmallVector<Operation *> ops;
  for (Value operand : start.getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || maker->getBlock() != start->getBlock())
      continue;
    for (Value input : maker->getOperands())
      if (input.getDefiningOp() && input.getParentBlock() == start->getBlock())
        return failure();
    if (!llvm::is_contained(ops, maker))
      ops.push_back(maker);
  }
  return ops;
}

void hoist(Block &block, ArrayRef<std::string> units, PrefetchDistance distance) {
  std::vector<Entry> entries = findEntries(block, units);
  std::vector<ScopeEntry> scopes;
  for (const Entry &entry : entries)
    scopes.push_back({entry.backward, entry.isRoot(), entry.wait != nullptr});
  std::vector<std::size_t> issue = gatherIssue(scopes, distance);

  for (std::size_t i = 0; i < entries.size(); ++i) {
    Operation *place = entries[i].wait ? entries[i].wait.getOperation() : entries[i].first->getPrevNode();
    Mover mover(block, place);
    for (std::size_t j = i + 1; j < entries.size(); ++j) {
      if (issue[j] != i || !entries[j].wait)
        continue;
      spmd::AllGatherStartOp start = gatherOf(entries[j].wait);
      FailureOr<SmallVector<Operation *>> moved = makers(start);
      if (failed(moved))
        continue;
      for (Operation *maker : *moved)
        mover.move(maker);
      mover.move(start);
    }
  }
}

struct HoistGathers : sluice::impl::HoistGathersBase<HoistGathers> {
  void runOnOperation() override {
    RecipeView recipe(getOperation());
    PrefetchDistance distance{recipe.integer("schedule.forward_prefetch"),
                              recipe.integer("schedule.backward_prefetch")};
    std::vector<std::string> units;
    for (auto unit : getOperation().getOps<spmd::UnitOp>())
      if (unit.getSymName() != spmd::rootUnit)
        units.push_back(unit.getSymName().str());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto section : function.getOps<spmd::SectionOp>())
        if (!section.getBody().front().getOps<spmd::AllGatherStartOp>().empty())
          hoist(section.getBody().front(), units, distance);
  }
};

} // namespace
