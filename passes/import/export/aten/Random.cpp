//===- Random.cpp - dropout of ATen ---------------------------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::random {

void dropout(Call &call) {
  const double rate = call.number("p");
  if (!call.flag("train") && rate > 0)
    ++call.importer.idleDropouts;
  if (!call.flag("train") || rate == 0)
    return call.set(call.value("input"));
  if (!(rate > 0 && rate < 1))
    return call.refuse("dropout of every element");
  call.set(call.importer.makeDropout(call.value("input"), rate));
}

constexpr AtenOp table[] = {
    {"dropout.default", dropout, Memory::viewIfSame, sameBack},
};

} // namespace sluice::exported::random

llvm::ArrayRef<AtenOp> exported::randomOps() { return random::table; }
