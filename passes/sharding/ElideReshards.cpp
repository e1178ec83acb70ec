//===- ElideReshards.cpp - the policy of each unit between its scopes -----------------------===//
//
// After spmd-group-reshards each unit is gathered and released in each of its scopes. The policy that spmd.unit states
// elides releases, and with each of them the gather of the next scope. A unit that keeps a shard slices it before the
// release, and the next gather starts from it. Views of a released value are recomputed in the backward.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/Keys.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Scopes.h"
#include "passes/sharding/Utils.h"

#include "mlir/IR/IRMapping.h"

namespace sluice {
#define GEN_PASS_DEF_ELIDERESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// A unit's parameters from their reshards to their release.
struct Interval {
  /// The reshard of sharded parameters, and that of replicated ones; null for none.
  spmd::ReshardOp gather, local;
  spmd::ReleaseOp release;
  std::size_t unit = 0;
  bool gathers = false, isHeld = false, isReleased = false;

  Operation *first() const { return gather ? gather : local; }
};

/// The policy that a unit states.
UnitBehaviour behaviourOf(spmd::UnitOp unit) {
  UnitBehaviour behaviour;
  behaviour.root = unit.getRoot();
  behaviour.gathers = behaviour.reduces = false;
  behaviour.reshardAfterForward = unit.getReshardAfterForward();
  behaviour.keepsShard = unit.getKeptAxes().has_value();
  behaviour.reshardBeforeBackward = unit.getReshardBeforeBackward();
  behaviour.skipsBackward = unit.getSkipBackward();
  behaviour.keepsAfterBackward = unit.getKeepAfterBackward();
  return behaviour;
}

/// Erases a reshard and the casts that only it reads.
void eraseWithCasts(spmd::ReshardOp reshard) {
  SmallVector<Value> operands(reshard.getOperands());
  reshard.erase();
  eraseUnusedCasts(operands);
}

/// Applies the policies in one section.
class SectionElider {
public:
  SectionElider(spmd::SectionOp section, const Placement &placement)
      : section(section), placement(placement), body(section.getBody().front()) {
    for (spmd::UnitOp unit : placement.units())
      behaviours.push_back(behaviourOf(unit));
    collect();
  }

  LogicalResult run(const Recipe &recipe) {
    if (failed(checkSkippedUnits(recipe)))
      return failure();
    for (const UnitEvent &event : placeUnitEvents(scopes, behaviours))
      apply(event);
    for (Interval &interval : intervals)
      eraseUnused(interval);
    return success();
  }

private:
  void collect();
  LogicalResult checkSkippedUnits(const Recipe &recipe);
  void apply(const UnitEvent &event);
  void gather(const UnitEvent &event);
  void gatherFromKept(Interval &interval);
  void enter(const UnitEvent &event);
  void keep(Interval &interval);
  void release(const UnitEvent &event);
  void recomputeViews(Interval &interval);
  void eraseUnused(Interval &interval);

  void setOnce(Operation *op, WhenKind when) {
    if (section.getRepeat() > 1)
      spmd::setWhen(op, when);
  }
  spmd::UnitOp unitOf(const Interval &interval) const { return placement.units()[interval.unit]; }

  spmd::SectionOp section;
  const Placement &placement;
  Block &body;
  std::vector<Interval> intervals;
  /// By interval, the positions of its reshard and release.
  std::vector<UnitScope> scopes;
  /// By unit.
  std::vector<UnitBehaviour> behaviours;
  /// By unit, the interval whose values the next scope may read.
  llvm::DenseMap<std::size_t, Interval> current;
};

} // namespace

void SectionElider::collect() {
  llvm::DenseMap<Operation *, std::int64_t> positions;
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = static_cast<std::int64_t>(position);
  for (auto release : body.getOps<spmd::ReleaseOp>()) {
    Interval interval;
    for (Value value : release.getValues())
      if (auto reshard = value.getDefiningOp<spmd::ReshardOp>())
        (changesSharding(reshard) ? interval.gather : interval.local) = reshard;
    if (!interval.first())
      continue;
    interval.release = release;
    interval.unit = placement.indexOf(spmd::unitOf(release));
    behaviours[interval.unit].gathers |= interval.gather != nullptr;
    scopes.push_back({interval.unit, isBackward(interval.first()), positions[interval.first()], positions[release],
                      model::invocationOf(release)});
    intervals.push_back(interval);
  }
}

/// Refuses ops of the backward that read, directly or by views, a unit that the backward does not gather.
LogicalResult SectionElider::checkSkippedUnits(const Recipe &recipe) {
  llvm::DenseMap<Value, std::size_t> skipped;
  for (const Interval &interval : intervals)
    if (interval.gather && behaviours[interval.unit].skipsBackward)
      for (Value value : spmd::ReshardOp(interval.gather).getResults())
        skipped[value] = interval.unit;
  for (Operation &op : body)
    for (Value operand : op.getOperands()) {
      auto found = skipped.find(sourceOfViews(operand));
      if (found == skipped.end() || !isBackward(&op) || isa<spmd::ReleaseOp, ViewOpInterface>(op))
        continue;
      std::string unit = spmd::UnitOp(placement.units()[found->second]).getName().str();
      Status status = recipe.refuse(keys::unshardInBackward, "unit '" + unit + "'",
                                    ", expected true for a unit whose parameters the backward reads but got false");
      InFlightDiagnostic error = emitError(op.getLoc()) << status.message();
      error.attachNote(op.getLoc()) << "read by '" << op.getName() << "' of the backward";
      return error;
    }
  return success();
}

void SectionElider::apply(const UnitEvent &event) {
  switch (event.kind) {
  case UnitEvent::Kind::gather:
    return gather(event);
  case UnitEvent::Kind::enter:
    return enter(event);
  case UnitEvent::Kind::keep:
    return keep(intervals[event.scope]);
  case UnitEvent::Kind::release:
    return release(event);
  case UnitEvent::Kind::reduce:
    return;
  }
}

void SectionElider::gather(const UnitEvent &event) {
  Interval &interval = intervals[event.scope];
  interval.gathers = true;
  // A second run changes nothing.
  if (event.held && !interval.gather.getOperands()[0].getDefiningOp<spmd::ReshardOp>())
    gatherFromKept(interval);
  if (event.once) {
    setOnce(interval.gather, WhenKind::first);
    for (Value operand : interval.gather.getOperands())
      if (auto cast = operand.getDefiningOp<model::CastOp>())
        setOnce(cast, WhenKind::first);
  }
}

/// Starts the gather from the shards that the unit has kept.
void SectionElider::gatherFromKept(Interval &interval) {
  SmallVector<Value> shards;
  spmd::ReshardOp last = current[interval.unit].gather;
  for (Value value : last.getResults())
    for (Operation *user : value.getUsers())
      if (auto kept = dyn_cast<spmd::ReshardOp>(user))
        shards.push_back(kept.getResults()[0]);
  // The last gather started from the kept shards as well.
  if (shards.empty())
    shards.assign(last.getOperands().begin(), last.getOperands().end());
  SmallVector<Value> operands(interval.gather.getOperands());
  interval.gather.getOperandsMutable().assign(shards);
  interval.gather.setSourcesAttr(
      ArrayAttr::get(section.getContext(), llvm::map_to_vector(shards, [](Value shard) -> Attribute {
                       return destinationOf(shard.getDefiningOp<spmd::ReshardOp>());
                     })));
  eraseUnusedCasts(operands);
}

/// The scope reads the values of an earlier one if these are not released.
void SectionElider::enter(const UnitEvent &event) {
  Interval &interval = intervals[event.scope];
  interval.isHeld = event.held;
  if (interval.isHeld) {
    for (spmd::ReshardOp Interval::*list : {&Interval::gather, &Interval::local})
      if (interval.*list) {
        (interval.*list).replaceAllUsesWith((current[event.unit].*list).getResults());
        eraseWithCasts(interval.*list);
        interval.*list = current[event.unit].*list;
      }
    return;
  }
  bool skips = event.backward && behaviours[event.unit].skipsBackward;
  bool inForward =
      llvm::any_of(scopes, [&](const UnitScope &scope) { return scope.unit == event.unit && !scope.backward; });
  if (event.backward && inForward && !skips)
    recomputeViews(interval);
  current[event.unit] = interval;
}

/// Keeps a shard of each gathered value from before their release.
void SectionElider::keep(Interval &interval) {
  spmd::UnitOp unit = unitOf(interval);
  OpBuilder builder(interval.release);
  auto locations = locationsOfValues(interval.gather, interval.gather->getNumResults());
  auto ids = interval.gather->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  for (auto [index, value] : llvm::enumerate(interval.gather.getResults())) {
    // A second run changes nothing.
    if (llvm::any_of(value.getUsers(), [](Operation *user) { return isa<spmd::ReshardOp>(user); }))
      return;
    spmd::ShardingAttr kept = placement.along(sourceOf(interval.gather, index), *unit.getKeptAxes());
    auto reshard = spmd::ReshardOp::create(builder, locations[index], value.getType(), value,
                                           builder.getArrayAttr({destinationOf(interval.gather, index)}),
                                           builder.getArrayAttr({kept}), unit.getNameAttr());
    copyTags(interval.release, reshard);
    setId(reshard, ids, index);
  }
}

void SectionElider::release(const UnitEvent &event) {
  Interval &interval = intervals[event.scope];
  interval.isReleased = true;
  if (event.once)
    setOnce(interval.release, WhenKind::last);
  // The release is where the backward begins.
  if (event.position > scopes[event.scope].end)
    for (Operation &op : body)
      if (isBackward(&op)) {
        interval.release->moveBefore(&op);
        break;
      }
}

/// Views of a gathered value are in its memory, and the backward gathers into other memory.
void SectionElider::recomputeViews(Interval &interval) {
  auto isIn = [&](Operation *op) {
    return isBackward(op) && interval.first()->isBeforeInBlock(op) && op->isBeforeInBlock(interval.release);
  };
  IRMapping mapping;
  SmallVector<Operation *> views;
  SmallVector<Value> memory;
  for (const auto &[scope, other] : llvm::zip(scopes, intervals)) {
    if (scope.unit != interval.unit || scope.backward)
      continue;
    for (spmd::ReshardOp Interval::*list : {&Interval::gather, &Interval::local})
      if (spmd::ReshardOp before = other.*list; before && interval.*list)
        for (auto [from, to] : llvm::zip(before.getResults(), spmd::ReshardOp(interval.*list).getResults())) {
          mapping.map(from, to);
          memory.push_back(from);
        }
  }
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!memory.empty())
    for (OpOperand &use : memory.pop_back_val().getUses()) {
      Operation *view = use.getOwner();
      if (use.getOperandNumber() != 0 || view->getBlock() != &body || isBackward(view) || !isa<ViewOpInterface>(view) ||
          !seen.insert(view).second)
        continue;
      // Mapped to itself unless the backward reads it.
      for (Value result : view->getResults()) {
        mapping.map(result, result);
        memory.push_back(result);
      }
      views.push_back(view);
    }
  llvm::sort(views, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SmallPtrSet<Operation *, 8> needed;
  for (Operation *view : llvm::reverse(views))
    if (llvm::any_of(view->getUsers(), [&](Operation *user) { return isIn(user) || needed.contains(user); }))
      needed.insert(view);
  OpBuilder builder(section.getContext());
  builder.setInsertionPointAfter(interval.local ? interval.local : interval.gather);
  for (Operation *view : views) {
    if (!needed.contains(view))
      continue;
    Operation *copy = builder.clone(*view, mapping);
    model::setPhase(copy, Phase::backward);
    model::copyAttribute(interval.release, model::invocationName, copy);
    for (auto [from, to] : llvm::zip(view->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return isIn(use.getOwner()); });
  }
}

/// Erases the releases and gathers that the policy elides.
void SectionElider::eraseUnused(Interval &interval) {
  if (behaviours[interval.unit].gathers && !interval.isReleased)
    interval.release.erase();
  // The backward does not gather a unit that it skips.
  if (interval.gather && !interval.gathers && !interval.isHeld)
    eraseWithCasts(interval.gather);
}

namespace {

struct ElideReshards : sluice::impl::ElideReshardsBase<ElideReshards> {
  void runOnOperation() override {
    Placement placement(getOperation());
    FailureOr<Recipe> recipe = recipeFor(getOperation());
    if (failed(recipe))
      return signalPassFailure();
    WalkResult result = getOperation().walk(
        [&](spmd::SectionOp section) -> WalkResult { return SectionElider(section, placement).run(*recipe); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
