//===- Collectives.cpp - the interface of collectives and its defaults --------------------===//
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "dialect/spmd/CollectiveOpInterface.cpp.inc"

namespace sluice::spmd {

StreamKind defaultStream(CollectiveOpInterface op) {
  // Units are sharded over the ranks of experts as well.
  const bool hasUnit = !unitOf(op).empty();
  if (llvm::all_of(op.getAxes().getAsValueRange<StringAttr>(), [&](StringRef axis) {
        const std::optional<AxisRole> role = roleOf(op, axis);
        return role && dividesOps(*role) && !(hasUnit && addsGradients(*role));
      }))
    return StreamKind::tensor;
  return op.isReduction() ? StreamKind::reduce : StreamKind::gather;
}

std::optional<ReshardKind> defaultReshard(CollectiveOpInterface op) {
  if (op.isCopy())
    return std::nullopt;
  const bool fromChunks = op.getSourceChunk(0) != nullptr, toChunks = op.getDestinationChunk(0) != nullptr;
  if (op.isReduction())
    return fromChunks ? ReshardKind::reduce_to_shards : ReshardKind::reduce;
  return fromChunks ? ReshardKind::exchange : toChunks ? std::optional(ReshardKind::unshard) : std::nullopt;
}

bool areChunksSeparate(RankedTensorType chunk) {
  auto sharded = shardedDimOf(chunk);
  return sharded && sharded->dim != 0;
}

int64_t groupSizeOf(CollectiveOpInterface op) { return op.isCopy() ? 1 : groupSize(meshOf(op), op.getAxes()); }

OpCost ringCost(CollectiveOpInterface op) {
  OpCost cost;
  const int64_t ranks = op.getGroupSize();
  for (auto [index, operand] : llvm::enumerate(op->getOperandTypes())) {
    auto type = cast<RankedTensorType>(operand);
    const int64_t elementBytes = type.getElementTypeBitWidth() / 8;
    if (op.isCopy()) {
      cost.bytes += type.getNumElements() * elementBytes;
      continue;
    }
    RankedTensorType chunk = op.getSourceChunk(index);
    if (!chunk)
      chunk = op.getDestinationChunk(index);
    // A tensor without chunks is reduced by chunk, and then each chunk is sent to all other ranks.
    const int64_t share = chunk ? chunk.getNumElements() : llvm::divideCeil(type.getNumElements(), ranks);
    cost.bytes += share * elementBytes * (ranks - 1) * (chunk ? 1 : 2);
    if (op.isReduction())
      cost.flops += share * (ranks - 1);
  }
  return cost;
}

} // namespace sluice::spmd
