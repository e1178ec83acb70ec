//===- InsertGathers.cpp - units are gathered before their use and released after it ----------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spaces.h"
#include "passes/recipe/RecipeAttr.h"
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
  /// What the gather in force has given, as it is read, and the piece that is kept of it.
  Value whole, gathered, piece;
};

bool isSame(model::ReadOp a, model::ReadOp b) {
  return a.getParameter() == b.getParameter() && a.getType() == b.getType();
}

/// The gathers of one section.
class Gatherer {
public:
  Gatherer(spmd::SectionOp section, const Placement &placement, const llvm::StringMap<Value> &shards)
      : section(section), placement(placement), shards(shards), body(section.getBody().front()),
        found(findScopes(section, placement)), scopesOf(found.units.size()), wanted(found.units.size()),
        valuesIn(found.scopes.size()), readsOf(found.units.size()) {
    for (auto [index, scope] : llvm::enumerate(found.scopes))
      scopesOf[scope.unit].push_back(index);
  }

  LogicalResult run(const Recipe &recipe) {
    for (auto [unit, behaviour] : llvm::enumerate(found.units))
      if (Operation *reader = found.readInBackward[unit]; reader && behaviour.skipsBackward) {
        InFlightDiagnostic error = emitError(reader->getLoc());
        error << recipe.origin("sharding.unshard_in_backward") << ": value of 'sharding.unshard_in_backward' for unit '"
              << nameOf(unit) << "', expected true for a unit whose parameters the backward reads but got false";
        error.attachNote(reader->getLoc()) << "read by '" << reader->getName() << "' of the backward";
        return failure();
      }
    collect();
    for (const UnitEvent &event : placeUnitEvents(found.scopes, found.units)) {
      OpBuilder builder(found.at(event.position, body));
      switch (event.kind) {
      case UnitEvent::Kind::gather:
        gather(event, builder);
        break;
      case UnitEvent::Kind::enter:
        enter(event, builder);
        break;
      case UnitEvent::Kind::keep:
        keep(event, builder);
        break;
      case UnitEvent::Kind::release:
        release(event, builder);
        break;
      case UnitEvent::Kind::reduce:
        // spmd-insert-reductions' part.
        break;
      }
    }
    replaceReads();
    return success();
  }

private:
  void collect();
  void gather(const UnitEvent &event, OpBuilder &builder);
  void enter(const UnitEvent &event, OpBuilder &builder);
  void keep(const UnitEvent &event, OpBuilder &builder);
  void release(const UnitEvent &event, OpBuilder &builder);
  void copyViews(const UnitEvent &event, OpBuilder &builder);
  void fetch(const UnitEvent &event, ArrayRef<model::ReadOp> reads, bool forGather, OpBuilder &builder);
  void replaceReads();

  StringRef nameOf(std::size_t unit) const { return spmd::UnitOp(placement.units()[unit]).getSymName(); }
  /// The rank's piece of a parameter in the element type of the read.
  Value localValue(const Wanted &want, const UnitEvent &event, OpBuilder &builder);
  Value shaped(const Wanted &want, const UnitEvent &event, OpBuilder &builder);
  void tag(Operation *op, const UnitEvent &event, When when = {}) {
    model::setPhase(op, event.backward ? Phase::backward : Phase::forward);
    if (std::int64_t pass = found.scopes[event.scope].pass)
      op->setAttr(model::passName, Builder(op->getContext()).getI64IntegerAttr(pass));
    if (!when.isAll() && section.getRepeat() > 1)
      spmd::setWhen(op, when);
  }
  /// True where the op stands in the scope.
  bool isIn(Operation *op, const UnitScope &scope) const {
    auto position = positions.find(op);
    return position != positions.end() && isBackward(op) == scope.backward && scope.begin <= position->second &&
           position->second < scope.end;
  }

  spmd::SectionOp section;
  const Placement &placement;
  const llvm::StringMap<Value> &shards;
  Block &body;
  SectionScopes found;
  /// By unit, its scopes.
  std::vector<SmallVector<std::size_t>> scopesOf;
  llvm::DenseMap<Operation *, std::int64_t> positions;
  /// By unit, in the order of the units' parameters.
  std::vector<SmallVector<Wanted>> wanted;
  /// By scope, what its readers get.
  std::vector<SmallVector<Value>> valuesIn;
  /// By unit, all reads of its parameters.
  std::vector<SmallVector<model::ReadOp>> readsOf;
  /// By shard in host memory, its copy on the device for the event at hand.
  llvm::DenseMap<Value, Value> fetched;
};

} // namespace

void Gatherer::collect() {
  llvm::StringMap<unsigned> order;
  for (model::ParameterOp parameter : placement.parameters())
    order.insert({parameter.getSymName(), order.size()});
  for (auto [position, op] : llvm::enumerate(found.ops)) {
    positions[op] = static_cast<std::int64_t>(position);
    auto read = dyn_cast<model::ReadOp>(op);
    if (!read || read->use_empty())
      continue;
    readsOf[placement.unitOf(read.getParameter())].push_back(read);
    auto &list = wanted[placement.unitOf(read.getParameter())];
    if (llvm::none_of(list, [&](Wanted &other) { return isSame(other.read, read); }))
      list.push_back({read, placement.dim(read.getParameter()).has_value(), order[read.getParameter()], {}, {}, {}});
  }
  for (auto &list : wanted)
    llvm::stable_sort(list, [](const Wanted &a, const Wanted &b) { return a.order < b.order; });
}

Value Gatherer::localValue(const Wanted &want, const UnitEvent &event, OpBuilder &builder) {
  model::ReadOp read = want.read;
  Value shard = shards.lookup(read.getParameter());
  bool isFetched = fetched.contains(shard);
  if (isFetched)
    shard = fetched[shard];
  auto type = cast<RankedTensorType>(shard.getType());
  Type element = cast<RankedTensorType>(read.getType()).getElementType();
  if (type.getElementType() == element)
    return shard;
  auto cast = model::CastOp::create(builder, read.getLoc(), spmd::withElementType(type, element), shard);
  tag(cast, event, event.once ? WhenKind::first : WhenKind::all);
  if (Attribute ids = read->getAttr(model::idsName))
    cast->setAttr(model::idsName, ids);
  // Compute does not wait for a copy that only a gather wants.
  if (isFetched && want.sharded)
    spmd::setStream(cast, StreamKind::gather);
  return cast.getResult();
}

/// Copies what lies in host memory to the device, all of a unit's together.
void Gatherer::fetch(const UnitEvent &event, ArrayRef<model::ReadOp> reads, bool forGather, OpBuilder &builder) {
  fetched.clear();
  SmallVector<Value> operands;
  SmallVector<Location> locations;
  for (model::ReadOp read : reads)
    if (Value shard = shards.lookup(read.getParameter());
        spmd::isInHost(shard) && !llvm::is_contained(operands, shard)) {
      operands.push_back(shard);
      locations.push_back(read.getLoc());
    }
  if (operands.empty())
    return;
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::CopyStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), operands,
                                         MemorySpace::device,
                                         spmd::UnitOp(placement.units()[event.unit]).getSymNameAttr());
  auto wait = spmd::WaitOp::create(builder, loc, ValueRange(operands).getTypes(), start.getToken(), forGather);
  tag(start, event, event.once ? WhenKind::first : WhenKind::all);
  tag(wait, event, event.once ? WhenKind::first : WhenKind::all);
  for (auto [shard, copy] : llvm::zip(operands, wait.getValues()))
    fetched[shard] = copy;
}

/// What was gathered by elements, under the parameter's shape: a view.
Value Gatherer::shaped(const Wanted &want, const UnitEvent &event, OpBuilder &builder) {
  model::ReadOp read = want.read;
  auto reshape = model::ReshapeOp::create(builder, read.getLoc(), read.getType(), want.whole);
  tag(reshape, event);
  if (Attribute ids = read->getAttr(model::idsName))
    reshape->setAttr(model::idsName, ids);
  return reshape.getResult();
}

/// Starts and waits for the gather of a unit's shards, or of what is kept of it.
void Gatherer::gather(const UnitEvent &event, OpBuilder &builder) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<std::int64_t> ids;
  SmallVector<Location> locations;
  bool fromPiece = event.held;
  SmallVector<model::ReadOp> reads;
  for (Wanted &want : wanted[event.unit])
    if (want.sharded && !fromPiece)
      reads.push_back(want.read);
  fetch(event, reads, /*forGather=*/true, builder);
  for (Wanted &want : wanted[event.unit]) {
    if (!want.sharded)
      continue;
    operands.push_back(fromPiece ? want.piece : localValue(want, event, builder));
    types.push_back(placement.cutType(want.read.getParameter(), cast<RankedTensorType>(want.read.getType())));
    locations.push_back(want.read.getLoc());
    if (auto id = want.read->getAttrOfType<DenseI64ArrayAttr>(model::idsName))
      ids.append(id.asArrayRef().begin(), id.asArrayRef().end());
  }
  spmd::UnitOp unit = placement.units()[event.unit];
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::AllGatherStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), operands,
                                              fromPiece ? *unit.getPiece() : placement.shardAxes(unit),
                                              unit.getSymNameAttr());
  auto wait = spmd::WaitOp::create(builder, loc, types, start.getToken());
  tag(start, event, event.once ? WhenKind::first : WhenKind::all);
  tag(wait, event, event.once ? WhenKind::first : WhenKind::all);
  if (ids.size() == types.size())
    wait->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids));
  unsigned next = 0;
  for (Wanted &want : wanted[event.unit])
    if (want.sharded) {
      want.whole = want.gathered = wait.getValues()[next++];
      if (want.whole.getType() != want.read.getType())
        want.gathered = shaped(want, event, builder);
    }
}

/// The values that a scope's readers get: what is gathered, what needs no gather, and views again where the backward has
/// gathered anew.
void Gatherer::enter(const UnitEvent &event, OpBuilder &builder) {
  auto &values = valuesIn[event.scope];
  // What is held needs no second copy or cast either.
  const auto valueBefore = [&](std::size_t index) {
    Value before;
    for (std::size_t scope : scopesOf[event.unit])
      if (event.held && scope != event.scope && valuesIn[scope].size() > index)
        before = valuesIn[scope][index];
    return before;
  };
  SmallVector<model::ReadOp> reads;
  for (auto [index, want] : llvm::enumerate(wanted[event.unit]))
    if (!want.sharded && !valueBefore(index))
      reads.push_back(want.read);
  fetch(event, reads, /*forGather=*/false, builder);
  for (auto [index, want] : llvm::enumerate(wanted[event.unit])) {
    if (want.sharded) {
      values.push_back(want.gathered);
      continue;
    }
    Value before = valueBefore(index);
    values.push_back(before ? before : localValue(want, event, builder));
  }
  bool inForward = llvm::any_of(scopesOf[event.unit], [&](std::size_t scope) {
    return !found.scopes[scope].backward;
  });
  if (event.backward && inForward && !event.held && !found.units[event.unit].skipsBackward)
    copyViews(event, builder);
}

/// The rank's piece of what is released, for the next gather to start from.
void Gatherer::keep(const UnitEvent &event, OpBuilder &builder) {
  spmd::UnitOp unit = placement.units()[event.unit];
  ArrayAttr axes = *unit.getPiece();
  for (Wanted &want : wanted[event.unit]) {
    if (!want.sharded)
      continue;
    auto whole = cast<RankedTensorType>(want.whole.getType());
    RankedTensorType type = spmd::shardType(whole, placement.cutDim(want.read.getParameter()), axes,
                                            spmd::groupSize(placement.mesh(), axes));
    auto piece = spmd::AllSliceOp::create(builder, want.read.getLoc(), type, want.whole);
    tag(piece, event);
    piece->setAttr("unit", unit.getSymNameAttr());
    if (Attribute ids = want.read->getAttr(model::idsName))
      piece->setAttr(model::idsName, ids);
    want.piece = piece.getResult();
  }
}

void Gatherer::release(const UnitEvent &event, OpBuilder &builder) {
  SmallVector<Value> values;
  for (const Wanted &want : wanted[event.unit])
    if (want.sharded)
      values.push_back(want.whole);
  auto release = spmd::ReleaseOp::create(builder, values.front().getLoc(), values,
                                         spmd::UnitOp(placement.units()[event.unit]).getSymNameAttr());
  tag(release, event, event.once ? WhenKind::last : WhenKind::all);
}

/// A view that the forward has made of a parameter is gone with its memory: the backward makes its own.
void Gatherer::copyViews(const UnitEvent &event, OpBuilder &builder) {
  const UnitScope &scope = found.scopes[event.scope];
  IRMapping mapping;
  SmallVector<Operation *> views;
  SmallVector<Value> memory;
  for (model::ReadOp read : readsOf[event.unit]) {
    for (auto [want, value] : llvm::zip(wanted[event.unit], valuesIn[event.scope]))
      if (isSame(want.read, read))
        mapping.map(read.getValue(), value);
    memory.push_back(read.getValue());
  }
  while (!memory.empty())
    for (OpOperand &use : memory.pop_back_val().getUses()) {
      Operation *view = use.getOwner();
      if (use.getOperandNumber() != 0 || !positions.contains(view) || isBackward(view) || !isa<ViewOpInterface>(view))
        continue;
      // Mapped to itself until it is known that the backward needs it.
      for (Value result : view->getResults()) {
        mapping.map(result, result);
        memory.push_back(result);
      }
      views.push_back(view);
    }
  llvm::sort(views, [&](Operation *a, Operation *b) { return positions.lookup(a) < positions.lookup(b); });
  llvm::SmallPtrSet<Operation *, 8> needed;
  for (Operation *view : llvm::reverse(views))
    if (llvm::any_of(view->getUsers(), [&](Operation *user) { return isIn(user, scope) || needed.contains(user); }))
      needed.insert(view);
  for (Operation *view : views) {
    if (!needed.contains(view))
      continue;
    Operation *copy = builder.clone(*view, mapping);
    tag(copy, event);
    for (auto [from, to] : llvm::zip(view->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return isIn(use.getOwner(), scope); });
  }
}

void Gatherer::replaceReads() {
  for (Operation *op : found.ops) {
    auto read = dyn_cast<model::ReadOp>(op);
    if (!read || read->use_empty())
      continue;
    std::size_t unit = placement.unitOf(read.getParameter());
    std::size_t index = 0;
    while (!isSame(wanted[unit][index].read, read))
      ++index;
    for (OpOperand &use : llvm::make_early_inc_range(read.getValue().getUses())) {
      Value value;
      for (std::size_t scope : scopesOf[unit])
        if (isIn(use.getOwner(), found.scopes[scope]) &&
            (!value || found.scopes[scope].pass == model::passOf(use.getOwner())))
          value = valuesIn[scope][index];
      use.set(value);
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
    FailureOr<Recipe> recipe = recipeFor(getOperation());
    if (failed(recipe))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      llvm::StringMap<Value> shards;
      for (BlockArgument argument : function.getArguments()) {
        auto parameter = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), spmd::parameterName);
        if (parameter && !function.getArgAttr(argument.getArgNumber(), spmd::stateName))
          shards[parameter.getValue()] = argument;
      }
      for (auto section : function.getOps<spmd::SectionOp>())
        if (!section.getBody().front().getOps<model::ReadOp>().empty())
          if (failed(Gatherer(section, placement, shards).run(*recipe)))
            return signalPassFailure();
    }
  }
};

} // namespace
