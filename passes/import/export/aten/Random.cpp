//===- Random.cpp - dropout and random numbers of ATen ----------------------------------------===//

#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::random {

void dropout(Call &call) {
  const double rate = call.number("p");
  // Its operand has another name in place.
  Value x = call.value(call.has("self") ? "self" : "input");
  if (!call.flag("train") && rate > 0)
    ++call.importer.idleDropouts;
  if (!call.flag("train") || rate == 0)
    return call.set(x);
  if (!(rate > 0 && rate < 1))
    return call.refuse("dropout of every element");
  call.set(call.importer.makeDropout(x, rate));
}

/// 1 with the probability `p`, else 0: a dropout of ones at the rate 1 - p, times p.
void bernoulli(Call &call) {
  const double probability = call.has("p") ? call.number("p") : 0.5;
  if (!(probability > 0 && probability <= 1))
    return call.refuse("random zeros only");
  Value ones = call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(1)}}, call.resultType());
  if (!call.problem().empty())
    return;
  call.set(probability == 1 ? ones : call.scale(call.importer.makeDropout(ones, 1 - probability), probability));
}

/// Numbers of the step of a float type, in the shape of the result. Dim 0 has the rows of the step; a tensor without
/// rows is one row, so that no two ranks and micro-batches draw the same.
template <typename Op>
Value numbers(Call &call, ScalarType type, std::pair<llvm::StringRef, double> first,
              std::pair<llvm::StringRef, double> second) {
  const RandomSource source = call.importer.randomSource();
  const llvm::SmallVector<std::int64_t> shape(call.result().sizes);
  llvm::SmallVector<std::int64_t> drawn(shape);
  if (shape.empty() || shape.front() != source.rows)
    drawn.insert(drawn.begin(), 1);
  Value result = call.make<Op>({source.seed, source.step, source.row},
                               {{"key", call.builder.getI64IntegerAttr(source.key)},
                                {first.first, call.builder.getF64FloatAttr(first.second)},
                                {second.first, call.builder.getF64FloatAttr(second.second)}},
                               RankedTensorType::get(drawn, call.elementType(type)));
  return call.reshape(result, shape);
}
/// In [low, high).
Value uniform(Call &call, ScalarType type, double low, double high) {
  return numbers<model::RandomUniformOp>(call, type, {"low", low}, {"high", high});
}
Value normal(Call &call, double mean, double deviation) {
  return numbers<model::RandomNormalOp>(call, call.result().type, {"mean", mean}, {"stddev", deviation});
}
bool isDrawn(Call &call) {
  if (isFloat(call.result().type))
    return true;
  call.refuse("random numbers of this element type");
  return false;
}

void rand(Call &call) {
  if (isDrawn(call))
    call.set(uniform(call, call.result().type, 0, 1));
}
void randn(Call &call) {
  if (isDrawn(call))
    call.set(normal(call, 0, 1));
}
void fillUniform(Call &call) {
  const double low = call.number("from"), high = call.number("to");
  if (isDrawn(call))
    call.set(uniform(call, call.result().type, low, high));
}
void fillNormal(Call &call) {
  const double mean = call.number("mean"), deviation = call.number("std");
  if (isDrawn(call))
    call.set(normal(call, mean, deviation));
}
/// 1 with the probability that the element of the operand is, else 0.
void bernoulliOfEach(Call &call) {
  Value probability = call.value("self");
  if (!isDrawn(call))
    return;
  Value isOne = call.compare(call.cast(uniform(call, ScalarType::f32, 0, 1), elementOf(probability)),
                             ComparePredicate::lt, stopped(call, probability));
  call.set(call.cast(isOne, call.elementType(call.result().type)));
}
/// Integers in [low, high): the integer parts of numbers in that range, which the conversion rounds towards 0.
void integers(Call &call) {
  const double low = call.has("low") ? static_cast<double>(call.integer("low")) : 0,
               high = static_cast<double>(call.integer("high"));
  // The numbers are multiples of 2^-24 of the range.
  if (!(high > low && high - low <= 0x1p20))
    return call.refuse("a range of random integers of no or of more than 2^20 numbers");
  Value from = uniform(call, ScalarType::f64, 0, high - low);
  Value whole = call.cast(from, call.builder.getI64Type());
  call.set(call.cast(add(call, whole, call.scalar(low, whole)), call.elementType(call.result().type)));
}

constexpr AtenOp table[] = {
    {"bernoulli.default", bernoulliOfEach},
    {"bernoulli.p", bernoulli},
    {"dropout.default", dropout, Memory::viewIfSame, sameBack},
    {"normal.float_float", fillNormal},
    {"normal_functional.default", fillNormal},
    {"rand.default", rand},
    {"rand_like.default", rand},
    {"randint.default", integers},
    {"randint.low", integers},
    {"randint_like.default", integers},
    {"randint_like.low_dtype", integers},
    {"randn.default", randn},
    {"randn_like.default", randn},
    {"uniform.default", fillUniform},
};

} // namespace sluice::exported::random

llvm::ArrayRef<AtenOp> exported::randomOps() { return random::table; }
