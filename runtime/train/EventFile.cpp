//===- EventFile.cpp - TensorBoard's event files -------------------------------------===//
#include "runtime/train/EventFile.h"
#include "runtime/base/File.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace sluice {
namespace {

// The bytes of integers and floats are copied as they are.
static_assert(std::endian::native == std::endian::little);

constexpr std::array<std::uint32_t, 256> crcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit)
      table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0x82f63b78u : 0);
  }
  return table;
}();

std::uint32_t maskedCrc(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes)
    crc = crcTable[(crc ^ static_cast<std::uint8_t>(byte)) & 255] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

template <typename T> std::string bytesOf(T value) { return {reinterpret_cast<const char *>(&value), sizeof value}; }

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7)
    text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

/// Wire types of protocol buffers.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string field(int number, Wire wire, const std::string &content) {
  std::string text = varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint8_t>(wire));
  if (wire == Wire::bytes)
    text += varint(content.size());
  return text + content;
}

/// Event.wall_time, which each event has.
std::string timeField() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return field(1, Wire::fixed64, bytesOf(now.count()));
}

} // namespace

Result<EventFile> EventFile::create(const std::string &folder) {
  if (folder.empty())
    return EventFile({}, {});
  SLUICE_RETURN_IF_ERROR(checkWritableFolder(folder));
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string path = fmt::format("{}/events.out.tfevents.{}.{}.{}", folder,
                                       std::chrono::duration_cast<std::chrono::seconds>(now).count(), host, getpid());
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!descriptor.isOpen())
    return writeError(path, errno);
  EventFile file(path, std::move(descriptor));
  // Event.file_version
  SLUICE_RETURN_IF_ERROR(file.writeRecord(timeField() + field(3, Wire::bytes, "brain.Event:2")));
  return file;
}

Status EventFile::write(std::uint64_t step, const Scalars &scalars) {
  if (!descriptor.isOpen())
    return {};
  // Summary.value, each with a tag and a simple_value.
  std::string summary;
  for (const auto &[name, value] : scalars)
    summary +=
        field(1, Wire::bytes,
              field(1, Wire::bytes, std::string(name)) + field(2, Wire::fixed32, bytesOf(static_cast<float>(value))));
  // Event.step and Event.summary.
  return writeRecord(timeField() + field(2, Wire::varint, varint(step)) + field(5, Wire::bytes, summary));
}

Status EventFile::writeRecord(const std::string &event) {
  const std::string length = bytesOf(static_cast<std::uint64_t>(event.size()));
  const std::string record = length + bytesOf(maskedCrc(length)) + event + bytesOf(maskedCrc(event));
  Status status = writeAll(descriptor, path, std::as_bytes(std::span(record)));
  if (!status.isOk())
    descriptor = Descriptor();
  return status;
}

} // namespace sluice
