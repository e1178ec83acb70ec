//===- Roles.cpp - the roles that names imply ------------------------------------------------===//

#include "dialect/rules/Roles.h"

#include "dialect/rules/Roles.cpp.inc"

using namespace sluice;

std::optional<AxisRole> sluice::impliedAxisRole(llvm::StringRef name) {
  return symbolizeAxisRole(name.split('.').first);
}

llvm::StringRef sluice::nameOf(PortRole role) {
  switch (role) {
  case PortRole::learning_rate:
    return "lr";
  case PortRole::gradient_norm:
    return "grad_norm";
  default:
    return stringifyPortRole(role);
  }
}

PortRole sluice::impliedPortRole(PortDirection direction, llvm::StringRef name) {
  for (std::uint32_t value = 0; value <= getMaxEnumValForPortRole(); ++value)
    if (auto role = static_cast<PortRole>(value); nameOf(role) == name && role != PortRole::constant) {
      const bool isOutput = role >= PortRole::loss && role < PortRole::constant;
      return isOutput == (direction == PortDirection::output) ? role : PortRole::data;
    }
  return PortRole::data;
}

SectionKind sluice::impliedSectionKind(llvm::StringRef name) {
  return symbolizeSectionKind(name).value_or(SectionKind::forward);
}
