//===- HoistGathers.cpp - spmd-hoist-gathers -------------------------------------------------===//
//
// The order is planned by gatherIssue (passes/solver/PrefetchOrder.h) over the entries of scopes that are read off the
// IR; this pass moves the starts.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "dialect/spmd/Units.h"
#include "passes/recipe/Keys.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PrefetchOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace sluice {
#define GEN_PASS_DEF_HOISTGATHERS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The entry of a unit's scope: the wait for its gather, or its first op without one.
struct Entry {
  std::string unit;
  bool backward = false;
  std::int64_t invocation = 0;
  spmd::WaitOp wait;
  /// Copies to the device that the unit's ops read with no gather in between, except that of `wait`.
  SmallVector<Operation *> copies;
  Operation *first = nullptr;
  std::int64_t position = 0;
  bool isRoot = false;
};

bool isBackward(Operation *op) { return model::phaseOf(op) == Phase::backward; }

/// The gather that the op waits for; null if it waits for a different collective.
Operation *gatherOf(spmd::WaitOp wait) {
  return wait.getStart().isUnshard() ? wait.getStart().getOperation() : nullptr;
}

/// The copy of a unit's parameters to the device that compute waits for; null if the op waits for a different
/// collective. Copies of activations, which are copied to the host in the same section, have their position.
Operation *copyOf(spmd::WaitOp wait) {
  spmd::CollectiveOpInterface start = wait.getStart();
  const auto isOfWait = [](Value value) { return value.getDefiningOp<spmd::WaitOp>() != nullptr; };
  const bool isCopy = start.isCopy() && start.getDestinationSpace() == MemorySpace::device &&
                      llvm::none_of(start->getOperands(), isOfWait);
  return isCopy && !spmd::unitOf(start).empty() && !wait.getChained() ? start.getOperation() : nullptr;
}

/// Entries in program order.
std::vector<Entry> findEntries(Block &block, const spmd::UnitBlocks &units) {
  std::vector<Entry> entries;
  // By unit, direction and invocation.
  std::map<std::tuple<std::string, bool, std::int64_t>, std::size_t> places;
  auto entry = [&](StringRef unit, Operation *op) -> Entry & {
    auto [known, isNew] = places.try_emplace({unit.str(), isBackward(op), model::invocationOf(op)}, entries.size());
    if (!isNew)
      return entries[known->second];
    entries.emplace_back();
    entries.back().unit = unit.str();
    entries.back().isRoot = units.isRoot(unit);
    entries.back().backward = isBackward(op);
    entries.back().invocation = model::invocationOf(op);
    return entries.back();
  };
  // Directions that the root has been entered in.
  bool entered[2] = {false, false};
  for (auto [position, op] : llvm::enumerate(block.without_terminator())) {
    auto at = static_cast<std::int64_t>(position);
    SmallVector<unsigned> around = units.around(model::blockOf(&op));
    // The root is entered with the first op of a direction, and with an op of the root in a later invocation.
    if (!entered[isBackward(&op)] || (op.hasAttr(model::blockName) && around.empty())) {
      entered[isBackward(&op)] = true;
      Entry &root = entry(units.getRoot(), &op);
      if (!root.first) {
        root.first = &op;
        root.position = at;
      }
    }
    auto wait = dyn_cast<spmd::WaitOp>(op);
    // A gather of no unit is not moved.
    if (wait && gatherOf(wait) && !spmd::unitOf(gatherOf(wait)).empty()) {
      Entry &gathered = entry(spmd::unitOf(gatherOf(wait)), wait);
      gathered.wait = wait;
      gathered.position = at;
    }
    if (wait && copyOf(wait)) {
      Entry &copied = entry(spmd::unitOf(copyOf(wait)), wait);
      if (copied.wait) {
        copied.copies.push_back(copyOf(wait));
      } else {
        copied.wait = wait;
        copied.position = at;
      }
    }
    for (unsigned unit : around) {
      Entry &used = entry(units.getNames()[unit], &op);
      if (!used.wait && !used.first) {
        used.first = &op;
        used.position = at;
      }
    }
  }
  llvm::stable_sort(entries, [](const Entry &a, const Entry &b) {
    return a.position != b.position ? a.position < b.position : a.isRoot && !b.isRoot;
  });
  return entries;
}

/// Moves ops one after the other to a position.
class Mover {
public:
  /// After `after`; at the start of the block for null.
  Mover(Block &block, Operation *after) : block(block), after(after) {}

  void move(Operation *op) {
    if (after)
      op->moveAfter(after);
    else if (op != &block.front())
      op->moveBefore(&block.front());
    after = op;
  }
  Operation *place() const { return after; }

private:
  Block &block;
  Operation *after;
};

/// Adds an op of the section and before it the producers of its operands, copies and their waits included, if these
/// depend on nothing else of the section; false otherwise.
bool addProducers(Operation *op, Block *block, SmallVector<Operation *> &ops) {
  if (llvm::is_contained(ops, op))
    return true;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != block)
      continue;
    auto wait = dyn_cast<spmd::WaitOp>(producer);
    auto start = wait ? wait.getStart() : dyn_cast<spmd::CollectiveOpInterface>(producer);
    bool isCopy = start && start.isCopy();
    if (!isCopy || !addProducers(producer, block, ops))
      return false;
  }
  ops.push_back(op);
  return true;
}

/// The ops in the section that compute a start's operands and depend on nothing else of the section, to be moved with
/// it. Failure if an operand has another producer after the position.
FailureOr<SmallVector<Operation *>> producers(Operation *start, Operation *place) {
  SmallVector<Operation *> ops;
  for (Value operand : start->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != start->getBlock())
      continue;
    SmallVector<Operation *> along = ops;
    if (addProducers(producer, start->getBlock(), along))
      ops = std::move(along);
    else if (!place || place->isBeforeInBlock(producer))
      return failure();
  }
  return ops;
}

/// True if a release of the same unit is between a position and a start: its memory is occupied until there.
bool isHeldAt(Operation *start, Operation *place) {
  for (Operation *op = start->getPrevNode(); op && op != place; op = op->getPrevNode())
    if (auto release = dyn_cast<spmd::ReleaseOp>(op); release && spmd::unitOf(release) == spmd::unitOf(start))
      return true;
  return false;
}

/// Moves a start, with the producers of its operands, unless it must stay.
void move(Operation *start, Mover &mover) {
  FailureOr<SmallVector<Operation *>> moved = producers(start, mover.place());
  if (failed(moved) || isHeldAt(start, mover.place()))
    return;
  for (Operation *producer : *moved)
    mover.move(producer);
  mover.move(start);
}

/// Gathers the next unit of the backward where the one before is released.
void hoistToPreviousRelease(Block &block, ArrayRef<Entry> entries) {
  const Entry *before = nullptr;
  for (const Entry &entry : entries) {
    if (!entry.backward || entry.isRoot)
      continue;
    if (before && entry.wait && gatherOf(entry.wait)) {
      Operation *start = gatherOf(entry.wait);
      for (Operation *op = start->getPrevNode(); op; op = op->getPrevNode()) {
        auto release = dyn_cast<spmd::ReleaseOp>(op);
        if (!release || spmd::unitOf(release) != before->unit || !isBackward(release))
          continue;
        Mover mover(block, release);
        move(start, mover);
        break;
      }
    }
    before = &entry;
  }
}

/// Issues the next gathers of the blocks in an all-reduce's `unshard` together with the all-reduce.
void hoistForExplicitUnshard(Block &block, const spmd::UnitBlocks &units) {
  for (auto reduction : block.getOps<spmd::CollectiveOpInterface>()) {
    auto blocks = reduction->getAttrOfType<ArrayAttr>(spmd::unshardName);
    if (!blocks)
      continue;
    Mover mover(block, reduction);
    for (auto name : blocks.getAsRange<StringAttr>())
      for (unsigned unit : units.around(name.getValue()))
        for (Operation *op = reduction->getNextNode(); op; op = op->getNextNode())
          if (auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
              start && start.isUnshard() && spmd::unitOf(start) == units.getNames()[unit]) {
            move(start, mover);
            break;
          }
    reduction->removeAttr(spmd::unshardName);
  }
}

/// The order of PyTorch FSDP, which does not depend on the backward passes: the use of a unit prefetches the `depth`
/// units before it in the forward, and that of the root the last unit.
PrefetchTable reverseForwardTable(ArrayRef<Entry> entries, StringRef root, std::int64_t depth) {
  std::vector<std::string> order;
  for (const Entry &entry : entries)
    if (!entry.backward && !entry.isRoot && !llvm::is_contained(order, entry.unit))
      order.push_back(entry.unit);
  order.push_back(root.str());
  PrefetchTable table;
  for (auto [index, unit] : llvm::enumerate(order)) {
    const std::int64_t most = unit == root ? std::min<std::int64_t>(depth, 1) : depth;
    const std::int64_t count = std::min(most, static_cast<std::int64_t>(index));
    const auto before = order.rend() - static_cast<std::ptrdiff_t>(index);
    table.push_back({unit, {before, before + count}});
  }
  return table;
}

void hoist(Block &block, const spmd::UnitBlocks &units, PrefetchDistance distance, bool inForwardOrder,
           bool atReleases) {
  std::vector<Entry> entries = findEntries(block, units);
  if (inForwardOrder && !distance.backwardTable)
    distance.backwardTable = reverseForwardTable(entries, units.getRoot(), distance.backward);
  std::vector<ScopeEntry> scopes;
  for (const Entry &entry : entries)
    scopes.push_back({entry.backward, entry.isRoot, entry.wait != nullptr, entry.unit});
  std::vector<std::size_t> issue = gatherIssue(scopes, distance);

  std::vector<SmallVector<std::size_t>> issuedAt(entries.size());
  for (std::size_t j = 0; j < entries.size(); ++j)
    if (issue[j] < j && entries[j].wait)
      issuedAt[issue[j]].push_back(j);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Operation *place = entries[i].wait ? entries[i].wait.getOperation() : entries[i].first->getPrevNode();
    Mover mover(block, place);
    for (std::size_t j : issuedAt[i]) {
      move(entries[j].wait.getStart(), mover);
      for (Operation *copy : entries[j].copies)
        move(copy, mover);
    }
  }
  if (atReleases)
    hoistToPreviousRelease(block, entries);
  hoistForExplicitUnshard(block, units);
}

/// For each unit the units that its use prefetches, if the setting is a table.
template <typename Setting> std::optional<PrefetchTable> tableOf(const Setting &setting, ArrayRef<std::string> units) {
  auto *lists = std::get_if<NamedValues<Strings>>(&setting);
  if (!lists)
    return std::nullopt;
  PrefetchTable table;
  for (const std::string &unit : units) {
    const Strings *targets = findByName(*lists, unit);
    table.push_back({unit, targets ? *targets : Strings()});
  }
  return table;
}

/// The number of units, if the setting is one.
template <typename Setting> std::int64_t depthOf(const Setting &setting) {
  auto *depth = std::get_if<std::int64_t>(&setting);
  return depth ? *depth : 0;
}

struct HoistGathers : sluice::impl::HoistGathersBase<HoistGathers> {
  using HoistGathersBase::HoistGathersBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), forwardPrefetch, backwardPrefetch, reducePerPass);
    if (failed(recipe))
      return signalPassFailure();
    const Recipe::Schedule &schedule = recipe->schedule;
    if (schedule.choosesPrefetch()) {
      emitError(UnknownLoc::get(&getContext())) << recipe->refuseOpenChoice(keys::forwardPrefetch).message();
      return signalPassFailure();
    }
    const spmd::UnitBlocks units(getOperation());
    const ArrayRef<std::string> names = units.getNames();
    PrefetchDistance distance{depthOf(schedule.forwardPrefetch), depthOf(schedule.backwardPrefetch),
                              tableOf(schedule.forwardPrefetch, names), tableOf(schedule.backwardPrefetch, names)};
    for (auto [key, table] : {std::pair(keys::forwardPrefetch, &distance.forwardTable),
                              std::pair(keys::backwardPrefetch, &distance.backwardTable)})
      if (*table)
        for (const auto &[unit, targets] : **table)
          for (const std::string &target : targets)
            if (!llvm::is_contained(names, target)) {
              emitError(UnknownLoc::get(&getContext()))
                  << recipe->origin(key) << ": unit that '" << unit << "' prefetches by '" << key
                  << "', expected one of the plan's but got '" << target << "'";
              return signalPassFailure();
            }
    // Other modes are numbers in a resolved recipe.
    bool atReleases = std::holds_alternative<BackwardPrefetch>(schedule.backwardPrefetch);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto section : function.getOps<spmd::SectionOp>())
        if (llvm::any_of(section.getBody().getOps<spmd::CollectiveOpInterface>(),
                         [](auto start) { return start.isUnshard() || start.isCopy(); }))
          hoist(section.getBody().front(), units, distance, recipe->gradient.reducePerPass, atReleases);
  }
};

} // namespace
