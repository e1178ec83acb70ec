//===- LaunchAttributes.h - the attributes of a launch by name ---------------------===//
#ifndef SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H
#define SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Plan.h"

namespace sluice {

/// The fields of a plan's attribute, of which `kind` is the index.
inline constexpr AttributeKind storedKinds[] = {AttributeKind::integer, AttributeKind::number, AttributeKind::list};

/// The attributes as the kernel catalogue takes them: of each only the field of its kind. Kernels, numbers of operands,
/// the checker and the proof read attributes only through this function. The launch outlives the result, which refers
/// to its names.
inline Attributes attributesOf(const plan::LaunchT &launch) {
  std::vector<Attributes::Item> items;
  items.reserve(launch.attributes.size());
  for (const auto &attribute : launch.attributes) {
    Attributes::Item &item = items.emplace_back(attribute->name);
    if (attribute->kind == 0)
      item.integer = attribute->integer;
    else if (attribute->kind == 1)
      item.number = attribute->number;
    else
      item.list = attribute->list;
  }
  return Attributes(std::move(items));
}

/// A number of an op, which may be an integer.
inline double storedNumber(const plan::AttributeT &attribute) {
  return attribute.kind == 0 ? double(attribute.integer) : attribute.number;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H
