//===- DroppedAttention.cpp - attention with dropout, as separate ops ----------------------===//

#include "passes/import/DroppedAttention.h"

#include <limits>

using namespace mlir;
using namespace sluice;

namespace {

class Parts {
public:
  Parts(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  llvm::ArrayRef<std::int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

  Value reshaped(Value value, llvm::ArrayRef<std::int64_t> shape) {
    Type type = RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
    return model::ReshapeOp::create(builder, location, type, value);
  }
  /// Heads before tokens, or back.
  Value swapped(Value value) {
    return model::TransposeOp::create(builder, location, value, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  }
  Value product(Value a, Value b, bool transposed) {
    return model::MatmulOp::create(builder, location, a, b, false, transposed).getResult();
  }
  Value number(double value, Type type) {
    return model::ConstantOp::create(builder, location, RankedTensorType::get({}, type),
                                     builder.getF64FloatAttr(value));
  }
  /// Scores that `mask` hides become minus infinity.
  Value masked(Value scores, std::int64_t queries, std::int64_t keys, AttentionMask mask) {
    if (!mask.causal)
      return scores;
    Type i32 = builder.getI32Type();
    auto index = [&](std::int64_t dim) -> Value {
      return model::IotaOp::create(builder, location, RankedTensorType::get({queries, keys}, i32),
                                   builder.getI64IntegerAttr(dim));
    };
    Value nothing = number(-std::numeric_limits<double>::infinity(), builder.getF32Type());
    Value column = index(1), reach = index(0);
    auto keep = [&](ComparePredicate predicate) {
      Value seen = model::CompareOp::create(builder, location, reach, column, predicate);
      scores = model::SelectOp::create(builder, location, seen, scores, nothing);
    };
    keep(ComparePredicate::ge);
    if (mask.window > 0) {
      Value width = number(static_cast<double>(mask.window), i32);
      reach = model::SubtractOp::create(builder, location, reach, width);
      keep(ComparePredicate::lt);
    }
    return scores;
  }

private:
  OpBuilder &builder;
  Location location;
};

} // namespace

Value sluice::buildDroppedAttention(OpBuilder &builder, Location location, Value q, Value k, Value v, double scale,
                                    AttentionMask mask, llvm::function_ref<Value(Value)> drop) {
  Parts parts(builder, location);
  std::int64_t batch = parts.shapeOf(q)[0], queries = parts.shapeOf(q)[1], heads = parts.shapeOf(q)[2],
               size = parts.shapeOf(q)[3], keys = parts.shapeOf(k)[1], groups = parts.shapeOf(k)[2];
  q = parts.swapped(q), k = parts.swapped(k), v = parts.swapped(v);
  // The heads of a group share its keys and values: they are broadcast along an additional dim.
  if (heads != groups) {
    q = parts.reshaped(q, {batch, groups, heads / groups, queries, size});
    k = parts.reshaped(k, {batch, groups, 1, keys, size});
    v = parts.reshaped(v, {batch, groups, 1, keys, size});
  }
  Value scores = parts.product(q, k, true);
  scores = model::ScaleOp::create(builder, location, scores, builder.getF64FloatAttr(scale));
  scores = parts.masked(scores, queries, keys, mask);
  Value weights = drop(model::SoftmaxOp::create(builder, location, scores).getY());
  Value out = parts.product(weights, v, false);
  return parts.swapped(heads == groups ? out : parts.reshaped(out, {batch, heads, queries, size}));
}
