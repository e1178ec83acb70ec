//===- Structure.cpp - verifiers of streams, buffers, entries -------------------------===//
#include "dialect/plan/Plan.h"

using namespace mlir;
using namespace sluice::plan_ir;

llvm::LogicalResult BufferOp::verify() {
  auto type = llvm::dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitOpError("type, expected a static tensor of integers or floats but got ") << getType();
  const int64_t bytes = type.getNumElements() * ViewAttr::elementBytes(type.getElementType());
  if (static_cast<int64_t>(getBytes()) != bytes)
    return emitOpError("bytes, expected ") << bytes << " for " << type << " but got " << getBytes();
  if (getBegin().has_value() != getEnd().has_value())
    return emitOpError("lifespan, expected begin and end but got one of them");
  return success();
}
