//===- Names.h - attributes of spmd IR that no op declares -------------------------===//
//
// Names of the discardable attributes that compute ops, functions and collectives carry, and what they say: the phase
// of an op and the outermost block that it belongs to.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_NAMES_H
#define SLUICE_DIALECT_SPMD_NAMES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace sluice::spmd {

/// On functions: "train" or "forward" (also "init", the entry point that makes the initial weights).
inline constexpr llvm::StringLiteral entryName = "model.entry";
/// On arguments: the parameter whose shard it is, and the state beside it.
inline constexpr llvm::StringLiteral parameterName = "spmd.parameter";
inline constexpr llvm::StringLiteral stateName = "spmd.state";
/// On arguments: the name of a host input, and whether each repetition has its own.
inline constexpr llvm::StringLiteral inputName = "spmd.input";
inline constexpr llvm::StringLiteral perRepetitionName = "spmd.per_repetition";
/// On arguments that lie in host memory: "host".
inline constexpr llvm::StringLiteral spaceName = "spmd.space";
/// On ops that run elsewhere than on the compute stream: "host", by the host on host memory; "gather", before a gather.
inline constexpr llvm::StringLiteral streamName = "spmd.stream";
inline constexpr llvm::StringLiteral hostStream = "host";
inline constexpr llvm::StringLiteral gatherStream = "gather";
/// On results: the argument whose memory the result takes over; the name of a host output.
inline constexpr llvm::StringLiteral donatesName = "spmd.donates";
inline constexpr llvm::StringLiteral outputName = "spmd.output";
/// On ops of sections: in which repetitions they are issued (dialect/rules/When.h).
inline constexpr llvm::StringLiteral whenName = "spmd.when";
/// On ops: forward, loss, backward, update; path of the block; value numbers; made by recompute.
inline constexpr llvm::StringLiteral phaseName = "model.phase";
inline constexpr llvm::StringLiteral blockName = "model.block";
inline constexpr llvm::StringLiteral idsName = "model.ids";
inline constexpr llvm::StringLiteral recomputeName = "model.recompute";
/// On ops whose kernels ask where their part lies: the valid extent of each operand and result, or unit.
inline constexpr llvm::StringLiteral placesName = "spmd.places";
/// Which time the model runs the op's outermost block, from 0; absent: the first.
inline constexpr llvm::StringLiteral passName = "model.pass";
/// On a reduction that the author wrote: blocks whose units are gathered while it is under way.
inline constexpr llvm::StringLiteral unshardName = "spmd.unshard";

/// The unit of what no block holds.
inline constexpr llvm::StringLiteral rootUnit = "root";

/// The op's phase; "forward" where it says none.
inline llvm::StringRef phaseOf(mlir::Operation *op) {
  auto phase = op->getAttrOfType<mlir::StringAttr>(phaseName);
  return phase ? phase.getValue() : llvm::StringRef("forward");
}

/// The op's block path, outermost block first, separated by '/'; empty for what no block holds.
inline llvm::StringRef blockOf(mlir::Operation *op) {
  auto block = op->getAttrOfType<mlir::StringAttr>(blockName);
  return block ? block.getValue() : llvm::StringRef();
}

/// The outermost block of a path.
inline llvm::StringRef outermostBlock(llvm::StringRef path) { return path.split('/').first; }

/// The stream that runs an op; empty: compute.
inline llvm::StringRef streamOf(mlir::Operation *op) {
  auto stream = op->getAttrOfType<mlir::StringAttr>(streamName);
  return stream ? stream.getValue() : llvm::StringRef();
}

/// The unit that a collective or release names; empty without one.
inline llvm::StringRef unitOf(mlir::Operation *op) {
  auto unit = op->getAttrOfType<mlir::StringAttr>("unit");
  return unit ? unit.getValue() : llvm::StringRef();
}

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_NAMES_H
