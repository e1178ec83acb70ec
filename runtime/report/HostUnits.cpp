//===- HostUnits.cpp - units with tensors in host memory ---------------------------------------===//
#include "runtime/report/HostUnits.h"

#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

namespace sluice {

HostBytes hostBytesOf(const plan::PlanT &plan, const plan::UnitT &unit) {
  const auto bytesOf = [&](std::uint32_t index) {
    const plan::BufferT &buffer = *plan.buffers[index];
    return buffer.space == plan::Space::host ? buffer.bytes : 0;
  };
  HostBytes bytes;
  for (const std::uint32_t index : unit.parameters) {
    const plan::ParameterT &parameter = *plan.parameters[index];
    bytes.parameters += bytesOf(parameter.buffer);
    for (const auto &state : parameter.states)
      bytes.optimizer += bytesOf(state->buffer);
  }
  return bytes;
}

std::string hostBytesText(const HostBytes &bytes) {
  std::string out;
  for (const auto &[name, count] : {std::pair("parameters ", bytes.parameters), {"optimizer ", bytes.optimizer}})
    if (count > 0)
      out += concat(out.empty() ? "" : ", ", name, formatBytes(count));
  return out;
}

std::string hostUnitsText(const plan::PlanT &plan, std::size_t most) {
  std::string out;
  std::size_t count = 0;
  for (const auto &unit : plan.units)
    if (const HostBytes bytes = hostBytesOf(plan, *unit); bytes.any() && ++count <= most)
      out += concat("  ", padRight(unit->name, 18), " ", hostBytesText(bytes), "\n");
  if (count > most)
    out += concat("  and ", count - most, " more\n");
  return count == 0 ? "" : "units in host memory\n" + out;
}

Json hostUnitsJson(const plan::PlanT &plan) {
  Json list = Json::array();
  for (const auto &unit : plan.units)
    if (const HostBytes bytes = hostBytesOf(plan, *unit); bytes.any())
      list.push_back({{"unit", unit->name}, {"parameters", bytes.parameters}, {"optimizer", bytes.optimizer}});
  return list;
}

} // namespace sluice
