//===- Spaces.cpp - the memory space of a value -------------------------------------===//
#include "dialect/spmd/Spaces.h"

#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

bool sluice::spmd::isInHost(Value value) {
  while (auto section = value.getDefiningOp<SectionOp>())
    value = section.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), spaceName) != Attribute();
  }
  Operation *producer = value.getDefiningOp();
  if (auto wait = dyn_cast<WaitOp>(producer))
    return wait.getStart() && wait.getStart().getDestinationSpace() == MemorySpace::host;
  return streamOf(producer) == StreamKind::host;
}
