//===- GradientReduction.cpp - reductions of gradients over the data axes -----------===//

#include "passes/sharding/GradientReduction.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

/// The reductions of the collectives, and the factors that scale each rank's gradients and the result.
struct Arithmetic {
  double before = 1, after = 1;
  ReductionKind scatter = ReductionKind::mean, all = ReductionKind::mean;
  double scatterScale = 1, allScale = 1;
};

/// `scatters`: the ranks of the reduce_scatter, or 1; `reduces`: those of the all_reduce after it. `divide`: a divisor
/// that differs from the number of ranks. Sums in f16 are scaled in two halves, so that they neither overflow nor
/// vanish.
Arithmetic arithmeticOf(std::optional<double> divide, bool forceSum, Type element, std::int64_t scatters,
                        std::int64_t reduces) {
  Arithmetic arithmetic;
  auto ranks = static_cast<double>(scatters * reduces);
  if (!divide && (ranks == 1 || (!forceSum && !element.isF16())))
    return arithmetic;
  double factor = divide.value_or(ranks);
  arithmetic.scatter = arithmetic.all = ReductionKind::sum;
  if (element.isF16()) {
    double half = 1;
    while (std::fmod(factor, half) == 0 && factor / half > half)
      half *= 2;
    arithmetic.before = 1 / half;
    arithmetic.after = half / factor;
  } else if (forceSum || ranks == 1) {
    arithmetic.after = 1 / factor;
  } else {
    // A mean where the factor is the number of ranks, else a sum of terms that the ranks scale.
    bool isMean = factor == static_cast<double>(scatters > 1 ? scatters : reduces);
    bool isSum = scatters > 1 && factor == 1;
    (scatters > 1 ? arithmetic.scatter : arithmetic.all) = isMean  ? ReductionKind::mean
                                                           : isSum ? ReductionKind::sum
                                                                   : ReductionKind::premul_sum;
    (scatters > 1 ? arithmetic.scatterScale : arithmetic.allScale) = isMean ? 1 : 1 / factor;
  }
  return arithmetic;
}

/// The reduction of one reshard.
class Reducer {
public:
  Reducer(spmd::ReshardOp reshard, const Placement &placement, bool forceSum)
      : reshard(reshard), placement(placement), builder(reshard), source(sourceOf(reshard)),
        destination(destinationOf(reshard)), locations(locationsOfValues(reshard, reshard->getNumResults())),
        ids(reshard->getAttrOfType<DenseI64ArrayAttr>(model::idsName)), values(reshard.getOperands()) {
    arithmetic = arithmeticFor(placement.units()[placement.indexOf(*reshard.getUnit())], forceSum);
  }

  void run();

private:
  Arithmetic arithmeticFor(spmd::UnitOp unit, bool forceSum);
  ArrayAttr shardAxes() {
    auto sharded = spmd::shardedDim(destination);
    return sharded ? sharded->axesAttr() : ArrayAttr::get(reshard.getContext(), {});
  }
  /// True for a model-parallel axis along which a gradient is a term of a sum: addTerms() completes it.
  static bool isTerm(const spmd::PartialAxis &partial) { return partial.reduction == PartialReduction::sum; }
  /// The other axes that the source is partial over and the destination is neither sharded nor partial along.
  ArrayAttr reducedAxes(bool untilComplete);
  std::int64_t ranksOf(ArrayAttr axes) const { return spmd::groupSize(placement.mesh(), axes); }

  void scatter(bool isCompleted);
  void reduce(ArrayAttr axes, ArrayRef<unsigned> indices, ReductionKind op, double scale);
  void addTerms();
  void scale(double factor, bool isLast);
  /// Replaces the values of a collective by those of its wait.
  void await(spmd::CollectiveOpInterface start, ArrayRef<unsigned> indices, bool chained);
  Location fuse(ArrayRef<unsigned> indices) {
    return builder.getFusedLoc(llvm::map_to_vector(indices, [&](unsigned index) { return locations[index]; }));
  }

  spmd::ReshardOp reshard;
  const Placement &placement;
  OpBuilder builder;
  /// The shardings of the first value. Others differ in dims and in the axes of terms only.
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
  // Along `expert`, ranks have equal gradients, or terms of one sum.
  std::int64_t experts = destination.isSharded() ? scatters / placement.shardRanks() : 1;
  std::optional<double> divide;
  if (auto number = unit.getDivideAttr())
    divide = number.getValueAsDouble();
  else if (experts > 1)
    divide = static_cast<double>(scatters * reduces / experts);
  if (experts == 1 || sumsAlongShards(reductionOverShards(reshard)))
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

void Reducer::await(spmd::CollectiveOpInterface start, ArrayRef<unsigned> indices, bool chained) {
  auto wait = spmd::WaitOp::create(builder, start->getLoc(), start, chained);
  copyTags(reshard, start);
  copyTags(reshard, wait);
  if (ids && !chained)
    wait->setAttr(model::idsName, builder.getDenseI64ArrayAttr(
                                      llvm::map_to_vector(indices, [&](unsigned index) { return ids[index]; })));
  for (auto [index, value] : llvm::zip(indices, wait.getValues()))
    values[index] = value;
}

/// All elements in one dim, for a result that is sharded by elements: a view.
static Value flatten(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto reshape = model::ReshapeOp::create(builder, value.getLoc(),
                                          spmd::flattened(cast<RankedTensorType>(value.getType())), value);
  model::setPhase(reshape, Phase::backward);
  return reshape.getResult();
}

void Reducer::scatter(bool isCompleted) {
  for (auto [value, result] : llvm::zip(values, reshard.getResults()))
    if (cast<RankedTensorType>(value.getType()).getRank() != cast<RankedTensorType>(result.getType()).getRank())
      value = flatten(value);
  scale(arithmetic.before, /*isLast=*/false);
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, values.size()));
  await(spmd::ReduceScatterStartOp::create(builder, fuse(all), values, shardAxes(), arithmetic.scatter,
                                           APFloat(arithmetic.scatterScale),
                                           builder.getTypeArrayAttr(reshard->getResultTypes()), reshard.getUnitAttr()),
        all, /*chained=*/isCompleted);
}

void Reducer::reduce(ArrayAttr axes, ArrayRef<unsigned> indices, ReductionKind op, double scale) {
  auto operands = llvm::map_to_vector(indices, [&](unsigned index) { return values[index]; });
  await(
      spmd::AllReduceStartOp::create(builder, fuse(indices), operands, axes, op, APFloat(scale), reshard.getUnitAttr()),
      indices, /*chained=*/false);
}

/// Completes gradients that are also partial over model-parallel axes, after the other reductions, where they are
/// smallest: those that are partial over the same axes together.
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
    // The values of the wait are not the gradients yet.
    values[indices.front()].getDefiningOp()->removeAttr(model::idsName);
    reduce(cast<ArrayAttr>(axes), indices, ReductionKind::sum, 1);
  }
}

void Reducer::scale(double factor, bool isLast) {
  if (factor == 1)
    return;
  for (auto [index, value] : llvm::enumerate(values)) {
    Operation *op = value.getDefiningOp();
    auto scaled =
        model::ScaleOp::create(builder, value.getLoc(), value.getType(), value, builder.getF64FloatAttr(factor));
    copyTags(reshard, scaled);
    value = scaled.getResult();
    if (!isLast)
      continue;
    op->removeAttr(model::idsName);
    setId(scaled, ids, index);
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
