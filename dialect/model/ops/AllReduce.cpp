//===- AllReduce.cpp - model.all_reduce, a collective of the model ------------------------===//
//
// The sharding phase replaces the op by a collective. On one rank the op is a copy.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

FailureOrValues AllReduceOp::buildVjp(ImplicitLocOpBuilder &, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{cotangents[0]};
}

} // namespace sluice::model
