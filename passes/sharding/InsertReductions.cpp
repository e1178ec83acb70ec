//===- InsertReductions.cpp - gradients and scalars of a step cross ranks ----------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/spmd/Names.h"
#include "passes/sharding/Scopes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTREDUCTIONS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

void setPhase(Operation *op, StringRef phase) {
  op->setAttr(spmd::phaseName, StringAttr::get(op->getContext(), phase));
}

/// The sum over repetitions of a value of a section that is repeated; the value itself where it is not.
Value accumulated(Value local, spmd::SectionOp section) {
  if (section.getRepeat() == 1)
    return local;
  OpBuilder builder(section.getContext());
  builder.setInsertionPointAfterValue(local);
  // What is computed outside sections is added up in them all the same.
  if (local.getParentBlock() != &section.getBody().front())
    builder.setInsertionPointToStart(&section.getBody().front());
  auto sum = spmd::AccumulateOp::create(builder, local.getLoc(), local.getType(), local);
  Operation *maker = local.getDefiningOp();
  setPhase(sum, maker ? spmd::phaseOf(maker) : "backward");
  return sum.getSum();
}

/// A gradient on its way: the op, the value to reduce, and the shard's type.
struct Gradient {
  model::GradientOp op;
  Value local;
  RankedTensorType shard;
};

/// The reductions of one section.
class Reducer {
public:
  Reducer(spmd::SectionOp section, const Placement &placement)
      : section(section), placement(placement), body(section.getBody().front()), found(findScopes(section, placement)) {
  }

  void run();

private:
  /// Starts and waits for a collective over the values, directly one after the other; `make` builds the start.
  ValueRange collective(OpBuilder &builder, ArrayRef<Gradient> gradients, TypeRange types, bool chained,
                        llvm::function_ref<Operation *(Location)> make);
  void reduce(std::size_t unit, ArrayRef<Gradient> gradients, OpBuilder &builder);
  spmd::ReleaseOp backwardRelease(StringRef unit);

  spmd::SectionOp section;
  const Placement &placement;
  Block &body;
  SectionScopes found;
};

} // namespace

ValueRange Reducer::collective(OpBuilder &builder, ArrayRef<Gradient> gradients, TypeRange types, bool chained,
                               llvm::function_ref<Operation *(Location)> make) {
  SmallVector<Location> locations;
  SmallVector<std::int64_t> ids;
  for (const Gradient &gradient : gradients) {
    model::GradientOp op = gradient.op;
    locations.push_back(op.getLoc());
    if (auto id = op->getAttrOfType<DenseI64ArrayAttr>(spmd::idsName))
      ids.append(id.asArrayRef().begin(), id.asArrayRef().end());
  }
  Location loc = builder.getFusedLoc(locations);
  Operation *start = make(loc);
  auto wait = spmd::WaitOp::create(builder, loc, types, start->getResult(0), chained);
  if (ids.size() == gradients.size() && !chained)
    wait->setAttr(spmd::idsName, builder.getDenseI64ArrayAttr(ids));
  for (Operation *op : {start, wait.getOperation()}) {
    setPhase(op, "backward");
    if (section.getRepeat() > 1)
      op->setAttr(spmd::whenName, builder.getStringAttr("last"));
  }
  return wait.getValues();
}

/// One reduce_scatter for what is sharded, completed over replicas; one all_reduce for what is whole.
void Reducer::reduce(std::size_t unit, ArrayRef<Gradient> gradients, OpBuilder &builder) {
  StringAttr name = spmd::UnitOp(placement.units()[unit]).getSymNameAttr();
  Type token = spmd::TokenType::get(builder.getContext());
  APFloat one(1.0);
  auto allReduce = [&](ArrayRef<Gradient> of, ValueRange values, ArrayAttr axes) {
    return collective(builder, of, values.getTypes(), false, [&](Location loc) -> Operation * {
      return spmd::AllReduceStartOp::create(builder, loc, token, values, axes, "mean", one, name);
    });
  };
  auto finish = [](ArrayRef<Gradient> of, ValueRange values) {
    for (auto [gradient, value] : llvm::zip(of, values)) {
      model::GradientOp op = gradient.op;
      // The cut of the whole mean that spmd-partition has left is the shard itself.
      for (Operation *user : llvm::make_early_inc_range(op.getMean().getUsers()))
        if (isa<UnrealizedConversionCastOp>(user) && user->getResult(0).getType() == value.getType() &&
            value.getType() != op.getMean().getType()) {
          user->getResult(0).replaceAllUsesWith(value);
          user->erase();
        }
      if (!op.getMean().use_empty())
        op.getMean().replaceAllUsesWith(value);
      op.erase();
    }
  };

  SmallVector<Gradient> sharded, whole;
  for (const Gradient &gradient : gradients)
    (placement.dim(model::GradientOp(gradient.op).getParameter()) ? sharded : whole).push_back(gradient);
  if (!sharded.empty()) {
    SmallVector<Value> locals;
    SmallVector<Attribute> shards;
    SmallVector<Type> types;
    for (const Gradient &gradient : sharded) {
      locals.push_back(gradient.local);
      types.push_back(gradient.shard);
      shards.push_back(TypeAttr::get(gradient.shard));
    }
    ValueRange scattered = collective(builder, sharded, types, true, [&](Location loc) -> Operation * {
      return spmd::ReduceScatterStartOp::create(builder, loc, token, locals, placement.shardAxes(), "mean", one,
                                                builder.getArrayAttr(shards), name);
    });
    finish(sharded, allReduce(sharded, scattered, placement.replicateAxes()));
  }
  if (!whole.empty()) {
    SmallVector<Value> locals;
    for (const Gradient &gradient : whole)
      locals.push_back(gradient.local);
    finish(whole, allReduce(whole, locals, placement.dataAxes()));
  }
}

spmd::ReleaseOp Reducer::backwardRelease(StringRef unit) {
  for (auto release : body.getOps<spmd::ReleaseOp>())
    if (spmd::unitOf(release) == unit && isBackward(release))
      return release;
  return nullptr;
}

void Reducer::run() {
  std::vector<SmallVector<Gradient>> ofUnit(found.units.size());
  llvm::StringMap<unsigned> order;
  for (model::ParameterOp parameter : placement.parameters())
    order.insert({parameter.getSymName(), order.size()});
  for (auto gradient : body.getOps<model::GradientOp>()) {
    auto type = cast<RankedTensorType>(gradient.getType());
    ofUnit[placement.unitOf(gradient.getParameter())].push_back(
        {gradient, gradient.getLocal(), placement.local(gradient.getParameter(), type)});
  }
  std::vector<UnitEvent> events = placeUnitEvents(found.scopes, found.units);
  for (auto &gradients : ofUnit) {
    llvm::stable_sort(gradients, [&](const Gradient &a, const Gradient &b) {
      return order[model::GradientOp(a.op).getParameter()] < order[model::GradientOp(b.op).getParameter()];
    });
    for (Gradient &gradient : gradients)
      gradient.local = accumulated(gradient.local, section);
  }
  for (const UnitEvent &event : events) {
    if (event.kind != UnitEvent::Kind::reduce)
      continue;
    OpBuilder builder(found.at(event.position, body));
    if (auto release = backwardRelease(spmd::UnitOp(placement.units()[event.unit]).getSymName()))
      builder.setInsertionPointAfter(release);
    reduce(event.unit, ofUnit[event.unit], builder);
  }
}

namespace {

/// The mean over micro-batches and ranks of a scalar that the section before has made.
LogicalResult reduceStepMean(model::StepMeanOp mean, const Placement &placement) {
  OpBuilder builder(mean);
  Value value = mean.getLocal();
  if (auto section = value.getDefiningOp<spmd::SectionOp>(); section && section.getRepeat() > 1) {
    auto yield = cast<spmd::YieldOp>(section.getBody().front().getTerminator());
    OpOperand &yielded = yield->getOpOperand(cast<OpResult>(value).getResultNumber());
    yielded.set(accumulated(yielded.get(), section));
    auto scale = model::ScaleOp::create(builder, mean.getLoc(), value.getType(), value,
                                        builder.getF64FloatAttr(1.0 / static_cast<double>(section.getRepeat())));
    setPhase(scale, "update");
    value = scale.getResult();
  }
  auto start = spmd::AllReduceStartOp::create(builder, mean.getLoc(), spmd::TokenType::get(builder.getContext()), value,
                                              placement.dataAxes(), "mean", APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, mean.getLoc(), value.getType(), start.getToken());
  setPhase(start, "update");
  setPhase(wait, "update");
  if (Attribute ids = mean->getAttr(spmd::idsName))
    wait->setAttr(spmd::idsName, ids);
  mean.getMean().replaceAllUsesWith(wait.getValues()[0]);
  mean.erase();
  return success();
}

struct InsertReductions : sluice::impl::InsertReductionsBase<InsertReductions> {
  void runOnOperation() override {
    Placement placement(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto section : function.getOps<spmd::SectionOp>()) {
        Block &body = section.getBody().front();
        if (!body.getOps<model::GradientOp>().empty())
          Reducer(section, placement).run();
        for (auto mean : llvm::make_early_inc_range(body.getOps<model::StepMeanOp>()))
          if (failed(reduceStepMean(mean, placement)))
            return signalPassFailure();
      }
  }
};

} // namespace
