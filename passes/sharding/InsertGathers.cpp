//===- InsertGathers.cpp - units are gathered before their use and released after it ----------===//

#include "passes/sharding/Passes.h"

#include "dialect/spmd/Names.h"
#include "passes/sharding/Scopes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTGATHERS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// A parameter in the element type in which it is read.
struct Wanted {
  model::ReadOp read;
  bool sharded = false;
  /// The parameter's place in the module.
  unsigned order = 0;
  /// What readers get, in the forward and in the backward.
  Value values[2];
};

/// The gathers of one section.
class Gatherer {
public:
  Gatherer(spmd::SectionOp section, const Placement &placement, const llvm::StringMap<Value> &shards)
      : placement(placement), shards(shards), body(section.getBody().front()), found(findScopes(section, placement)),
        wanted(found.units.size()) {}

  void run() {
    collect();
    std::vector<UnitEvent> events = placeUnitEvents(found.scopes, found.units);
    for (const UnitEvent &event : events) {
      OpBuilder builder(found.at(event.position, body));
      switch (event.kind) {
      case UnitEvent::Kind::gather:
        gather(event.unit, event.backward, builder);
        break;
      case UnitEvent::Kind::enter:
        enter(event.unit, event.backward, builder);
        break;
      case UnitEvent::Kind::release:
        release(event.unit, event.backward, builder);
        break;
      case UnitEvent::Kind::reduce:
        // spmd-insert-reductions' part.
        break;
      }
    }
    replaceReads();
  }

private:
  void collect();
  void gather(std::size_t unit, bool backward, OpBuilder &builder);
  void enter(std::size_t unit, bool backward, OpBuilder &builder);
  void release(std::size_t unit, bool backward, OpBuilder &builder);
  void copyViews(std::size_t unit, OpBuilder &builder);
  void replaceReads();

  /// The rank's piece of a parameter in the element type of the read.
  Value localValue(Wanted &want, bool backward, OpBuilder &builder);
  void tag(Operation *op, bool backward) {
    op->setAttr(spmd::phaseName, StringAttr::get(op->getContext(), backward ? "backward" : "forward"));
  }

  const Placement &placement;
  const llvm::StringMap<Value> &shards;
  Block &body;
  SectionScopes found;
  /// By unit, in the order of the units' parameters.
  std::vector<SmallVector<Wanted>> wanted;
  /// The last gather of a unit.
  llvm::DenseMap<std::size_t, spmd::WaitOp> gathered;
};

} // namespace

void Gatherer::collect() {
  llvm::StringMap<unsigned> order;
  for (model::ParameterOp parameter : placement.parameters())
    order.insert({parameter.getSymName(), order.size()});
  for (Operation *op : found.ops) {
    auto read = dyn_cast<model::ReadOp>(op);
    if (!read || read->use_empty())
      continue;
    auto &list = wanted[placement.unitOf(read.getParameter())];
    if (llvm::none_of(list, [&](Wanted &other) {
          return other.read.getParameter() == read.getParameter() && other.read.getType() == read.getType();
        }))
      list.push_back({read, placement.dim(read.getParameter()).has_value(), order[read.getParameter()], {}});
  }
  for (auto &list : wanted)
    llvm::stable_sort(list, [](const Wanted &a, const Wanted &b) { return a.order < b.order; });
}

Value Gatherer::localValue(Wanted &want, bool backward, OpBuilder &builder) {
  Value shard = shards.lookup(want.read.getParameter());
  auto type = cast<RankedTensorType>(shard.getType());
  Type element = cast<RankedTensorType>(want.read.getType()).getElementType();
  if (type.getElementType() == element)
    return shard;
  auto cast = model::CastOp::create(builder, want.read.getLoc(), spmd::withElementType(type, element), shard);
  tag(cast, backward);
  if (Attribute ids = want.read->getAttr(spmd::idsName))
    cast->setAttr(spmd::idsName, ids);
  return cast.getResult();
}

/// Starts and waits for the gather of a unit's shards.
void Gatherer::gather(std::size_t unit, bool backward, OpBuilder &builder) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<std::int64_t> ids;
  SmallVector<Location> locations;
  for (Wanted &want : wanted[unit]) {
    if (!want.sharded)
      continue;
    operands.push_back(localValue(want, backward, builder));
    types.push_back(want.read.getType());
    locations.push_back(want.read.getLoc());
    if (auto id = want.read->getAttrOfType<DenseI64ArrayAttr>(spmd::idsName))
      ids.append(id.asArrayRef().begin(), id.asArrayRef().end());
  }
  StringAttr name = spmd::UnitOp(placement.units()[unit]).getSymNameAttr();
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::AllGatherStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), operands,
                                              placement.shardAxes(), name);
  auto wait = spmd::WaitOp::create(builder, loc, types, start.getToken());
  tag(start, backward);
  tag(wait, backward);
  if (ids.size() == types.size())
    wait->setAttr(spmd::idsName, builder.getDenseI64ArrayAttr(ids));
  gathered[unit] = wait;
  unsigned next = 0;
  for (Wanted &want : wanted[unit])
    if (want.sharded)
      want.values[backward] = wait.getValues()[next++];
}

/// The values that need no gather, and views again where the backward has gathered anew.
void Gatherer::enter(std::size_t unit, bool backward, OpBuilder &builder) {
  bool inForward = llvm::any_of(wanted[unit], [](Wanted &want) { return want.values[false] != nullptr; });
  bool kept = backward && inForward && !found.units[unit].reshardAfterForward;
  for (Wanted &want : wanted[unit]) {
    if (kept)
      want.values[true] = want.values[false];
    else if (!want.sharded)
      want.values[backward] = localValue(want, backward, builder);
  }
  if (backward && inForward && !kept)
    copyViews(unit, builder);
}

void Gatherer::release(std::size_t unit, bool backward, OpBuilder &builder) {
  spmd::WaitOp wait = gathered.lookup(unit);
  auto release = spmd::ReleaseOp::create(builder, wait.getLoc(), wait.getValues(),
                                         spmd::UnitOp(placement.units()[unit]).getSymNameAttr());
  tag(release, backward);
}

/// A view that the forward has made of a parameter is gone with its memory: the backward makes its own.
void Gatherer::copyViews(std::size_t unit, OpBuilder &builder) {
  IRMapping mapping;
  SmallVector<Operation *> views;
  for (Operation *op : found.ops) {
    if (auto read = dyn_cast<model::ReadOp>(op)) {
      for (Wanted &want : wanted[unit])
        if (want.read.getParameter() == read.getParameter() && want.read.getType() == read.getType())
          mapping.map(read.getValue(), want.values[true]);
      continue;
    }
    if (isBackward(op) || !isa<ViewOpInterface>(op) || !mapping.contains(op->getOperand(0)))
      continue;
    // Mapped to itself until it is known that the backward needs it.
    for (Value result : op->getResults())
      mapping.map(result, result);
    views.push_back(op);
  }
  llvm::SmallPtrSet<Operation *, 8> needed;
  for (Operation *view : llvm::reverse(views))
    if (llvm::any_of(view->getUsers(), [&](Operation *user) { return isBackward(user) || needed.contains(user); }))
      needed.insert(view);
  for (Operation *view : views) {
    if (!needed.contains(view))
      continue;
    Operation *copy = builder.clone(*view, mapping);
    tag(copy, true);
    for (auto [from, to] : llvm::zip(view->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return isBackward(use.getOwner()); });
  }
}

void Gatherer::replaceReads() {
  for (Operation *op : found.ops) {
    auto read = dyn_cast<model::ReadOp>(op);
    if (!read)
      continue;
    for (Wanted &want : wanted[placement.unitOf(read.getParameter())]) {
      if (read->use_empty() || want.read.getParameter() != read.getParameter() || want.read.getType() != read.getType())
        continue;
      for (OpOperand &use : llvm::make_early_inc_range(read.getValue().getUses()))
        use.set(want.values[isBackward(use.getOwner())]);
    }
  }
  for (Operation *op : found.ops)
    if (isa<model::ReadOp>(op))
      op->erase();
}

namespace {

struct InsertGathers : sluice::impl::InsertGathersBase<InsertGathers> {
  void runOnOperation() override {
    Placement placement(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      llvm::StringMap<Value> shards;
      for (BlockArgument argument : function.getArguments()) {
        auto parameter = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), spmd::parameterName);
        if (parameter && !function.getArgAttr(argument.getArgNumber(), spmd::stateName))
          shards[parameter.getValue()] = argument;
      }
      for (auto section : function.getOps<spmd::SectionOp>())
        if (!section.getBody().front().getOps<model::ReadOp>().empty())
          Gatherer(section, placement, shards).run();
    }
  }
};

} // namespace
