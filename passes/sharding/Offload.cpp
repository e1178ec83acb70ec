//===- Offload.cpp - what is in host memory is worked on there -----------------------------===//
//
// Arguments say which tensors lie in host memory. Where an update's states lie there (or it has none), the update runs
// there too: all of its ops but collectives. So do sums of gradients behind their reduction, and what makes initial
// values in host memory. Between the memories stand copies: of what a section gives to the host right behind what makes
// it (a unit's gradients together), of all else before the op that reads it.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spaces.h"
#include "dialect/spmd/Spmd.h"
#include "dialect/spmd/Units.h"
#include "passes/recipe/RecipeAttr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sluice {
#define GEN_PASS_DEF_OFFLOAD
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Collectives and their values are the device's wherever they stand; waits, releases and ends of sections do nothing.
bool isFixed(Operation *op) {
  return isa<spmd::CollectiveOpInterface, spmd::WaitOp, spmd::ReleaseOp, spmd::YieldOp>(op);
}

class OffloadedEntry {
public:
  explicit OffloadedEntry(func::FuncOp function)
      : function(function), builder(function.getContext()), units(function->getParentOfType<ModuleOp>()),
        sections(llvm::to_vector(function.getOps<spmd::SectionOp>())) {}

  void run() {
    if (updatesOnHost())
      for (spmd::SectionOp section : sections)
        if (section.getName() == "update")
          for (Operation &op : section.getBody().front())
            runOnHost(&op);
    runMakersOnHost();
    runSumsOnHost();
    takeInputs();
    for (spmd::SectionOp section : sections) {
      copyResults(section);
      copyOperands(section);
      chainCopies(section);
    }
  }

private:
  bool updatesOnHost();
  void runMakersOnHost();
  void runSumsOnHost();
  void takeInputs();
  void copyResults(spmd::SectionOp section);
  void copyOperands(spmd::SectionOp section);
  void chainCopies(spmd::SectionOp section);
  std::optional<bool> wantsHost(OpResult result);

  void runOnHost(Operation *op) {
    if (!isFixed(op))
      spmd::setStream(op, StreamKind::host);
  }
  /// Copies where the builder stands; `like` says in which phase.
  ValueRange copy(ValueRange values, bool toHost, Operation *like, StringRef unit, When when);
  /// The wait for the unit's reduction that a gradient comes out of, through what scales and casts it; null for none.
  static spmd::WaitOp reductionOf(Value value);

  func::FuncOp function;
  OpBuilder builder;
  spmd::UnitBlocks units;
  SmallVector<spmd::SectionOp> sections;
};

} // namespace

bool OffloadedEntry::updatesOnHost() {
  bool any = false, all = true;
  for (BlockArgument argument : function.getArguments()) {
    any |= spmd::isInHost(argument);
    if (function.getArgAttr(argument.getArgNumber(), spmd::stateName))
      all &= spmd::isInHost(argument);
  }
  return any && all;
}

/// Initial values are made where they will lie.
void OffloadedEntry::runMakersOnHost() {
  if (model::entryOf(function) != EntryKind::init)
    return;
  Operation *end = function.front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    auto donates = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), spmd::donatesName);
    auto section = operand.get().getDefiningOp<spmd::SectionOp>();
    if (!donates || !section || !spmd::isInHost(function.getArgument(donates.getInt())))
      continue;
    SmallVector<Value> pending = {
        section.getBody().front().getTerminator()->getOperand(cast<OpResult>(operand.get()).getResultNumber())};
    while (!pending.empty())
      if (Operation *maker = pending.pop_back_val().getDefiningOp()) {
        runOnHost(maker);
        llvm::append_range(pending, maker->getOperands());
      }
  }
}

spmd::WaitOp OffloadedEntry::reductionOf(Value value) {
  while (Operation *maker = value.getDefiningOp()) {
    if (auto wait = dyn_cast<spmd::WaitOp>(maker)) {
      return wait.getStart().isReduction() && !spmd::unitOf(wait.getStart()).empty() ? wait : spmd::WaitOp();
    }
    if (maker->getNumOperands() != 1)
      return {};
    value = maker->getOperand(0);
  }
  return {};
}

/// What the ops of later sections and the function's end want of a section's result; nothing where they do not agree.
std::optional<bool> OffloadedEntry::wantsHost(OpResult result) {
  std::optional<bool> wanted;
  for (OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    bool host = spmd::streamOf(user) == StreamKind::host;
    if (isa<func::ReturnOp>(user)) {
      auto donates = function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), spmd::donatesName);
      if (!donates)
        continue;
      host = spmd::isInHost(function.getArgument(donates.getInt()));
    }
    if (wanted && *wanted != host)
      return std::nullopt;
    wanted = host;
  }
  return wanted;
}

/// Reduced gradients that several repetitions add up are added up in host memory.
void OffloadedEntry::runSumsOnHost() {
  for (spmd::SectionOp section : sections)
    for (auto sum : section.getBody().front().getOps<spmd::AccumulateOp>()) {
      if (!sum->hasOneUse() || !isa<spmd::YieldOp>(*sum->user_begin()) || !reductionOf(sum.getOperand()))
        continue;
      OpResult result = section->getResult(sum->use_begin()->getOperandNumber());
      if (wantsHost(result).value_or(false))
        runOnHost(sum);
    }
}

/// An input that the host alone reads is put where the host reads it.
void OffloadedEntry::takeInputs() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), spmd::inputName) && !argument.use_empty() &&
        llvm::all_of(argument.getUsers(), [](Operation *user) { return spmd::streamOf(user) == StreamKind::host; }))
      function.setArgAttr(argument.getArgNumber(), spmd::spaceName,
                          builder.getAttr<spmd::MemorySpaceAttr>(MemorySpace::host));
}

ValueRange OffloadedEntry::copy(ValueRange values, bool toHost, Operation *like, StringRef unit, When when) {
  SmallVector<Location> locations;
  for (Value value : values)
    locations.push_back(value.getLoc());
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::CopyStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), values,
                                         toHost ? MemorySpace::host : MemorySpace::device,
                                         unit.empty() ? StringAttr() : builder.getStringAttr(unit));
  auto wait = spmd::WaitOp::create(builder, loc, values.getTypes(), start.getToken(), /*chained=*/false);
  for (Operation *op : {start.getOperation(), wait.getOperation()}) {
    model::setPhase(op, model::phaseOf(like));
    spmd::setWhen(op, when);
  }
  return wait.getValues();
}

/// What later sections, or the memory that a result takes over, want in the other space.
void OffloadedEntry::copyResults(spmd::SectionOp section) {
  Operation *yield = section.getBody().front().getTerminator();
  struct Group {
    Operation *last = nullptr;
    StringRef unit;
    SmallVector<unsigned> results;
  };
  // By what made them, and where they go.
  llvm::MapVector<std::pair<Operation *, unsigned>, Group> groups;
  for (OpResult result : section->getResults()) {
    Value value = yield->getOperand(result.getResultNumber());
    Operation *maker = value.getDefiningOp();
    std::optional<bool> host = wantsHost(result);
    if (!host || !maker || spmd::isInHost(value) == *host)
      continue;
    spmd::WaitOp reduction = reductionOf(value);
    Group &group = groups[{reduction ? reduction.getOperation() : maker, unsigned(*host)}];
    if (reduction)
      group.unit = spmd::unitOf(reduction.getStart());
    else if (model::phaseOf(maker) == Phase::backward && maker->hasAttr(model::blockName))
      group.unit = units.innermost(model::blockOf(maker));
    if (!group.last || group.last->isBeforeInBlock(maker))
      group.last = maker;
    group.results.push_back(result.getResultNumber());
  }
  for (auto &[key, group] : groups) {
    builder.setInsertionPointAfter(group.last);
    SmallVector<Value> values;
    for (unsigned index : group.results)
      if (!llvm::is_contained(values, yield->getOperand(index)))
        values.push_back(yield->getOperand(index));
    ValueRange copies =
        copy(values, key.second != 0, group.last, group.unit, section.getRepeat() > 1 ? WhenKind::last : WhenKind::all);
    for (unsigned index : group.results)
      yield->setOperand(index, copies[llvm::find(values, yield->getOperand(index)) - values.begin()]);
  }
}

/// What ops of the section read in the other space.
void OffloadedEntry::copyOperands(spmd::SectionOp section) {
  Block &body = section.getBody().front();
  // Copies by value and by when they are made; of a unit's gradients all that are read alike.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> known;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (isa<spmd::WaitOp, spmd::ReleaseOp, spmd::YieldOp>(op) || (start && start.isCopy()))
      continue;
    const bool onHost = spmd::streamOf(&op) == StreamKind::host;
    Attribute when = op.getAttr(spmd::whenName);
    llvm::SetVector<Value> missing;
    for (Value operand : op.getOperands()) {
      if (spmd::isInHost(operand) == onHost || known.contains({operand, when}))
        continue;
      missing.insert(operand);
      // With one of a unit's gradients go the others that are added up as it is.
      if (spmd::WaitOp reduction = isa<spmd::AccumulateOp>(op) && onHost ? reductionOf(operand) : spmd::WaitOp())
        for (auto sum : body.getOps<spmd::AccumulateOp>())
          if (Operation *maker = sum.getOperand().getDefiningOp();
              spmd::streamOf(sum) == StreamKind::host && sum->getAttr(spmd::whenName) == when &&
              reductionOf(sum.getOperand()) == reduction && maker->isBeforeInBlock(&op))
            missing.insert(sum.getOperand());
    }
    if (!missing.empty()) {
      StringRef unit;
      if (spmd::WaitOp reduction = reductionOf(missing.front()))
        unit = spmd::unitOf(reduction.getStart());
      builder.setInsertionPoint(&op);
      ValueRange copies = copy(missing.getArrayRef(), onHost, &op, unit, spmd::whenOf(&op));
      for (auto [value, copied] : llvm::zip(missing, copies))
        known[{value, when}] = copied;
    }
    for (OpOperand &operand : op.getOpOperands())
      if (auto found = known.find({operand.get(), when});
          found != known.end() && spmd::isInHost(operand.get()) != onHost)
        operand.set(found->second);
  }
}

/// Reduced gradients that nothing on the device reads leave right behind their reduction: the stream of copies waits
/// for it, and compute for the copy alone. So no unit's stay while the next one's come.
void OffloadedEntry::chainCopies(spmd::SectionOp section) {
  for (auto start : llvm::make_early_inc_range(section.getBody().front().getOps<spmd::CollectiveOpInterface>())) {
    auto wait = start->getOperand(0).getDefiningOp<spmd::WaitOp>();
    if (start.getDestinationSpace() != MemorySpace::host || !wait || spmd::unitOf(start).empty() ||
        reductionOf(start->getOperand(0)) != wait || wait->getAttr(spmd::whenName) != start->getAttr(spmd::whenName) ||
        !llvm::all_of(start->getOperands(), [&](Value operand) { return operand.getDefiningOp() == wait; }) ||
        !llvm::all_of(wait->getUsers(), [&](Operation *user) { return user == start; }))
      continue;
    wait.setChained(true);
    start->moveAfter(wait);
  }
}

namespace {

struct Offload : sluice::impl::OffloadBase<Offload> {
  using OffloadBase::OffloadBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), offload);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->memory.offload.empty())
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(model::entryName))
        OffloadedEntry(function).run();
  }
};

} // namespace
