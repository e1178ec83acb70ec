//===- Ports.cpp - the ports of an entry point, and numbers into and out of them ---===//
#include "runtime/train/Ports.h"
#include "runtime/kernel/cpu/Numbers.h"

#include <array>
#include <fmt/format.h>
#include <type_traits>

namespace sluice {

static Status unfit(const plan::EntryT &entry, const plan::PortT &port, std::string_view expected) {
  return refusedError(fmt::format("port '{}' of entry point '{}', expected {} but got {}", port.name, entry.name,
                                  expected, dtypeName(baseType(port.view->dtype))));
}

/// Converts the value to the port's dtype, a float or integer.
template <typename T> static Status writeNumber(Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, T value) {
  const plan::PortT *port = findInput(entry, role);
  if (!port)
    return Status::ok();
  const DType dtype = baseType(port->view->dtype);
  if (dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::u8)
    return unfit(entry, *port, "f32, f64, i32 or i64");
  alignas(8) std::array<std::byte, 8> bytes;
  if constexpr (std::is_integral_v<T>)
    cpu::storeInteger(bytes.data(), dtype, 0, value);
  else
    cpu::storeNumber(bytes.data(), dtype, 0, value);
  for (int rank = 0; rank < ranks.size(); ++rank)
    SLUICE_RETURN_IF_ERROR(
        ranks.write(rank, port->view->buffer, port->view->offset, std::span(bytes).first(dtypeBytes(dtype))));
  return Status::ok();
}

Status writeScalar(Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, double value) {
  return writeNumber(ranks, entry, role, value);
}

Status writeScalar(Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, std::int64_t value) {
  return writeNumber(ranks, entry, role, value);
}

Result<std::optional<double>> readScalar(const Ranks &ranks, const plan::EntryT &entry, plan::PortRole role, int rank) {
  const plan::PortT *port = findOutput(entry, role);
  if (!port)
    return std::optional<double>();
  const DType dtype = baseType(port->view->dtype);
  if (dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::i64)
    return unfit(entry, *port, "f32, f64, i32 or u8");
  alignas(8) std::array<std::byte, 8> bytes;
  SLUICE_RETURN_IF_ERROR(
      ranks.read(rank, port->view->buffer, port->view->offset, std::span(bytes).first(dtypeBytes(dtype))));
  return std::optional(cpu::loadNumber(bytes.data(), dtype, 0));
}

} // namespace sluice
