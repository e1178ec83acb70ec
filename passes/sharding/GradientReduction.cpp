//===- GradientReduction.cpp - reductions of gradients over the data axes -----------===//

#include "passes/sharding/GradientReduction.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Model.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Scopes.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

/// Reductions of the collectives, and the factors that one rank's gradients are scaled by before and the result after.
struct Arithmetic {
  double before = 1, after = 1;
  ReductionKind scatter = ReductionKind::mean, all = ReductionKind::mean;
  double scatterScale = 1, allScale = 1;
};

/// `scatters` ranks of the reduce_scatter (1: none) and `reduces` of the all_reduce after it. `divide`: the divisor
/// that is not the number of ranks. Sums in an element type of small range are scaled in two halves, so that they
/// neither overflow nor vanish.
Arithmetic arithmeticOf(std::optional<double> divide, bool forceSum, Type element, std::int64_t scatters,
                        std::int64_t reduces) {
  Arithmetic made;
  auto ranks = static_cast<double>(scatters * reduces);
  if (scatters * reduces == 1 && !divide)
    return made;
  double factor = divide.value_or(ranks);
  if (element.isF16()) {
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
    // A mean where the factor is the number of ranks, else a sum of terms that the ranks scale.
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

/// The reduction of one reshard.
class Reducer {
public:
  Reducer(spmd::ReshardOp reshard, const Placement &placement, bool forceSum)
      : reshard(reshard), placement(placement), builder(reshard), source(sourceOf(reshard)),
        destination(destinationOf(reshard)), locations(locationsOfValues(reshard, reshard->getNumResults())),
        ids(reshard->getAttrOfType<DenseI64ArrayAttr>(model::idsName)), values(reshard.getOperands()) {
    for (spmd::UnitOp unit : placement.units())
      if (unit.getSymName() == *reshard.getUnit())
        arithmetic = arithmeticFor(unit, forceSum);
  }

  void run();

private:
  Arithmetic arithmeticFor(spmd::UnitOp unit, bool forceSum);
  ArrayAttr shardAxes() {
    auto sharded = spmd::shardedDim(destination);
    return sharded ? sharded->axesAttr() : ArrayAttr::get(reshard.getContext(), {});
  }
  /// True for an axis of parts along which a gradient is a term of a sum: addTerms() completes it.
  static bool isTerm(const spmd::PartialAxis &partial) { return partial.reduction == PartialReduction::sum; }
  /// Other axes that the source is partial over and the destination neither sharded nor partial.
  ArrayAttr reducedAxes(bool untilComplete);
  std::int64_t ranksOf(ArrayAttr axes) const { return spmd::groupSize(placement.mesh(), axes); }

  void scatter(bool isCompleted);
  void reduce(ArrayAttr axes, ArrayRef<unsigned> indices, ReductionKind op, double scale);
  void addTerms();
  void scale(double factor, bool isLast);
  /// The wait for a collective of some of the values.
  ValueRange await(Operation *start, ArrayRef<unsigned> indices, TypeRange types, bool chained);
  Location fuse(ArrayRef<unsigned> indices) {
    return builder.getFusedLoc(llvm::map_to_vector(indices, [&](unsigned index) { return locations[index]; }));
  }
  void tag(Operation *op) {
    for (StringRef name : {StringRef(model::phaseName), StringRef(spmd::whenName)})
      if (Attribute attribute = reshard->getAttr(name))
        op->setAttr(name, attribute);
  }

  spmd::ReshardOp reshard;
  const Placement &placement;
  OpBuilder builder;
  /// Shardings of all values are alike but for dims and axes of terms.
  spmd::ShardingAttr source, destination;
  SmallVector<Location> locations;
  DenseI64ArrayAttr ids;
  SmallVector<Value> values;
  Arithmetic arithmetic;
};

} // namespace

/// The reduction over shards that a reduction over replicas completes, with an accumulation between the two; else the
/// reshard itself.
static spmd::ReshardOp reductionOverShards(spmd::ReshardOp reshard) {
  auto sum = reshard.getOperands()[0].getDefiningOp<spmd::AccumulateOp>();
  auto scatter = sum ? sum.getOperand().getDefiningOp<spmd::ReshardOp>() : spmd::ReshardOp();
  return scatter ? scatter : reshard;
}

Arithmetic Reducer::arithmeticFor(spmd::UnitOp unit, bool forceSum) {
  std::int64_t scatters = ranksOf(shardAxes()), reduces = ranksOf(reducedAxes(/*untilComplete=*/true));
  // Along some of the axes, ranks have equal gradients, or terms of one sum.
  std::int64_t alike = destination.isSharded() ? scatters / placement.shardRanks() : 1;
  std::optional<double> divide;
  if (auto number = unit.getDivideAttr())
    divide = number.getValueAsDouble();
  else if (alike > 1)
    divide = static_cast<double>(scatters * reduces / alike);
  if (alike == 1 || sumsAlongShards(reductionOverShards(reshard)))
    return arithmeticOf(divide, forceSum, getElementTypeOrSelf(reshard->getResultTypes().front()), scatters, reduces);
  // Equal gradients count once: a mean over all ranks is the mean over those that differ.
  Arithmetic mean;
  if (unit.getDivideAttr())
    mean.after = static_cast<double>(placement.shardRanks() * reduces) / *divide;
  return mean;
}

ArrayAttr Reducer::reducedAxes(bool untilComplete) {
  SmallVector<Attribute> axes;
  for (const spmd::PartialAxis &partial : source.getPartialAxes())
    if (StringRef axis = partial.axis.getValue();
        !isTerm(partial) && !destination.dimAlong(axis) && (untilComplete || !destination.isPartialOver(axis)))
      axes.push_back(partial.axis);
  return builder.getArrayAttr(axes);
}

ValueRange Reducer::await(Operation *start, ArrayRef<unsigned> indices, TypeRange types, bool chained) {
  auto wait = spmd::WaitOp::create(builder, start->getLoc(), types, start->getResult(0), chained);
  tag(start);
  tag(wait);
  if (ids && !chained)
    wait->setAttr(model::idsName, builder.getDenseI64ArrayAttr(
                                      llvm::map_to_vector(indices, [&](unsigned index) { return ids[index]; })));
  return wait.getValues();
}

/// All elements in one dim where the result is a shard by elements: a view.
static Value flatten(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  auto reshape = model::ReshapeOp::create(builder, value.getLoc(),
                                          RankedTensorType::get({type.getNumElements()}, type.getElementType()), value);
  model::setPhase(reshape, Phase::backward);
  return reshape.getResult();
}

void Reducer::scatter(bool isCompleted) {
  for (auto [value, result] : llvm::zip(values, reshard.getResults()))
    if (cast<RankedTensorType>(value.getType()).getRank() != cast<RankedTensorType>(result.getType()).getRank())
      value = flatten(value);
  scale(arithmetic.before, /*isLast=*/false);
  SmallVector<Attribute> shards;
  for (Type type : reshard->getResultTypes())
    shards.push_back(TypeAttr::get(type));
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, values.size()));
  auto start = spmd::ReduceScatterStartOp::create(
      builder, fuse(all), spmd::TokenType::get(builder.getContext()), values, shardAxes(), arithmetic.scatter,
      APFloat(arithmetic.scatterScale), builder.getArrayAttr(shards), reshard.getUnitAttr());
  values = SmallVector<Value>(await(start, all, reshard->getResultTypes(), /*chained=*/isCompleted));
}

void Reducer::reduce(ArrayAttr axes, ArrayRef<unsigned> indices, ReductionKind op, double scale) {
  auto operands = llvm::map_to_vector(indices, [&](unsigned index) { return values[index]; });
  auto start = spmd::AllReduceStartOp::create(builder, fuse(indices), spmd::TokenType::get(builder.getContext()),
                                              operands, axes, op, APFloat(scale), reshard.getUnitAttr());
  for (auto [index, value] : llvm::zip(indices, await(start, indices, ValueRange(operands).getTypes(), false)))
    values[index] = value;
}

/// Completes gradients that are partial over axes of parts too: after the reduction, where they are smallest, all that
/// are partial over the same axes together.
void Reducer::addTerms() {
  llvm::MapVector<Attribute, SmallVector<unsigned>> ofAxes;
  for (unsigned index = 0; index < values.size(); ++index) {
    SmallVector<Attribute> left;
    for (const spmd::PartialAxis &partial : sourceOf(reshard, index).getPartialAxes())
      if (isTerm(partial) && !destination.dimAlong(partial.axis.getValue()))
        left.push_back(partial.axis);
    if (!left.empty())
      ofAxes[builder.getArrayAttr(left)].push_back(index);
  }
  for (auto &[axes, indices] : ofAxes) {
    // These are not the gradients yet.
    values[indices.front()].getDefiningOp()->removeAttr(model::idsName);
    reduce(cast<ArrayAttr>(axes), indices, ReductionKind::sum, 1);
  }
}

void Reducer::scale(double factor, bool isLast) {
  for (auto [index, value] : llvm::enumerate(values)) {
    if (factor == 1)
      break;
    Operation *maker = value.getDefiningOp();
    auto scaled =
        model::ScaleOp::create(builder, value.getLoc(), value.getType(), value, builder.getF64FloatAttr(factor));
    tag(scaled);
    value = scaled.getResult();
    if (!isLast)
      continue;
    maker->removeAttr(model::idsName);
    if (ids)
      scaled->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids[index]));
  }
}

void Reducer::run() {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, values.size()));
  bool isCompleted = !destination.isPartial();
  if (destination.isSharded() && !source.isSharded())
    scatter(isCompleted);
  else if (!source.isSharded())
    scale(arithmetic.before, /*isLast=*/false);
  if (isCompleted) {
    reduce(reducedAxes(/*untilComplete=*/false), all, arithmetic.all, arithmetic.allScale);
    addTerms();
    scale(arithmetic.after, /*isLast=*/true);
  }
  reshard.replaceAllUsesWith(ValueRange(values));
}

void sluice::lowerReduction(spmd::ReshardOp reshard, const Placement &placement, bool forceSum) {
  Reducer(reshard, placement, forceSum).run();
}
