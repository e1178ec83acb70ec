//===- Roles.h - the checker's copy of the questions about roles -----------------------------===//
//
// Separate from runtime/plan/Roles.h, which the compiler and the runtime use: an error in one of them is found by the
// other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_ROLES_H
#define SLUICE_RUNTIME_PLAN_CHECK_ROLES_H

#include "runtime/plan/Plan.h"

#include <string_view>

namespace sluice::check {

/// The entry point that computes the initial values. No function of the unsharded program has this name.
inline constexpr const char *initName = "init";

/// True for an input that has one value on all ranks and in all micro-batches of a step.
constexpr bool isOfStep(plan::PortRole role) {
  switch (role) {
  case plan::PortRole::learning_rate:
  case plan::PortRole::loss_scale:
  case plan::PortRole::step:
  case plan::PortRole::seed:
  case plan::PortRole::constant:
    return true;
  default:
    return false;
  }
}

/// True for an input that is an integer of the step: i64.
constexpr bool isInteger(plan::PortRole role) { return role == plan::PortRole::step || role == plan::PortRole::seed; }

/// True where an input may have the role; `isInput` is false for outputs.
constexpr bool fits(plan::PortRole role, bool isInput) {
  switch (role) {
  case plan::PortRole::data:
    return true;
  case plan::PortRole::loss:
  case plan::PortRole::rank_loss:
  case plan::PortRole::gradient_norm:
  case plan::PortRole::guard:
  case plan::PortRole::logits:
  case plan::PortRole::counted:
    return !isInput;
  default:
    return isInput;
  }
}

/// True where several ports of an entry point may have the role.
constexpr bool isShared(plan::PortRole role) {
  return role == plan::PortRole::data || role == plan::PortRole::constant;
}

/// The role of an output with this name, which is one of the unsharded program (P15).
inline plan::PortRole roleOfOutput(std::string_view name) {
  using plan::PortRole;
  for (PortRole role : plan::EnumValuesPortRole())
    if (name == (role == PortRole::gradient_norm ? "grad_norm" : plan::EnumNamePortRole(role)) && !fits(role, true))
      return role;
  return PortRole::data;
}

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_ROLES_H
