//===- Toy.cpp - a collective that is in no dialect of Sluice      --------------------===//
#include "test/unit/passes/collective/Toy.h"

#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Sharding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sluice::toy;

#include "test/unit/passes/collective/ToyDialect.cpp.inc"

#define GET_OP_CLASSES
#include "test/unit/passes/collective/ToyOps.cpp.inc"

void ToyDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "test/unit/passes/collective/ToyOps.cpp.inc"
      >();
}

std::optional<sluice::CollectiveKind> AllToAllStartOp::getKind() { return CollectiveKind::all_to_all; }

SmallVector<Type> AllToAllStartOp::getValueTypes() {
  const int64_t ranks = sluice::spmd::groupSize(sluice::spmd::meshOf(*this), getAxes());
  return llvm::map_to_vector(getOperands().getTypes(), [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[getFrom()] /= ranks;
    shape[getTo()] *= ranks;
    return RankedTensorType::get(shape, tensor.getElementType());
  });
}

RankedTensorType AllToAllStartOp::getSourceChunk(unsigned index) {
  return sluice::spmd::shardType(cast<RankedTensorType>(getOperands()[index].getType()), getFrom(), getAxes(),
                                 sluice::spmd::groupSize(sluice::spmd::meshOf(*this), getAxes()));
}

RankedTensorType AllToAllStartOp::getDestinationChunk(unsigned index) {
  return sluice::spmd::shardType(cast<RankedTensorType>(getValueTypes()[index]), getTo(), getAxes(),
                                 sluice::spmd::groupSize(sluice::spmd::meshOf(*this), getAxes()));
}

sluice::OpCost AllToAllStartOp::getCost() { return sluice::spmd::ringCost(*this); }
