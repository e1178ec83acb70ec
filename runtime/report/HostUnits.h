//===- HostUnits.h - units with tensors in host memory -----------------------------------------===//
//
// The units whose parameters or optimizer states are in host memory between steps, for sluice-plan explain.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_HOSTUNITS_H
#define SLUICE_RUNTIME_REPORT_HOSTUNITS_H

#include "runtime/report/Describe.h"

#include <cstdint>
#include <string>

namespace sluice {

/// Bytes of a unit's shards and optimizer states in host memory.
struct HostBytes {
  std::uint64_t parameters = 0, optimizer = 0;
  bool any() const { return parameters + optimizer > 0; }
};
HostBytes hostBytesOf(const plan::PlanT &plan, const plan::UnitT &unit);

/// "optimizer 12.00 KiB", the bytes that are not zero.
std::string hostBytesText(const HostBytes &bytes);

/// A line for each unit with such bytes, at most `most` of them; empty if there are none.
std::string hostUnitsText(const plan::PlanT &plan, std::size_t most);

Json hostUnitsJson(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_HOSTUNITS_H
