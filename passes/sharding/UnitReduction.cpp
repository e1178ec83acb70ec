//===- UnitReduction.cpp - how the gradients of one unit cross ranks ----------------------===//

#include "passes/sharding/UnitReduction.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Scopes.h"
#include "passes/sharding/tensor/Layout.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

/// All elements in one dim: a view.
Value flat(Value local) {
  OpBuilder builder(local.getContext());
  builder.setInsertionPointAfterValue(local);
  auto type = cast<RankedTensorType>(local.getType());
  auto reshape = model::ReshapeOp::create(builder, local.getLoc(),
                                          RankedTensorType::get({type.getNumElements()}, type.getElementType()), local);
  model::setPhase(reshape, Phase::backward);
  return reshape.getResult();
}

/// In which repetitions a unit's gradients cross ranks.
struct Course {
  /// In which they are reduced within the shards, and over replicas.
  When within = WhenKind::last, across = WhenKind::last;
  /// What is reduced in several repetitions is added up behind the reduction.
  bool addsShards = false;
  /// What is not reduced at once is added up before it, from the start of the section or behind the reduction before.
  bool addsLocals = true;
  std::optional<When> starts;
};

/// The same repetitions, with a list that lives as long as the context.
When ownedBy(MLIRContext *context, When when) { return spmd::WhenAttr::get(context, when).getValue(); }

Course courseOf(spmd::UnitOp unit, std::int64_t repeat) {
  Course course;
  if (repeat == 1)
    return {WhenKind::all, WhenKind::all, false, false, std::nullopt};
  if (unit.getSync() == SyncMode::every)
    return {WhenKind::all, WhenKind::all, true, false, std::nullopt};
  if (unit.getSync() == SyncMode::reduce_scatter_only)
    return {WhenKind::all, WhenKind::last, true, false, std::nullopt};
  if (std::optional<When> reduced = unit.getSyncIn()) {
    SmallVector<std::int64_t> listed, starts = {0};
    for (std::int64_t repetition = 0; repetition < repeat; ++repetition)
      if (reduced->includes(repetition, repeat)) {
        listed.push_back(repetition);
        if (repetition + 1 < repeat)
          starts.push_back(repetition + 1);
      }
    MLIRContext *context = unit.getContext();
    course.within = course.across = ownedBy(context, When::of(listed, repeat));
    course.addsShards = true;
    course.starts = ownedBy(context, When::of(starts, repeat));
  }
  return course;
}

/// Reductions on the wire and factors beside them: what one rank's gradients are scaled by before, and the result
/// after.
struct Arithmetic {
  double before = 1, after = 1;
  ReductionKind scatter = ReductionKind::mean, all = ReductionKind::mean;
  double scatterScale = 1, allScale = 1;
};

/// `scatters` ranks of the reduce_scatter (1: none) and `reduces` of the all_reduce behind it. Sums of numbers of
/// little range are scaled in two halves, so that they neither overflow nor vanish.
Arithmetic arithmeticOf(std::optional<double> divide, bool forceSum, Type wire, std::int64_t scatters,
                        std::int64_t reduces) {
  Arithmetic made;
  auto ranks = static_cast<double>(scatters * reduces);
  if (scatters * reduces == 1 && !divide)
    return made;
  double factor = divide.value_or(ranks);
  if (wire.isF16()) {
    double half = 1;
    while (std::fmod(factor, half) == 0 && factor / half > half)
      half *= 2;
    made.before = 1 / half;
    made.after = half / factor;
  } else if (forceSum) {
    made.after = 1 / factor;
  } else if (!divide) {
    return made;
  } else if (scatters > 1) {
    // The mean where the factor is its own, else one that the ranks' terms are scaled by.
    bool isMean = factor == static_cast<double>(scatters), isSum = factor == 1;
    made.scatter = isMean ? ReductionKind::mean : isSum ? ReductionKind::sum : ReductionKind::premul_sum;
    made.scatterScale = isMean ? 1 : 1 / factor;
    made.all = ReductionKind::sum;
    return made;
  } else if (reduces > 1) {
    bool isMean = factor == static_cast<double>(reduces);
    made.scatter = ReductionKind::sum;
    made.all = isMean ? ReductionKind::mean : ReductionKind::premul_sum;
    made.allScale = isMean ? 1 : 1 / factor;
    return made;
  } else {
    made.after = 1 / factor;
  }
  made.scatter = made.all = ReductionKind::sum;
  return made;
}

/// The reductions of one unit in one section.
class UnitReducer {
public:
  UnitReducer(spmd::UnitOp unit, spmd::SectionOp section, const Placement &placement, bool forceSum,
              SmallVectorImpl<Operation *> &done)
      : unit(unit), section(section), placement(placement), shardAxes(placement.shardAxes(unit)), forceSum(forceSum),
        done(done) {}

  void run(ArrayRef<UnitGradient> gradients, OpBuilder &builder);

private:
  /// Starts and waits for a collective over the values, directly one after the other; `make` builds the start.
  ValueRange collective(OpBuilder &builder, ArrayRef<UnitGradient> gradients, TypeRange types, bool chained,
                        When when, llvm::function_ref<Operation *(Location)> make);
  void reduceShards(const Course &course, ArrayRef<UnitGradient> gradients, OpBuilder &builder);
  void reduceWhole(const Course &course, ArrayRef<UnitGradient> gradients, OpBuilder &builder);
  /// Adds up over axes of parts what their ranks have made terms of: behind the reduction, where it is smallest, all of the
  /// unit's together.
  void addTerms(const Course &course, ArrayRef<UnitGradient> gradients, SmallVector<Value> &values, OpBuilder &builder);
  void addTermsOver(ArrayAttr axes, const Course &course, ArrayRef<UnitGradient> gradients, ArrayRef<unsigned> indices,
                    SmallVector<Value> &values, OpBuilder &builder);
  bool isSharded(const UnitGradient &gradient) const {
    return placement.dim(model::GradientOp(gradient.op).getParameter()).has_value();
  }
  /// True where ranks along an axis that the unit is sharded over have terms of the gradient.
  bool isTerm(const UnitGradient &gradient) const {
    auto axes = model::GradientOp(gradient.op)->getAttrOfType<ArrayAttr>(tensor::termName);
    return axes && llvm::any_of(axes, [&](Attribute axis) { return llvm::is_contained(shardAxes, axis); });
  }
  std::int64_t ranksOf(ArrayAttr axes) const { return spmd::groupSize(placement.mesh(), axes); }
  /// `terms` of the ranks that are scattered over have terms of one sum: the mean is over the others.
  Arithmetic arithmeticOf(ArrayRef<UnitGradient> gradients, std::int64_t scatters, std::int64_t reduces,
                          std::int64_t terms = 1) {
    std::optional<double> divide;
    if (auto number = unit.getDivideAttr())
      divide = number.getValueAsDouble();
    else if (terms > 1)
      divide = static_cast<double>(scatters * reduces / terms);
    return ::arithmeticOf(divide, forceSum, gradients.front().shard.getElementType(), scatters, reduces);
  }

  /// Each value scaled, or added up over repetitions; itself where there is nothing to do.
  SmallVector<Value> scaled(OpBuilder &builder, ValueRange values, double factor, When when);
  SmallVector<Value> added(OpBuilder &builder, ValueRange values, When when);
  void finish(ArrayRef<UnitGradient> gradients, ValueRange values);

  spmd::UnitOp unit;
  spmd::SectionOp section;
  const Placement &placement;
  /// What the unit's shards are over.
  ArrayAttr shardAxes;
  bool forceSum;
  SmallVectorImpl<Operation *> &done;
};

} // namespace

ValueRange UnitReducer::collective(OpBuilder &builder, ArrayRef<UnitGradient> gradients, TypeRange types, bool chained,
                                   When when, llvm::function_ref<Operation *(Location)> make) {
  SmallVector<Location> locations;
  SmallVector<std::int64_t> ids;
  for (const UnitGradient &gradient : gradients) {
    model::GradientOp op = gradient.op;
    locations.push_back(op.getLoc());
    if (auto id = op->getAttrOfType<DenseI64ArrayAttr>(model::idsName))
      ids.append(id.asArrayRef().begin(), id.asArrayRef().end());
  }
  Location loc = builder.getFusedLoc(locations);
  Operation *start = make(loc);
  auto wait = spmd::WaitOp::create(builder, loc, types, start->getResult(0), chained);
  if (ids.size() == gradients.size() && !chained)
    wait->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids));
  for (Operation *op : {start, wait.getOperation()}) {
    model::setPhase(op, Phase::backward);
    spmd::setWhen(op, when);
  }
  return wait.getValues();
}

SmallVector<Value> UnitReducer::scaled(OpBuilder &builder, ValueRange values, double factor, When when) {
  SmallVector<Value> made(values);
  for (Value &value : made) {
    if (factor == 1)
      break;
    auto scale =
        model::ScaleOp::create(builder, value.getLoc(), value.getType(), value, builder.getF64FloatAttr(factor));
    model::setPhase(scale, Phase::backward);
    spmd::setWhen(scale, when);
    value = scale.getResult();
  }
  return made;
}

SmallVector<Value> UnitReducer::added(OpBuilder &builder, ValueRange values, When when) {
  SmallVector<Value> made(values);
  for (Value &value : made) {
    auto sum = spmd::AccumulateOp::create(builder, value.getLoc(), value.getType(), value, spmd::WhenAttr());
    model::setPhase(sum, Phase::backward);
    spmd::setWhen(sum, when);
    value = sum.getSum();
  }
  return made;
}

void UnitReducer::finish(ArrayRef<UnitGradient> gradients, ValueRange values) {
  for (auto [gradient, value] : llvm::zip(gradients, values)) {
    model::GradientOp op = gradient.op;
    // The last op that makes it is the one that gives the gradient.
    if (Operation *maker = value.getDefiningOp(); maker && !isa<spmd::WaitOp>(maker)) {
      for (Operation *before = maker; before; before = before->getOperand(0).getDefiningOp()) {
        before->removeAttr(model::idsName);
        if (isa<spmd::WaitOp>(before))
          break;
      }
      if (Attribute ids = op->getAttr(model::idsName))
        maker->setAttr(model::idsName, ids);
    }
    // The cut of the whole mean that spmd-partition has left is the shard itself.
    for (Operation *user : llvm::make_early_inc_range(op.getMean().getUsers()))
      if (isa<UnrealizedConversionCastOp>(user) && user->getResult(0).getType() == value.getType() &&
          value.getType() != op.getMean().getType()) {
        user->getResult(0).replaceAllUsesWith(value);
        done.push_back(user);
      }
    if (!op.getMean().use_empty())
      op.getMean().replaceAllUsesWith(value);
    done.push_back(op);
  }
}

/// One reduce_scatter, completed over replicas.
void UnitReducer::reduceShards(const Course &course, ArrayRef<UnitGradient> gradients, OpBuilder &builder) {
  Type token = spmd::TokenType::get(builder.getContext());
  SmallVector<Value> values;
  SmallVector<Attribute> shards;
  SmallVector<Type> types;
  for (const UnitGradient &gradient : gradients) {
    values.push_back(gradient.local);
    types.push_back(gradient.shard);
    shards.push_back(TypeAttr::get(gradient.shard));
  }
  std::int64_t scatters = ranksOf(shardAxes), reduces = ranksOf(placement.replicateAxes());
  std::int64_t alike = scatters / placement.shardRanks();
  Arithmetic arithmetic;
  if (alike == 1 || isTerm(gradients.front()))
    arithmetic = arithmeticOf(gradients, scatters, reduces, alike);
  // Ranks that all have the same of a gradient count once: only means say that.
  else if (auto divide = unit.getDivideAttr())
    arithmetic.after = static_cast<double>(placement.shardRanks() * reduces) / divide.getValueAsDouble();
  // What is reduced over replicas later is added up in between.
  bool between = course.within != course.across;
  values = scaled(builder, values, arithmetic.before, course.within);
  ValueRange scattered =
      collective(builder, gradients, types, /*chained=*/!between, course.within, [&](Location loc) -> Operation * {
        return spmd::ReduceScatterStartOp::create(builder, loc, token, values, shardAxes,
                                                  arithmetic.scatter, APFloat(arithmetic.scatterScale),
                                                  builder.getArrayAttr(shards), unit.getSymNameAttr());
      });
  values.assign(scattered.begin(), scattered.end());
  if (between)
    values = added(builder, values, course.within);
  ValueRange reduced = collective(builder, gradients, types, false, course.across, [&](Location loc) -> Operation * {
    return spmd::AllReduceStartOp::create(builder, loc, token, values, placement.replicateAxes(), arithmetic.all,
                                          APFloat(arithmetic.allScale), unit.getSymNameAttr());
  });
  values.assign(reduced.begin(), reduced.end());
  addTerms(course, gradients, values, builder);
  values = scaled(builder, values, arithmetic.after, course.across);
  if (course.addsShards && !between)
    values = added(builder, values, course.across);
  finish(gradients, values);
}

/// One all_reduce.
void UnitReducer::reduceWhole(const Course &course, ArrayRef<UnitGradient> gradients, OpBuilder &builder) {
  Type token = spmd::TokenType::get(builder.getContext());
  SmallVector<Value> values;
  for (const UnitGradient &gradient : gradients)
    values.push_back(gradient.local);
  Arithmetic arithmetic = arithmeticOf(gradients, 1, ranksOf(placement.dataAxes()));
  values = scaled(builder, values, arithmetic.before, course.across);
  SmallVector<Type> types(ValueRange(values).getTypes());
  ValueRange reduced = collective(builder, gradients, types, false, course.across, [&](Location loc) -> Operation * {
    return spmd::AllReduceStartOp::create(builder, loc, token, values, placement.dataAxes(), arithmetic.all,
                                          APFloat(arithmetic.allScale), unit.getSymNameAttr());
  });
  values.assign(reduced.begin(), reduced.end());
  addTerms(course, gradients, values, builder);
  values = scaled(builder, values, arithmetic.after, course.across);
  if (course.addsShards)
    values = added(builder, values, course.across);
  finish(gradients, values);
}

void UnitReducer::addTerms(const Course &course, ArrayRef<UnitGradient> gradients, SmallVector<Value> &values,
                           OpBuilder &builder) {
  // One reduction for all that are terms over the same axes. Some have been reduced over with the shards.
  llvm::MapVector<Attribute, SmallVector<unsigned>> ofAxes;
  for (auto [index, gradient] : llvm::enumerate(gradients)) {
    SmallVector<Attribute> left;
    if (auto axes = gradient.op->getAttrOfType<ArrayAttr>(tensor::termName))
      for (Attribute axis : axes)
        if (!isSharded(gradient) || !llvm::is_contained(shardAxes, axis))
          left.push_back(axis);
    if (!left.empty())
      ofAxes[builder.getArrayAttr(left)].push_back(index);
  }
  for (auto &[axes, indices] : ofAxes)
    addTermsOver(cast<ArrayAttr>(axes), course, gradients, indices, values, builder);
}

void UnitReducer::addTermsOver(ArrayAttr axes, const Course &course, ArrayRef<UnitGradient> gradients,
                               ArrayRef<unsigned> indices, SmallVector<Value> &values, OpBuilder &builder) {
  SmallVector<UnitGradient> parts;
  SmallVector<Value> terms;
  for (unsigned index : indices) {
    parts.push_back(gradients[index]);
    terms.push_back(values[index]);
  }
  // These are not the gradients yet.
  terms.front().getDefiningOp()->removeAttr(model::idsName);
  SmallVector<Type> types(ValueRange(terms).getTypes());
  ValueRange sums = collective(builder, parts, types, false, course.across, [&](Location loc) -> Operation * {
    return spmd::AllReduceStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), terms,
                                          axes, ReductionKind::sum, APFloat(1.0), unit.getSymNameAttr());
  });
  for (auto [index, sum] : llvm::zip(indices, sums))
    values[index] = sum;
}

void UnitReducer::run(ArrayRef<UnitGradient> gradients, OpBuilder &builder) {
  Course course = courseOf(unit, section.getRepeat());
  // With one rank in the shard axis there is nothing to reduce but over replicas.
  bool scatters = ranksOf(shardAxes) > 1;
  SmallVector<UnitGradient> terms, sharded, whole;
  for (UnitGradient gradient : gradients) {
    bool isSharded = placement.dim(gradient.op.getParameter()).has_value();
    // Only the last repetition reduces over replicas what no shard has reduced: it is added up here.
    bool addsLocals = course.addsLocals || (course.within != course.across && (!isSharded || !scatters));
    if (addsLocals)
      gradient.local = addedUp(gradient.local, section, course.starts);
    if (isSharded && placement.isFlat(gradient.op.getParameter()))
      gradient.local = flat(gradient.local);
    (!isSharded ? whole : isTerm(gradient) ? terms : sharded).push_back(gradient);
  }
  Course late = course;
  if (course.within != course.across) {
    late.within = course.across;
    late.addsShards = false;
  }
  for (const auto &gradients : {terms, sharded})
    if (!gradients.empty())
      reduceShards(scatters ? course : late, gradients, builder);
  if (!whole.empty())
    reduceWhole(late, whole, builder);
}

Value sluice::addedUp(Value local, spmd::SectionOp section, std::optional<When> starts) {
  if (section.getRepeat() == 1)
    return local;
  OpBuilder builder(section.getContext());
  builder.setInsertionPointAfterValue(local);
  // What is computed outside sections is added up in them all the same.
  if (local.getParentBlock() != &section.getBody().front())
    builder.setInsertionPointToStart(&section.getBody().front());
  auto sum = spmd::AccumulateOp::create(builder, local.getLoc(), local.getType(), local,
                                        starts ? builder.getAttr<spmd::WhenAttr>(*starts) : spmd::WhenAttr());
  Operation *maker = local.getDefiningOp();
  model::setPhase(sum, maker ? model::phaseOf(maker) : Phase::backward);
  return sum.getSum();
}

void sluice::reduceUnit(spmd::UnitOp unit, spmd::SectionOp section, const Placement &placement, bool forceSum,
                        ArrayRef<UnitGradient> gradients, OpBuilder &builder, SmallVectorImpl<Operation *> &done) {
  UnitReducer(unit, section, placement, forceSum, done).run(gradients, builder);
}
