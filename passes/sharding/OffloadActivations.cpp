//===- OffloadActivations.cpp - activations in host memory between forward and backward --------===//
//
// A value that the backward reads is copied to the host after the block of the forward that reads it last, and back
// before the block of the backward that reads it first. Copies are placed by these two blocks, not by the units of
// parameters: a unit can have many blocks, and then the activations of all of them would be on the device.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Units.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
#include "passes/solver/OffloadRule.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_OFFLOADACTIVATIONS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

bool isBackward(Operation *op) { return model::phaseOf(op) == Phase::backward; }

std::int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// A value that the backward reads.
struct Kept {
  Value value;
  /// The last op of the forward that reads the value or a view of it, and the first one of the backward.
  Operation *lastForward = nullptr, *firstBackward = nullptr;
};

/// The values whose copies start together, and the op after which (to the host) or before which (to the device) they
/// do.
struct Group {
  StringRef block;
  Operation *place = nullptr;
  SmallVector<Value> values;
};

/// Offloads the activations of one section.
class SectionOffloader {
public:
  SectionOffloader(spmd::SectionOp section, const spmd::UnitBlocks &units, const Recipe::Memory &settings,
                   std::size_t distance)
      : body(section.getBody().front()), units(units), builder(section.getContext()), settings(settings),
        distance(distance) {}

  void run() {
    auto first = llvm::find_if(body, isBackwardOp);
    if (first == body.end())
      return;
    backward = &*first;
    findGroups();
    copyToHost();
    copyToDevice();
  }

private:
  static bool isBackwardOp(Operation &op) { return isBackward(&op); }

  std::optional<Kept> findUses(Value value) const;
  void findGroups();
  void copyToHost();
  void copyToDevice();
  /// Creates at the insertion point, with the tags of `like`.
  spmd::CopyStartOp createStart(ValueRange values, MemorySpace to, Operation *like);
  ValueRange createWait(spmd::CopyStartOp start);
  void readCopy(Value value, Value copy);

  Block &body;
  const spmd::UnitBlocks &units;
  OpBuilder builder;
  const Recipe::Memory &settings;
  std::size_t distance;
  /// The first op of the backward.
  Operation *backward = nullptr;
  /// In the order of their places. Groups whose values stay on the device have none.
  std::vector<Group> toHost, toDevice;
  llvm::DenseMap<Value, Value> inHost;
};

} // namespace

/// Nothing for a value that stays on the device.
std::optional<Kept> SectionOffloader::findUses(Value value) const {
  Operation *op = value.getDefiningOp();
  auto wait = dyn_cast<spmd::WaitOp>(op);
  const bool isGathered = wait && wait.getStart().isUnshard() && !spmd::unitOf(wait.getStart()).empty();
  if (isGathered || !isa<RankedTensorType>(value.getType()) || bytesOf(value) < leastOffloadedBytes ||
      spmd::isInHost(value))
    return std::nullopt;
  Kept kept{value, op};
  SmallVector<Value> pending = {value};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      // The memory of a result is live until the end.
      if (isa<spmd::YieldOp>(user))
        return std::nullopt;
      if (isBackward(user)) {
        if (!kept.firstBackward || user->isBeforeInBlock(kept.firstBackward))
          kept.firstBackward = user;
        continue;
      }
      if (kept.lastForward->isBeforeInBlock(user))
        kept.lastForward = user;
      if (isa<ViewOpInterface>(user))
        llvm::append_range(pending, user->getResults());
    }
  if (!kept.firstBackward || !kept.lastForward->isBeforeInBlock(backward) || model::blockOf(kept.firstBackward).empty())
    return std::nullopt;
  return kept;
}

void SectionOffloader::findGroups() {
  SmallVector<Kept> all;
  for (Operation &op : body)
    if (!isBackward(&op) && !isa<ViewOpInterface>(op) && spmd::whenOf(&op).isAll())
      for (Value value : op.getResults())
        if (std::optional<Kept> kept = findUses(value))
          all.push_back(*kept);
  // By block and its invocation.
  using Groups = llvm::MapVector<std::pair<StringRef, std::int64_t>, Group>;
  Groups byForward, byBackward;
  const auto groupOf = [](Groups &groups, Operation *op) -> Group & {
    const StringRef block = model::outermostBlock(model::blockOf(op));
    Group &group = groups[{block, model::invocationOf(op)}];
    group.block = block;
    return group;
  };
  for (const Kept &kept : all) {
    Group &last = groupOf(byForward, kept.lastForward), &first = groupOf(byBackward, kept.firstBackward);
    if (!last.place || last.place->isBeforeInBlock(kept.lastForward))
      last.place = kept.lastForward;
    if (!first.place || kept.firstBackward->isBeforeInBlock(first.place))
      first.place = kept.firstBackward;
    last.values.push_back(kept.value);
    first.values.push_back(kept.value);
  }
  const auto isBefore = [](const Group &a, const Group &b) { return a.place->isBeforeInBlock(b.place); };
  for (auto [from, to] : {std::pair(&byForward, &toHost), std::pair(&byBackward, &toDevice)}) {
    for (auto &[block, group] : *from)
      to->push_back(std::move(group));
    llvm::sort(*to, isBefore);
  }
  llvm::DenseSet<Value> staying;
  for (Group &group : toDevice)
    if (&group == &toDevice.front() || !settings.offloads(Offloaded::activations, group.block)) {
      staying.insert_range(group.values);
      group.values.clear();
    }
  for (Group &group : toHost)
    llvm::erase_if(group.values, [&](Value value) { return staying.contains(value); });
}

spmd::CopyStartOp SectionOffloader::createStart(ValueRange values, MemorySpace to, Operation *like) {
  const Location loc = builder.getFusedLoc(llvm::map_to_vector(values, [](Value value) { return value.getLoc(); }));
  auto start =
      spmd::CopyStartOp::create(builder, loc, values, to, builder.getStringAttr(units.innermost(model::blockOf(like))));
  copyTags(like, start);
  start->removeAttr(model::recomputeName);
  return start;
}

ValueRange SectionOffloader::createWait(spmd::CopyStartOp start) {
  auto wait = spmd::WaitOp::create(builder, start.getLoc(), start);
  copyTags(start, wait);
  return wait.getValues();
}

/// The copies of a block's values are awaited where those of the next block start.
void SectionOffloader::copyToHost() {
  const Group *before = nullptr;
  spmd::CopyStartOp inFlight;
  const auto await = [&] {
    if (inFlight)
      for (auto [value, copy] : llvm::zip(before->values, createWait(inFlight)))
        inHost[value] = copy;
    inFlight = {};
  };
  for (const Group &group : toHost) {
    builder.setInsertionPointAfter(group.place);
    await();
    if (!group.values.empty())
      inFlight = createStart(group.values, MemorySpace::host, group.place);
    before = &group;
  }
  builder.setInsertionPoint(backward);
  await();
}

void SectionOffloader::copyToDevice() {
  for (std::size_t i = 1; i < toDevice.size(); ++i) {
    const Group &group = toDevice[i];
    if (group.values.empty())
      continue;
    builder.setInsertionPoint(toDevice[i - std::min(i, distance)].place);
    spmd::CopyStartOp start =
        createStart(llvm::map_to_vector(group.values, [&](Value value) { return inHost.lookup(value); }),
                    MemorySpace::device, group.place);
    builder.setInsertionPoint(group.place);
    for (auto [value, copy] : llvm::zip(group.values, createWait(start)))
      readCopy(value, copy);
  }
}

/// Lets the backward read the copy, and views of the copy where it reads views of the value.
void SectionOffloader::readCopy(Value value, Value copy) {
  const auto isRead = [](OpOperand &use) {
    return isBackward(use.getOwner()) && !isa<spmd::CollectiveOpInterface>(use.getOwner());
  };
  SmallVector<Operation *> views;
  for (Operation *user : value.getUsers())
    if (!isBackward(user) && isa<ViewOpInterface>(user) && !llvm::is_contained(views, user))
      views.push_back(user);
  value.replaceUsesWithIf(copy, isRead);
  for (Operation *view : views) {
    IRMapping mapping;
    mapping.map(value, copy);
    Operation *again = builder.clone(*view, mapping);
    model::setPhase(again, Phase::backward);
    for (auto [from, to] : llvm::zip(view->getResults(), again->getResults()))
      readCopy(from, to);
    if (again->use_empty())
      again->erase();
  }
}

namespace {

struct OffloadActivations : sluice::impl::OffloadActivationsBase<OffloadActivations> {
  using OffloadActivationsBase::OffloadActivationsBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), offload, backwardPrefetch);
    if (failed(recipe))
      return signalPassFailure();
    if (!recipe->memory.offloads(Offloaded::activations))
      return;
    const auto *distance = std::get_if<std::int64_t>(&recipe->schedule.backwardPrefetch);
    const spmd::UnitBlocks units(getOperation());
    for (func::FuncOp entry : entriesOf(getOperation()))
      for (auto section : entry.getOps<spmd::SectionOp>())
        SectionOffloader(section, units, recipe->memory, distance ? static_cast<std::size_t>(*distance) : 1).run();
  }
};

} // namespace
