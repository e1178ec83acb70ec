//===- Roles.h - questions about the roles of a plan's axes, ports, streams and sections -----===//
//
// Code asks these questions and never compares names: names are for people. The checker has its own copy
// (runtime/plan/check/Roles.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_ROLES_H
#define SLUICE_RUNTIME_PLAN_ROLES_H

#include "runtime/plan/Plan.h"

namespace sluice {

/// True where ranks along an axis have different rows of the data. Ranks along the other axes divide the work on the
/// same rows.
constexpr bool dividesRows(plan::AxisRole role) {
  return role == plan::AxisRole::replicate || role == plan::AxisRole::shard;
}

/// True for an input that the host computes for each step, or takes from the plan; data fill the others.
constexpr bool isWrittenByHost(plan::PortRole role) {
  using enum plan::PortRole;
  return role == learning_rate || role == step || role == seed || role == row || role == loss_scale || role == constant;
}

/// True for an input that has one value on all ranks and in all micro-batches.
constexpr bool isEqualOnAllRanks(plan::PortRole role) { return isWrittenByHost(role) && role != plan::PortRole::row; }

/// The port with a role, or null. An entry point has at most one of each role but `data` and `constant`.
const plan::PortT *findInput(const plan::EntryT &entry, plan::PortRole role);
const plan::PortT *findOutput(const plan::EntryT &entry, plan::PortRole role);

/// True for an entry point that updates parameters.
inline bool hasUpdate(const plan::EntryT &entry) { return findInput(entry, plan::PortRole::learning_rate) != nullptr; }

/// The name that the compiler gives a port of a role: "lr" for learning_rate.
std::string_view nameOf(plan::PortRole role);

/// The role that a name implies; a printer names only other roles. Sub-axes have the role of their axis. An unknown
/// name implies `data`, and no role of an axis, stream or section; none implies a constant.
plan::PortRole impliedPortRole(std::string_view name);
std::optional<plan::AxisRole> impliedAxisRole(std::string_view name);
std::optional<plan::StreamKind> impliedStreamKind(std::string_view name);
std::optional<plan::SectionKind> impliedSectionKind(std::string_view name);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_ROLES_H
