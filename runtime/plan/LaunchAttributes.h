//===- LaunchAttributes.h - the attributes of a launch by name ---------------------===//
#ifndef SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H
#define SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Plan.h"

namespace sluice {

/// The attributes as the kernel catalogue takes them. The launch outlives the result, which refers to its names.
inline Attributes attributesOf(const plan::LaunchT &launch) {
  std::vector<Attributes::Item> items;
  items.reserve(launch.attributes.size());
  for (const auto &attribute : launch.attributes)
    items.push_back({attribute->name, attribute->integer, attribute->number, attribute->list});
  return Attributes(std::move(items));
}

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_LAUNCHATTRIBUTES_H
