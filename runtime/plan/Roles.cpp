//===- Roles.cpp - ports by role, and the roles that names imply ------------------------------===//
#include "runtime/plan/Roles.h"

#include <algorithm>

namespace sluice {
namespace {

const plan::PortT *findPort(const std::vector<std::unique_ptr<plan::PortT>> &ports, plan::PortRole role) {
  const auto found = std::ranges::find(ports, role, [](const auto &port) { return port->role; });
  return found == ports.end() ? nullptr : found->get();
}

/// The enumerator with a name.
template <typename Enum, std::size_t N>
std::optional<Enum> enumerator(const Enum (&values)[N], const char *const *names, std::string_view name) {
  const auto *const found =
      std::ranges::find_if(values, [&](Enum value) { return name == names[static_cast<std::size_t>(value)]; });
  return found == std::end(values) ? std::nullopt : std::optional(*found);
}

} // namespace

const plan::PortT *findInput(const plan::EntryT &entry, plan::PortRole role) { return findPort(entry.inputs, role); }
const plan::PortT *findOutput(const plan::EntryT &entry, plan::PortRole role) { return findPort(entry.outputs, role); }

std::string_view nameOf(plan::PortRole role) {
  switch (role) {
  case plan::PortRole::learning_rate:
    return "lr";
  case plan::PortRole::gradient_norm:
    return "grad_norm";
  default:
    return plan::EnumNamePortRole(role);
  }
}

plan::PortRole impliedPortRole(std::string_view name) {
  for (plan::PortRole role : plan::EnumValuesPortRole())
    if (nameOf(role) == name && role != plan::PortRole::constant)
      return role;
  return plan::PortRole::data;
}

std::optional<plan::AxisRole> impliedAxisRole(std::string_view name) {
  return enumerator(plan::EnumValuesAxisRole(), plan::EnumNamesAxisRole(), axisBase(name));
}
std::optional<plan::StreamKind> impliedStreamKind(std::string_view name) {
  return enumerator(plan::EnumValuesStreamKind(), plan::EnumNamesStreamKind(), name);
}
std::optional<plan::SectionKind> impliedSectionKind(std::string_view name) {
  return enumerator(plan::EnumValuesSectionKind(), plan::EnumNamesSectionKind(), name);
}

} // namespace sluice
