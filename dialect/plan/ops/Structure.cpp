//===- Structure.cpp - verifiers of streams, buffers, entries -------------------------===//
#include "dialect/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

/// The streams of the module around an op.
auto streamsAround(Operation *op) { return op->getParentOfType<ModuleOp>().getOps<StreamOp>(); }

} // namespace

llvm::LogicalResult StreamOp::verify() {
  // stream_c1
  if (!isa_and_present<ModuleOp>((*this)->getParentOp()))
    return success();
  for (StreamOp other : streamsAround(*this)) {
    if (other == *this)
      break;
    if (other.getNameAttr() == getNameAttr())
      return emitOpError("has the name of another stream: '") << getName() << "'";
  }
  return success();
}

// instruction_c1. Not by each instruction: a module has few streams and many instructions.
llvm::LogicalResult EntryOp::verifyRegions() {
  if (!isa_and_present<ModuleOp>((*this)->getParentOp()))
    return success();
  llvm::StringSet<> streams;
  for (StreamOp stream : streamsAround(*this))
    streams.insert(stream.getName());
  for (SectionOp section : getBody().getOps<SectionOp>())
    for (Operation &op : section.getBody().getOps())
      if (auto stream = op.getAttrOfType<FlatSymbolRefAttr>("stream"); stream && !streams.contains(stream.getValue()))
        return op.emitOpError("unknown stream '") << stream.getValue() << "'";
  return success();
}

llvm::LogicalResult BufferOp::verify() {
  // buffer_c2
  auto type = llvm::cast<RankedTensorType>(getType());
  const int64_t bytes = type.getNumElements() * ViewAttr::elementBytes(type.getElementType());
  if (static_cast<int64_t>(getBytes()) != bytes)
    return emitOpError("bytes, expected ") << bytes << " for " << type << " but got " << getBytes();
  // buffer_c5
  if (getBegin().has_value() != getEnd().has_value())
    return emitOpError("lifespan requires both 'begin' and 'end'");
  return success();
}
