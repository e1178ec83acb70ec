//===- Roles.h - roles of mesh axes and ports, and questions about them ----------------------===//
//
// A name implies a role, so that text stays short; code asks for the role and never compares names. A new role of axes
// is a case of AxisRole and an answer to each question below. The schema of plans has the same enums, and
// runtime/plan/Roles.h the questions that the runtime asks.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_ROLES_H
#define SLUICE_DIALECT_RULES_ROLES_H

#include "dialect/rules/Enums.h"

#include "mlir/IR/OpImplementation.h"

#include "dialect/rules/Roles.h.inc"

namespace sluice {

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The role of an axis or sub-axis (`shard.0`) by its name; nothing for another name.
std::optional<AxisRole> impliedAxisRole(llvm::StringRef name);

/// True where ranks have different rows of the data: a gradient is the mean over them.
constexpr bool dividesRows(AxisRole role) { return role == AxisRole::replicate || role == AxisRole::shard; }
/// True for a model-parallel axis: ranks divide ops, or the rows of one micro-batch, and add terms of gradients.
constexpr bool dividesOps(AxisRole role) { return role == AxisRole::tensor || role == AxisRole::expert; }
/// True where each rank has a shard of every parameter.
constexpr bool holdsShards(AxisRole role) { return role == AxisRole::shard; }
/// True where gradients of parameters that all ranks have are added.
constexpr bool addsGradients(AxisRole role) { return dividesRows(role) || role == AxisRole::expert; }

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

/// The role of a step input or output by its name; `data` for another name. No name implies a constant.
PortRole impliedPortRole(PortDirection direction, llvm::StringRef name);
/// The name that the compiler gives a port of the role.
llvm::StringRef nameOf(PortRole role);

/// True for an input that the host computes for each step, or takes from the plan; data fill the others.
constexpr bool isWrittenByHost(PortRole role) {
  return role == PortRole::learning_rate || role == PortRole::step || role == PortRole::seed || role == PortRole::row ||
         role == PortRole::loss_scale || role == PortRole::constant;
}
/// True for such an input that a model may declare. The compiler adds the others.
constexpr bool isDeclaredByModel(PortRole role) {
  return role == PortRole::step || role == PortRole::seed || role == PortRole::row || role == PortRole::constant;
}
/// True for an input that has one value on all ranks and in all micro-batches.
constexpr bool isEqualOnAllRanks(PortRole role) { return isWrittenByHost(role) && role != PortRole::row; }

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

/// The kind of a section by its name; `forward` for another name.
SectionKind impliedSectionKind(llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses `(role)`, or returns the role that the name before it implies.
template <typename Role>
mlir::FailureOr<Role> parseRole(mlir::AsmParser &parser, llvm::StringRef name, std::optional<Role> implied) {
  const llvm::SMLoc at = parser.getCurrentLocation();
  if (failed(parser.parseOptionalLParen())) {
    if (implied)
      return *implied;
    return parser.emitError(at) << "the name '" << name << "' implies no role; write it in parentheses after the name";
  }
  std::string word;
  if (parser.parseKeywordOrString(&word) || parser.parseRParen())
    return mlir::failure();
  if (std::optional<Role> role = symbolizeEnum<Role>(word))
    return *role;
  return parser.emitError(at) << "unknown role '" << word << "'";
}

/// Prints `(role)` where the name does not imply it.
template <typename Role> void printRole(mlir::AsmPrinter &printer, Role role, std::optional<Role> implied) {
  if (role != implied)
    printer << '(' << stringifyEnum(role) << ')';
}

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_ROLES_H
