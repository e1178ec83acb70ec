//===- Structure.cpp - verifiers of streams, buffers, entries -------------------------===//
#include "dialect/plan/Plan.h"

using namespace mlir;
using namespace sluice::plan_ir;

llvm::LogicalResult BufferOp::verify() {
  auto type = llvm::cast<RankedTensorType>(getType());
  const int64_t bytes = type.getNumElements() * ViewAttr::elementBytes(type.getElementType());
  if (static_cast<int64_t>(getBytes()) != bytes)
    return emitOpError("bytes, expected ") << bytes << " for " << type << " but got " << getBytes();
  if (getBegin().has_value() != getEnd().has_value())
    return emitOpError("lifespan requires both 'begin' and 'end'");
  return success();
}
