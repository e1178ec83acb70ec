//===- Attributes.h - discardable attributes of the model dialect ----------------------===//
//
// Their names, as ModelDialect.td declares them, and accessors for those that ops of later stages have too.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_ATTRIBUTES_H
#define SLUICE_DIALECT_MODEL_ATTRIBUTES_H

#include "dialect/model/Model.h"

namespace sluice::model {

// On the module.
inline constexpr llvm::StringLiteral nameName = ModelDialect::NameAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral configName = ModelDialect::ConfigAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral batchName = ModelDialect::BatchAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral sequenceName = ModelDialect::SequenceAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral recipeName = ModelDialect::RecipeAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral recipeOriginsName = ModelDialect::RecipeOriginsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral compiledToName = ModelDialect::CompiledToAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral sourceDigestName = ModelDialect::SourceDigestAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral unshardedName = ModelDialect::UnshardedAttrHelper::getNameStr();
// On functions.
inline constexpr llvm::StringLiteral entryName = ModelDialect::EntryAttrHelper::getNameStr();
// On arguments and results of entry points.
inline constexpr llvm::StringLiteral inputName = ModelDialect::InputAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral limitName = ModelDialect::LimitAttrHelper::getNameStr();
/// The values of an input that is a constant. The plan has their bytes and the host copies them in each step, so an
/// entry point has few; a larger constant is a frozen parameter.
inline constexpr std::int64_t mostConstantBytes = std::int64_t(1) << 20;
inline constexpr llvm::StringLiteral valuesName = ModelDialect::ValuesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral idName = ModelDialect::IdAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral outputName = ModelDialect::OutputAttrHelper::getNameStr();
// On ops.
inline constexpr llvm::StringLiteral blockName = ModelDialect::BlockAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral checkpointName = ModelDialect::CheckpointAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral phaseName = ModelDialect::PhaseAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral invocationName = ModelDialect::InvocationAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral idsName = ModelDialect::IdsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral recomputeName = ModelDialect::RecomputeAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral shardingRuleName = ModelDialect::ShardingRuleAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral costName = ModelDialect::CostAttrHelper::getNameStr();

/// Gives an op the attribute of another op, if that has it.
inline void copyAttribute(mlir::Operation *from, llvm::StringRef name, mlir::Operation *to) {
  if (mlir::Attribute value = from->getAttr(name))
    to->setAttr(name, value);
}

/// The kind of an entry point; nothing for another function.
inline std::optional<EntryKind> entryOf(mlir::Operation *function) {
  auto entry = function->getAttrOfType<EntryKindAttr>(entryName);
  return entry ? std::optional(entry.getValue()) : std::nullopt;
}

/// True if the op has this phase.
inline bool isOfPhase(mlir::Operation *op, Phase phase) {
  auto attribute = op->getAttrOfType<PhaseAttr>(phaseName);
  return attribute && attribute.getValue() == phase;
}

/// The op's phase; forward for an op without one.
inline Phase phaseOf(mlir::Operation *op) {
  auto phase = op->getAttrOfType<PhaseAttr>(phaseName);
  return phase ? phase.getValue() : Phase::forward;
}

inline void setPhase(mlir::Operation *op, Phase phase) {
  op->setAttr(phaseName, PhaseAttr::get(op->getContext(), phase));
}

/// The op's block path, outermost block first, separated by '/'; empty for an op outside blocks.
inline llvm::StringRef blockOf(mlir::Operation *op) {
  auto block = op->getAttrOfType<mlir::StringAttr>(blockName);
  return block ? block.getValue() : llvm::StringRef();
}

/// The outermost block of a path.
inline llvm::StringRef outermostBlock(llvm::StringRef path) { return path.split('/').first; }

/// Which invocation of its outermost block the op belongs to, from 0.
inline std::int64_t invocationOf(mlir::Operation *op) {
  auto invocation = op->getAttrOfType<mlir::IntegerAttr>(invocationName);
  return invocation ? invocation.getInt() : 0;
}

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_ATTRIBUTES_H
