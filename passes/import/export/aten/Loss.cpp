//===- Loss.cpp - losses of ATen ------------------------------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::loss {

/// torch's numbers of `reduction`.
enum class Reduction : std::int64_t { none = 0, mean = 1, sum = 2 };

Value reduced(Call &call, Value each) {
  const auto dims = llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(each)));
  auto attribute = call.builder.getDenseI64ArrayAttr(dims);
  switch (static_cast<Reduction>(call.integer("reduction"))) {
  case Reduction::none:
    return each;
  case Reduction::mean:
    return dims.empty() ? each
                        : Value(call.make<model::ReduceMeanOp>({each}, {{"dims", attribute}, {"keep", UnitAttr()}}));
  case Reduction::sum:
    return dims.empty() ? each
                        : Value(call.make<model::ReduceSumOp>(
                              {each}, {{"dims", attribute}, {"keep", UnitAttr()}, {"output", TypeAttr()}}));
  }
  call.refuse("an unknown reduction");
  return each;
}

void crossEntropy(Call &call) {
  Value logits = call.value("self"), target = call.value("target");
  if (!call.isNone("weight"))
    return call.refuse("cross entropy with a weight of each class");
  if (isa<FloatType>(cast<RankedTensorType>(target.getType()).getElementType()))
    return call.refuse("cross entropy with probabilities as targets");
  const auto reduction = static_cast<Reduction>(call.integer("reduction"));
  if (reduction == Reduction::none)
    return call.refuse("cross entropy of each element", "use reduction='mean' or 'sum'");
  // The classes are dim 1, after the batch, or the only dim.
  const std::int64_t rank = Call::rankOf(logits);
  if (rank == 1) {
    logits = call.reshape(logits, {1, Call::shapeOf(logits)[0]});
    target = call.reshape(target, {1});
  }
  if (rank > 2) {
    llvm::SmallVector<std::int64_t> permutation = {0};
    for (std::int64_t dim = 2; dim < rank; ++dim)
      permutation.push_back(dim);
    permutation.push_back(1);
    logits = call.transpose(logits, permutation);
  }
  const double smoothing = call.number("label_smoothing");
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
  call.set(reduced(call, call.make<model::MultiplyOp>({error, error})));
}

void absoluteError(Call &call) { call.set(reduced(call, sizeOf(call, difference(call)))); }

/// Below `width` the square over 2 `scale`, else linear with the same slope.
void piecewise(Call &call, double width, bool divides) {
  Value error = difference(call), size = sizeOf(call, error);
  const double factor = divides ? 1 / width : 1;
  Value square = call.scale(call.make<model::MultiplyOp>({error, error}), 0.5 * factor);
  Value line = call.scale(call.make<model::SubtractOp>({size, call.scalar(0.5 * width, size)}), divides ? 1 : width);
  call.set(
      reduced(call, call.select(call.compare(size, ComparePredicate::lt, call.scalar(width, size)), square, line)));
}
void smoothL1(Call &call) {
  const double beta = call.number("beta");
  return beta == 0 ? absoluteError(call) : piecewise(call, beta, /*divides=*/true);
}
void huber(Call &call) { piecewise(call, call.number("delta"), /*divides=*/false); }

/// softplus(x) - x y, which does not overflow.
void binaryCrossEntropyWithLogits(Call &call) {
  if (!call.isNone("weight") || !call.isNone("pos_weight"))
    return call.refuse("binary cross entropy with a weight");
  Value x = call.value("self"), y = call.value("target");
  Value each = call.make<model::SubtractOp>({call.make<model::SoftplusOp>(x), call.make<model::MultiplyOp>({x, y})});
  call.set(reduced(call, each));
}

/// -x[target] of log probabilities.
void negativeLogLikelihood(Call &call) {
  Value x = call.value("self"), target = call.value("target");
  const auto reduction = static_cast<Reduction>(call.integer("reduction"));
  if (!call.isNone("weight") || Call::rankOf(x) != 2 || Call::rankOf(target) != 1 || call.integer("ignore_index") >= 0)
    return call.refuse("nll_loss with a weight, an ignored class, or of another rank than 2",
                       "use torch.nn.functional.cross_entropy");
  const std::int64_t rows = Call::shapeOf(target)[0];
  Value taken =
      call.make<model::TakeAlongOp>({x, call.reshape(target, {rows, 1})}, {{"dim", call.builder.getI64IntegerAttr(1)}});
  Value each = call.make<model::NegateOp>(call.reshape(taken, {rows}));
  call.set(reduction == Reduction::none ? each : reduced(call, each));
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
