//===- Ports.cpp - numbers into and out of an entry point's ports -----------------===//
#include "runtime/train/Ports.h"

#include <cstring>
#include <fmt/format.h>

namespace sluice {

template <typename T> static Status writeAll(Ranks &ranks, const plan::PortT &port, T value) {
  for (int rank = 0; rank < ranks.size(); ++rank)
    SLUICE_RETURN_IF_ERROR(
        ranks.write(rank, port.view->buffer, port.view->offset, std::as_bytes(std::span(&value, 1))));
  return Status::ok();
}

static Status unfit(const plan::EntryT &entry, const plan::PortT &port, std::string_view expected) {
  return refusedError(fmt::format("port '{}' of entry point '{}', expected {} but got {}", port.name, entry.name,
                                  expected, dtypeName(baseType(port.view->dtype))));
}

/// Converts the value to the port's dtype, a float or integer.
template <typename T>
static Status writeNumber(Ranks &ranks, const plan::EntryT &entry, std::string_view name, T value) {
  const plan::PortT *port = findInput(entry, name);
  if (!port)
    return Status::ok();
  switch (port->view->dtype) {
  case plan::DType::f32:
    return writeAll(ranks, *port, static_cast<float>(value));
  case plan::DType::f64:
    return writeAll(ranks, *port, static_cast<double>(value));
  case plan::DType::i32:
    return writeAll(ranks, *port, static_cast<std::int32_t>(value));
  case plan::DType::i64:
    return writeAll(ranks, *port, static_cast<std::int64_t>(value));
  default:
    return unfit(entry, *port, "f32, f64, i32 or i64");
  }
}

Status writeScalar(Ranks &ranks, const plan::EntryT &entry, std::string_view port, double value) {
  return writeNumber(ranks, entry, port, value);
}

Status writeScalar(Ranks &ranks, const plan::EntryT &entry, std::string_view port, std::int64_t value) {
  return writeNumber(ranks, entry, port, value);
}

template <typename T>
static Result<std::optional<double>> readAs(const Ranks &ranks, const plan::PortT &port, int rank) {
  T value{};
  SLUICE_RETURN_IF_ERROR(
      ranks.read(rank, port.view->buffer, port.view->offset, std::as_writable_bytes(std::span(&value, 1))));
  return std::optional<double>(static_cast<double>(value));
}

Result<std::optional<double>> readScalar(const Ranks &ranks, const plan::EntryT &entry, std::string_view name,
                                         int rank) {
  const plan::PortT *port = findOutput(entry, name);
  if (!port)
    return std::optional<double>();
  switch (port->view->dtype) {
  case plan::DType::f32:
    return readAs<float>(ranks, *port, rank);
  case plan::DType::f64:
    return readAs<double>(ranks, *port, rank);
  case plan::DType::u8:
    return readAs<std::uint8_t>(ranks, *port, rank);
  case plan::DType::i32:
    return readAs<std::int32_t>(ranks, *port, rank);
  default:
    return unfit(entry, *port, "f32, f64, i32 or u8");
  }
}

} // namespace sluice
