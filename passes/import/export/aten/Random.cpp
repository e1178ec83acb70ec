//===- Random.cpp - dropout of ATen ---------------------------------------------------------===//

#include "passes/import/export/Call.h"

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

constexpr AtenOp table[] = {
    {"bernoulli.p", bernoulli},
    {"dropout.default", dropout, Memory::viewIfSame, sameBack},
};

} // namespace sluice::exported::random

llvm::ArrayRef<AtenOp> exported::randomOps() { return random::table; }
