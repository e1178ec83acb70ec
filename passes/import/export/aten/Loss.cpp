//===- Loss.cpp - losses of ATen ------------------------------------------------------------===//

#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::loss {

/// torch's numbers of `reduction`.
enum class Reduction : std::int64_t { none = 0, mean = 1, sum = 2 };

} // namespace sluice::exported::loss

using loss::Reduction;

Value exported::reducedLoss(Call &call, Value each) {
  switch (static_cast<Reduction>(call.integer("reduction"))) {
  case Reduction::none:
    return each;
  case Reduction::mean:
    return reduce<model::ReduceMeanOp>(call, each, allDims(each));
  case Reduction::sum:
    return reduce<model::ReduceSumOp>(call, each, allDims(each));
  }
  call.refuse("an unknown reduction");
  return each;
}

namespace sluice::exported::loss {

/// The classes are dim 1, after the batch, or the only dim; here they are the last one of [rows, classes].
struct Classes {
  Value values, target;
  llvm::SmallVector<std::int64_t> shape;

  Classes(Call &call, Value x, Value target) {
    const std::int64_t rank = Call::rankOf(x);
    if (rank == 0) {
      call.refuse("a loss of classes of a scalar");
      return;
    }
    llvm::SmallVector<std::int64_t> permutation;
    for (std::int64_t dim = 0; dim < rank; ++dim)
      if (dim != std::min<std::int64_t>(1, rank - 1))
        permutation.push_back(dim);
    permutation.push_back(std::min<std::int64_t>(1, rank - 1));
    x = call.transpose(x, permutation);
    shape = llvm::SmallVector<std::int64_t>(Call::shapeOf(x).drop_back());
    const std::int64_t classes = Call::shapeOf(x).back(), rows = classes == 0 ? 0 : countOf(x) / classes;
    values = call.reshape(x, {rows, classes});
    this->target = isFloatValue(target) ? call.reshape(call.transpose(target, permutation), {rows, classes})
                                        : call.reshape(target, {rows});
  }
};

/// The sum over rows of `each` times `weight`, over the sum of the weights; or their sum, or each one.
void setWeighted(Call &call, const Classes &classes, Value each, Value weight) {
  const auto reduction = static_cast<Reduction>(call.integer("reduction"));
  if (reduction == Reduction::none)
    return call.set(call.reshape(each, classes.shape));
  Value sum = reduce<model::ReduceSumOp>(call, each, {0});
  call.set(reduction == Reduction::sum ? sum : divide(call, sum, reduce<model::ReduceSumOp>(call, weight, {0})));
}

/// -x[target] weight[target] of log probabilities, without the rows of the ignored class.
void setNegativeLogLikelihood(Call &call, const Classes &classes, double smoothing) {
  Value x = classes.values, target = classes.target;
  const std::int64_t rows = Call::shapeOf(x)[0], count = Call::shapeOf(x)[1];
  Value isKept = call.compare(target, ComparePredicate::ne,
                              call.scalar(static_cast<double>(call.integer("ignore_index")), target));
  Value safe = call.select(isKept, target, call.scalar(0, target)), zero = call.scalar(0, x);
  Value one = call.broadcast(call.scalar(1, x), {rows});
  Value ofClasses = call.optionalValue("weight");
  Value weight = call.select(isKept, ofClasses ? Value(call.make<model::GatherOp>({ofClasses, safe})) : one, zero);
  Value taken = call.reshape(
      call.make<model::TakeAlongOp>({x, call.reshape(safe, {rows, 1})}, {{"dim", call.builder.getI64IntegerAttr(1)}}),
      {rows});
  // 0 times the infinity of a row that is left out would be NaN.
  Value each = negate(call, multiply(call, call.select(isKept, taken, zero), weight));
  if (smoothing != 0) {
    Value all = ofClasses ? multiply(call, x, ofClasses) : x;
    Value smooth = negate(call, reduce<model::ReduceSumOp>(call, all, {1}));
    each = add(call, call.scale(each, 1 - smoothing),
               call.scale(call.select(isKept, smooth, zero), smoothing / static_cast<double>(count)));
  }
  setWeighted(call, classes, each, weight);
}

Value logProbabilities(Call &call, Value x) {
  Value total = call.make<model::LogSumExpOp>(x);
  return subtract(call, x, call.reshape(total, {Call::shapeOf(x)[0], 1}));
}

/// The cross entropy of probabilities; its mean is over the rows, whatever the weights are.
void probabilisticCrossEntropy(Call &call, const Classes &classes, double smoothing) {
  Value y = classes.target;
  if (smoothing != 0)
    y = add(call, call.scale(y, 1 - smoothing), call.scalar(smoothing / static_cast<double>(Call::shapeOf(y)[1]), y));
  if (Value weight = call.optionalValue("weight"))
    y = multiply(call, y, weight);
  Value each =
      negate(call, reduce<model::ReduceSumOp>(call, multiply(call, y, logProbabilities(call, classes.values)), {1}));
  setWeighted(call, classes, each, call.broadcast(call.scalar(1, each), Call::shapeOf(each)));
}

void crossEntropy(Call &call) {
  Classes classes(call, call.value("self"), call.value("target"));
  if (!call.problem().empty())
    return;
  const double smoothing = call.number("label_smoothing");
  const auto reduction = static_cast<Reduction>(call.integer("reduction"));
  if (isFloatValue(classes.target))
    return probabilisticCrossEntropy(call, classes, smoothing);
  if (!call.isNone("weight") || reduction == Reduction::none) {
    classes.values = logProbabilities(call, classes.values);
    return setNegativeLogLikelihood(call, classes, smoothing);
  }
  // The rows keep their dims, by which they are divided over ranks.
  Value logits = classes.values, target = classes.target;
  if (Call::rankOf(call.value("self")) > 1) {
    llvm::SmallVector<std::int64_t> shape = classes.shape;
    target = call.reshape(target, shape);
    shape.push_back(Call::shapeOf(logits)[1]);
    logits = call.reshape(logits, shape);
  }
  const LossReduction kind = reduction == Reduction::mean ? LossReduction::mean : LossReduction::sum;
  call.set(call.make<model::CrossEntropyOp>(
      {logits, target}, {{"reduction", call.builder.getAttr<model::LossReductionAttr>(kind)},
                         {"ignore_index", call.builder.getI64IntegerAttr(call.integer("ignore_index"))},
                         {"label_smoothing", smoothing == 0 ? FloatAttr() : call.builder.getF64FloatAttr(smoothing)}}));
}

Value difference(Call &call) { return call.make<model::SubtractOp>({call.value("self"), call.value("target")}); }

Value sizeOf(Call &call, Value x) { return call.make<model::MaximumOp>({x, call.make<model::NegateOp>(x)}); }

void squaredError(Call &call) {
  Value error = difference(call);
  call.set(reducedLoss(call, call.make<model::MultiplyOp>({error, error})));
}

void absoluteError(Call &call) { call.set(reducedLoss(call, sizeOf(call, difference(call)))); }

/// Below `width` the square over 2 `scale`, else linear with the same slope.
void piecewise(Call &call, double width, bool divides) {
  Value error = difference(call), size = sizeOf(call, error);
  const double factor = divides ? 1 / width : 1;
  Value square = call.scale(call.make<model::MultiplyOp>({error, error}), 0.5 * factor);
  Value line = call.scale(call.make<model::SubtractOp>({size, call.scalar(0.5 * width, size)}), divides ? 1 : width);
  call.set(
      reducedLoss(call, call.select(call.compare(size, ComparePredicate::lt, call.scalar(width, size)), square, line)));
}
void smoothL1(Call &call) {
  const double beta = call.number("beta");
  return beta == 0 ? absoluteError(call) : piecewise(call, beta, /*divides=*/true);
}
void huber(Call &call) { piecewise(call, call.number("delta"), /*divides=*/false); }

/// softplus(x) - x y, which does not overflow. With weights of the positive targets (1 - y) x + w softplus(-x), where w
/// is 1 + (p - 1) y.
void binaryCrossEntropyWithLogits(Call &call) {
  Value x = call.value("self"), y = call.value("target"), each;
  if (Value positive = call.optionalValue("pos_weight")) {
    Value one = call.scalar(1, x);
    Value factor =
        add(call, multiply(call, subtract(call, positive, call.broadcast(one, Call::shapeOf(positive))), y), one);
    Value rest = multiply(call, subtract(call, call.broadcast(one, Call::shapeOf(y)), y), x);
    each = add(call, rest, multiply(call, factor, call.make<model::SoftplusOp>(negate(call, x))));
  } else {
    each = subtract(call, call.make<model::SoftplusOp>(x), multiply(call, x, y));
  }
  if (Value weight = call.optionalValue("weight"))
    each = multiply(call, each, weight);
  call.set(reducedLoss(call, each));
}

void negativeLogLikelihood(Call &call) {
  const Classes classes(call, call.value("self"), call.value("target"));
  if (call.problem().empty())
    setNegativeLogLikelihood(call, classes, 0);
}

constexpr AtenOp table[] = {
    {"binary_cross_entropy_with_logits.default", binaryCrossEntropyWithLogits},
    {"cross_entropy_loss.default", crossEntropy},
    {"huber_loss.default", huber},
    {"l1_loss.default", absoluteError},
    {"mse_loss.default", squaredError},
    {"nll_loss_nd.default", negativeLogLikelihood},
    {"smooth_l1_loss.default", smoothL1},
};

} // namespace sluice::exported::loss

llvm::ArrayRef<AtenOp> exported::lossOps() { return loss::table; }
