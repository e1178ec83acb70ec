//===- Names.h - discardable attributes of the spmd dialect ------------------------===//
//
// Their names, as SpmdDialect.td declares them, and accessors.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_NAMES_H
#define SLUICE_DIALECT_SPMD_NAMES_H

#include "dialect/spmd/Spmd.h"

namespace sluice::spmd {

inline constexpr llvm::StringLiteral parameterName = SpmdDialect::ParameterAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral stateName = SpmdDialect::StateAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral inputName = SpmdDialect::InputAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral perRepetitionName = SpmdDialect::PerRepetitionAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral spaceName = SpmdDialect::SpaceAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral donatesName = SpmdDialect::DonatesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral outputName = SpmdDialect::OutputAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral whenName = SpmdDialect::WhenAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral streamName = SpmdDialect::StreamAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral unshardName = SpmdDialect::UnshardAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral shardingName = SpmdDialect::ShardingAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral shardingsName = SpmdDialect::ShardingsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral operandShardingsName = SpmdDialect::OperandShardingsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral localShardingsName = SpmdDialect::LocalShardingsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral localAxesName = SpmdDialect::LocalAxesAttrHelper::getNameStr();

/// The name that recipes give the unit of the parameters that no block has. Code asks for UnitOp::getRoot.
inline constexpr llvm::StringLiteral rootUnit = "root";

/// The repetitions in which an op of a section is issued.
inline When whenOf(mlir::Operation *op) {
  auto when = op->getAttrOfType<WhenAttr>(whenName);
  return when ? when.getValue() : When();
}

/// An op without the attribute is issued in all repetitions.
inline void setWhen(mlir::Operation *op, When when) {
  if (when.isAll())
    op->removeAttr(whenName);
  else
    op->setAttr(whenName, WhenAttr::get(op->getContext(), when));
}

/// The stream that executes an op; nothing for the compute stream.
inline std::optional<StreamKind> streamOf(mlir::Operation *op) {
  auto stream = op->getAttrOfType<StreamKindAttr>(streamName);
  return stream ? std::optional(stream.getValue()) : std::nullopt;
}

inline void setStream(mlir::Operation *op, StreamKind stream) {
  op->setAttr(streamName, StreamKindAttr::get(op->getContext(), stream));
}

/// True for an argument in host memory, a value copied there, a result of an op on the stream `host`, and a section's
/// result that is any of these. The memory space is not part of the type.
bool isInHost(mlir::Value value);

/// The unit that a collective or release names; empty without one.
inline llvm::StringRef unitOf(mlir::Operation *op) {
  auto unit = op->getAttrOfType<mlir::StringAttr>("unit");
  return unit ? unit.getValue() : llvm::StringRef();
}

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_NAMES_H
