//===- Attention.cpp - scaled dot-product attention of ATen ------------------------------===//
//
// A mask that depends on no input is evaluated and classified row by row, whatever computed it. Another mask is an
// operand of `model.attention`.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Call.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::attention {

/// Keys or values [B, G, S, D] whose heads [B, H, S, D] are repeats of them; null for others.
Value beforeRepeat(Value heads) {
  auto joined = heads.getDefiningOp<model::ReshapeOp>();
  auto repeated = joined ? joined.getOperand().getDefiningOp<model::BroadcastOp>() : model::BroadcastOp();
  auto separate = repeated ? repeated.getOperand().getDefiningOp<model::ReshapeOp>() : model::ReshapeOp();
  if (!separate)
    return {};
  const auto shape = Call::shapeOf(heads), wide = Call::shapeOf(repeated.getResult()),
             narrow = Call::shapeOf(repeated.getOperand()), source = Call::shapeOf(separate.getOperand());
  // [B, G, S, D], [B, G, 1, S, D], [B, G, n, S, D], [B, G n, S, D].
  const bool fits = shape.size() == 4 && wide.size() == 5 && narrow.size() == 5 && source.size() == 4 &&
                    narrow[2] == 1 && narrow[1] == wide[1] && source[1] == narrow[1] && source[2] == narrow[3] &&
                    source[3] == narrow[4] && wide[1] * wide[2] == shape[1] && shape[2] == source[2] &&
                    shape[3] == source[3] && shape[0] == source[0] && wide[0] == narrow[0];
  return fits ? separate.getOperand() : Value();
}

/// 1 where the key may be seen, [T, S].
Value causalMask(Call &call, std::int64_t queries, std::int64_t keys) {
  auto type = RankedTensorType::get({queries, keys}, call.builder.getI32Type());
  Value row = call.make<model::IotaOp>({}, {{"dim", call.builder.getI64IntegerAttr(0)}}, type);
  Value column = call.make<model::IotaOp>({}, {{"dim", call.builder.getI64IntegerAttr(1)}}, type);
  return call.compare(row, ComparePredicate::ge, column);
}

void attention(Call &call) {
  if (const double given = call.number("dropout_p"); !(given >= 0 && given < 1))
    return call.refuse("dropout of every element");
  Value q = call.value("query"), k = call.value("key"), v = call.value("value");
  const llvm::SmallVector<std::int64_t> resultShape = call.result().sizes;
  const std::int64_t rank = Call::rankOf(q);
  if (rank != Call::rankOf(k) || rank != Call::rankOf(v) || rank < 2)
    return call.refuse("attention of tensors of different ranks");
  // [B, H, T, D]: leading dims are joined, missing ones are 1.
  const auto withHeads = [&](Value value) {
    llvm::SmallVector<std::int64_t> shape(Call::shapeOf(value));
    while (shape.size() < 4)
      shape.insert(shape.begin(), 1);
    while (shape.size() > 4) {
      shape[1] *= shape[0];
      shape.erase(shape.begin());
    }
    return call.reshape(value, shape);
  };
  q = withHeads(q), k = withHeads(k), v = withHeads(v);
  if (!call.problem().empty())
    return;
  if (Value keys = beforeRepeat(k), values = beforeRepeat(v);
      keys && values && Call::shapeOf(keys) == Call::shapeOf(values))
    k = keys, v = values;
  const std::int64_t queries = Call::shapeOf(q)[2], keys = Call::shapeOf(k)[2], heads = Call::shapeOf(q)[1],
                     groups = Call::shapeOf(k)[1];
  const std::int64_t size = Call::shapeOf(q)[3];
  const double rate = call.importer.dropoutRate(call.number("dropout_p")),
               scale = call.optionalNumber("scale").value_or(1 / std::sqrt(static_cast<double>(size)));
  bool isCausal = call.flag("is_causal");

  const Tensor mask = call.tensor("attn_mask");
  std::optional<MaskKind> kind;
  if (mask.constant)
    kind = call.importer.maskKind(mask.constant, queries, keys);
  else if (!mask.value && (!isCausal || queries == keys))
    kind = MaskKind{isCausal, 0};

  // The mask or the bias, [B or 1, H or 1, T or 1, S]; null without one, or if the op has no such operand.
  Value changed;
  if (!kind) {
    changed = mask ? call.importer.materialize(mask) : causalMask(call, queries, keys);
    llvm::SmallVector<std::int64_t> shape(Call::shapeOf(changed));
    if (shape.size() <= 4) {
      shape.insert(shape.begin(), 4 - shape.size(), 1);
      changed = call.reshape(changed, shape);
      if (shape[3] != keys && shape[3] == 1) {
        shape[3] = keys;
        changed = call.broadcast(changed, shape);
      }
    }
    const std::int64_t scores[] = {Call::shapeOf(q)[0], heads, queries, keys};
    bool fits = shape.size() == 4;
    for (std::size_t d = 0; fits && d < 4; ++d)
      fits = shape[d] == scores[d] || (shape[d] == 1 && d < 3);
    if (!fits)
      changed = {};
  }
  const bool isBias = changed && isa<FloatType>(cast<RankedTensorType>(changed.getType()).getElementType());

  const bool isWhole = (kind || changed) && Call::shapeOf(v)[3] == size && groups != 0 && heads % groups == 0;
  if (isWhole) {
    if (isBias)
      changed = call.cast(changed, cast<RankedTensorType>(q.getType()).getElementType());
    const auto sequenceFirst = [&](Value value) { return call.transpose(value, {0, 2, 1, 3}); };
    llvm::SmallVector<Value> operands{sequenceFirst(q), sequenceFirst(k), sequenceFirst(v)};
    if (changed)
      operands.push_back(changed);
    IntegerAttr key;
    if (rate > 0) {
      const RandomSource source = call.importer.randomSource();
      ++call.importer.dropouts;
      operands.append({source.seed, source.step, source.row});
      key = call.builder.getI64IntegerAttr(source.key);
    }
    const auto flag = [&](bool isSet) { return isSet ? call.builder.getUnitAttr() : UnitAttr(); };
    const bool hasWindow = kind && kind->window > 0;
    Value out = call.make<model::AttentionOp>(
        operands, {{"scale", call.builder.getF64FloatAttr(scale)},
                   {"causal", flag(kind && kind->causal)},
                   {"window", hasWindow ? call.builder.getI64IntegerAttr(kind->window) : IntegerAttr()},
                   {"masked", flag(changed && !isBias)},
                   {"biased", flag(isBias)},
                   {"dropout", key ? call.builder.getF64FloatAttr(rate) : FloatAttr()},
                   {"key", key}});
    return call.set(call.reshape(call.transpose(out, {0, 2, 1, 3}), resultShape));
  }

  // The heads of a group share its keys and values.
  if (heads != groups) {
    if (groups == 0 || heads % groups != 0)
      return call.refuse("attention whose heads are no multiple of those of its keys");
    const auto repeat = [&](Value value) {
      const auto shape = Call::shapeOf(value);
      const std::int64_t b = shape[0], s = shape[2], d = shape[3];
      return call.reshape(call.broadcast(call.reshape(value, {b, groups, 1, s, d}), {b, groups, heads / groups, s, d}),
                          {b, heads, s, d});
    };
    k = repeat(k), v = repeat(v);
  }
  Value scores = call.scale(call.product(q, k, true), scale);
  Value visible;
  if (mask) {
    Value given = call.importer.materialize(mask);
    llvm::SmallVector<std::int64_t> shape(Call::shapeOf(given));
    while (shape.size() > 4) {
      shape[1] *= shape[0];
      shape.erase(shape.begin());
    }
    given = call.reshape(given, shape);
    if (isa<FloatType>(cast<RankedTensorType>(given.getType()).getElementType()))
      scores = call.make<model::AddOp>({scores, given});
    else
      visible = given;
  } else if (isCausal) {
    visible = causalMask(call, queries, keys);
  }
  // A query that sees no key gets zeros: the scores stay finite, and the weights become 0.
  Value weights;
  if (visible) {
    scores = call.select(visible, scores, call.scalar(std::numeric_limits<float>::lowest(), scores));
    weights = call.select(visible, call.make<model::SoftmaxOp>(scores), call.scalar(0, scores));
  } else {
    weights = call.make<model::SoftmaxOp>(scores);
  }
  if (!call.problem().empty())
    return;
  ++call.importer.separateAttentions;
  const auto type = cast<RankedTensorType>(weights.getType());
  call.importer.separateBytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  weights = call.importer.makeDropout(weights, rate);
  call.set(call.reshape(call.product(weights, v, false), resultShape));
}

constexpr AtenOp table[] = {
    {"scaled_dot_product_attention.default", attention},
};

} // namespace sluice::exported::attention

llvm::ArrayRef<AtenOp> exported::attentionOps() { return attention::table; }
