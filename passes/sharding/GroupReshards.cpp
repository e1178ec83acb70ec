//===- GroupReshards.cpp - one reshard for each unit and scope ------------------------------===//
//
// Each scope of a unit (Scopes.h) begins with one reshard of all its sharded parameters and ends with their release, as
// if every unit resharded after every use; spmd-elide-reshards then applies the unit's policy. Replicated parameters
// are in a second reshard, which at most copies them to another memory space. A unit's gradients are reduced after the
// release at the end of the backward scope that completes them, by one reshard for those with the same axes.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Scopes.h"
#include "passes/sharding/Utils.h"

namespace sluice {
#define GEN_PASS_DEF_GROUPRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

using Reshards = SmallVector<spmd::ReshardOp>;
/// Parameter and type.
using ReadKey = std::pair<Attribute, Type>;

/// Groups the reshards of one section.
class SectionGrouper {
public:
  SectionGrouper(spmd::SectionOp section, const Placement &placement)
      : body(section.getBody().front()), placement(placement), found(findScopes(section, placement)),
        reads(found.units.size()), gradients(found.units.size()), valuesIn(found.scopes.size()) {}

  void run();

private:
  void collect();
  void groupReads(const UnitEvent &event, bool isSharded, OpBuilder &builder);
  void addRelease(const UnitEvent &event, OpBuilder &builder);
  void groupGradients(const UnitEvent &event, OpBuilder &builder);
  void replaceReads();
  spmd::ReshardOp merge(ArrayRef<spmd::ReshardOp> group, ValueRange operands, OpBuilder &builder);

  void tag(Operation *op, const UnitEvent &event) {
    model::setPhase(op, event.backward ? Phase::backward : Phase::forward);
    if (std::int64_t invocation = found.scopes[event.scope].invocation)
      op->setAttr(model::invocationName, Builder(op->getContext()).getI64IntegerAttr(invocation));
  }
  bool isIn(Operation *op, const UnitScope &scope) const {
    auto position = positions.find(op);
    return position != positions.end() && isBackward(op) == scope.backward && scope.begin <= position->second &&
           position->second < scope.end;
  }
  /// The value that replaces a read of a unit's parameter for one user.
  Value valueFor(Operation *user, std::size_t unit, spmd::ReshardOp read) const;

  Block &body;
  const Placement &placement;
  SectionScopes found;
  llvm::DenseMap<Operation *, std::int64_t> positions;
  /// By unit, in the order of the module's parameters; `reads` has one for each parameter and element type.
  std::vector<Reshards> reads, gradients;
  /// Position of each read in those of its unit.
  llvm::DenseMap<ReadKey, std::size_t> indices;
  /// All reads, and the gradients that are replaced.
  Reshards pending, replaced;
  /// By scope, the values that replace the unit's `reads` for its ops.
  std::vector<SmallVector<Value>> valuesIn;
};

/// Equal for reads of one parameter in one element type.
ReadKey keyOf(spmd::ReshardOp read) { return {read->getAttr(spmd::parameterName), read.getResults()[0].getType()}; }

} // namespace

void SectionGrouper::run() {
  collect();
  for (const UnitEvent &event : placeUnitEvents(found.scopes, found.units)) {
    OpBuilder builder(found.at(event.position, body));
    if (event.kind == UnitEvent::Kind::gather) {
      for (bool isSharded : {true, false})
        groupReads(event, isSharded, builder);
    } else if (event.kind == UnitEvent::Kind::release) {
      addRelease(event, builder);
    } else if (event.kind == UnitEvent::Kind::reduce) {
      groupGradients(event, builder);
    }
  }
  replaceReads();
}

void SectionGrouper::collect() {
  llvm::StringMap<unsigned> order;
  for (model::ParameterOp parameter : placement.parameters())
    order.insert({parameter.getSymName(), order.size()});
  for (auto [position, op] : llvm::enumerate(found.ops))
    positions[op] = static_cast<std::int64_t>(position);
  for (auto reshard : body.getOps<spmd::ReshardOp>()) {
    if (isGrouped(reshard))
      continue;
    std::size_t unit = placement.unitOf(parameterOf(reshard));
    if (isReduction(reshard)) {
      gradients[unit].push_back(reshard);
      continue;
    }
    pending.push_back(reshard);
    if (indices.try_emplace(keyOf(reshard)).second)
      reads[unit].push_back(reshard);
  }
  for (auto *lists : {&reads, &gradients})
    for (Reshards &list : *lists)
      llvm::stable_sort(
          list, [&](spmd::ReshardOp a, spmd::ReshardOp b) { return order[parameterOf(a)] < order[parameterOf(b)]; });
  for (const Reshards &list : reads)
    for (auto [index, read] : llvm::enumerate(list))
      indices[keyOf(read)] = index;
  for (auto [scope, values] : llvm::zip(found.scopes, valuesIn))
    values.resize(reads[scope.unit].size());
}

spmd::ReshardOp SectionGrouper::merge(ArrayRef<spmd::ReshardOp> group, ValueRange operands, OpBuilder &builder) {
  SmallVector<Type> types;
  SmallVector<Attribute> sources, destinations;
  SmallVector<Location> locations;
  SmallVector<std::int64_t> ids;
  for (spmd::ReshardOp member : group) {
    types.push_back(member->getResultTypes().front());
    sources.push_back(sourceOf(member));
    destinations.push_back(destinationOf(member));
    locations.push_back(member.getLoc());
    if (auto id = member->getAttrOfType<DenseI64ArrayAttr>(model::idsName))
      ids.append(id.asArrayRef().begin(), id.asArrayRef().end());
  }
  auto merged = spmd::ReshardOp::create(builder, fuseLocations(builder.getContext(), locations), types, operands,
                                        builder.getArrayAttr(sources), builder.getArrayAttr(destinations),
                                        spmd::ReshardOp(group.front()).getUnitAttr());
  if (ids.size() == types.size())
    merged->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids));
  return merged;
}

/// Creates the values of a scope. Casts are before the reshard.
void SectionGrouper::groupReads(const UnitEvent &event, bool isSharded, OpBuilder &builder) {
  Reshards group;
  SmallVector<Value> operands;
  SmallVector<std::size_t> indices;
  for (auto [index, read] : llvm::enumerate(reads[event.unit])) {
    if (changesSharding(read) != isSharded)
      continue;
    Value operand = spmd::ReshardOp(read).getOperands()[0];
    if (Operation *cast = operand.getDefiningOp()) {
      Operation *copy = builder.clone(*cast);
      tag(copy, event);
      operand = copy->getResult(0);
    }
    group.push_back(read);
    operands.push_back(operand);
    indices.push_back(index);
  }
  if (group.empty())
    return;
  spmd::ReshardOp merged = merge(group, operands, builder);
  tag(merged, event);
  for (auto [index, value] : llvm::zip(indices, merged.getResults()))
    valuesIn[event.scope][index] = value;
}

void SectionGrouper::addRelease(const UnitEvent &event, OpBuilder &builder) {
  // Gathered values first.
  SmallVector<Value> values;
  for (bool isSharded : {true, false})
    for (auto [read, value] : llvm::zip(reads[event.unit], valuesIn[event.scope]))
      if (changesSharding(read) == isSharded)
        values.push_back(value);
  tag(spmd::ReleaseOp::create(builder, values.front().getLoc(), values,
                              spmd::UnitOp(placement.units()[event.unit]).getNameAttr()),
      event);
}

void SectionGrouper::groupGradients(const UnitEvent &event, OpBuilder &builder) {
  Reshards terms, sharded, replicated, later;
  for (spmd::ReshardOp gradient : gradients[event.unit])
    (positions.lookup(gradient) >= found.scopes[event.scope].end ? later
     : !destinationOf(gradient).isSharded()                      ? replicated
     : sumsAlongShards(gradient)                                 ? terms
                                                                 : sharded)
        .push_back(gradient);
  gradients[event.unit] = later;
  for (const Reshards &group : {terms, sharded, replicated}) {
    if (group.empty())
      continue;
    auto operands =
        llvm::map_to_vector(group, [](spmd::ReshardOp gradient) -> Value { return gradient.getOperands()[0]; });
    spmd::ReshardOp merged = merge(group, operands, builder);
    model::setPhase(merged, Phase::backward);
    for (auto [gradient, value] : llvm::zip(group, merged.getResults())) {
      spmd::ReshardOp(gradient).getResults()[0].replaceAllUsesWith(value);
      // The sum with the gradient of an earlier pass.
      for (Operation *sum : value.getUsers())
        if (auto position = positions.find(sum); position != positions.end() && position->second < event.position)
          sum->moveAfter(merged);
    }
    replaced.append(group);
  }
}

Value SectionGrouper::valueFor(Operation *user, std::size_t unit, spmd::ReshardOp read) const {
  const std::size_t index = indices.lookup(keyOf(read));
  Value value;
  for (auto [scope, values] : llvm::zip(found.scopes, valuesIn))
    if (scope.unit == unit && isIn(user, scope) && (!value || scope.invocation == model::invocationOf(user)))
      value = values[index];
  return value;
}

void SectionGrouper::replaceReads() {
  for (spmd::ReshardOp read : pending) {
    std::size_t unit = placement.unitOf(parameterOf(read));
    for (OpOperand &use : llvm::make_early_inc_range(read.getResults()[0].getUses()))
      use.set(valueFor(use.getOwner(), unit, read));
  }
  for (spmd::ReshardOp read : pending) {
    Value operand = read.getOperands()[0];
    read.erase();
    eraseUnusedCasts(operand);
  }
  for (spmd::ReshardOp gradient : replaced)
    gradient->erase();
}

namespace {

struct GroupReshards : sluice::impl::GroupReshardsBase<GroupReshards> {
  void runOnOperation() override {
    Placement placement(getOperation());
    getOperation().walk([&](spmd::SectionOp section) {
      if (!llvm::all_of(section.getBody().front().getOps<spmd::ReshardOp>(), isGrouped))
        SectionGrouper(section, placement).run();
    });
  }
};

} // namespace
