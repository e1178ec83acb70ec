//===- Channel.cpp - one member's state of a channel ------------------------------===//
#include "runtime/collective/process/Channel.h"

#include <algorithm>
#include <cstring>

namespace sluice::process {
namespace {

class Writer {
public:
  explicit Writer(std::vector<std::byte> &out) : out(out) { out.clear(); }
  template <typename T> void put(T value) { bytes(&value, sizeof value); }
  void text(std::string_view value) {
    put(static_cast<std::uint32_t>(value.size()));
    bytes(value.data(), value.size());
  }

private:
  void bytes(const void *data, std::size_t count) {
    if (count == 0)
      return;
    out.resize(out.size() + count);
    std::memcpy(out.data() + out.size() - count, data, count);
  }
  std::vector<std::byte> &out;
};

class Reader {
public:
  explicit Reader(Part in) : in(in) {}
  template <typename T> T get() {
    T value{};
    if (!take(sizeof value))
      return value;
    std::memcpy(&value, in.data() + at - sizeof value, sizeof value);
    return value;
  }
  std::string text() {
    const auto count = get<std::uint32_t>();
    if (!take(count))
      return {};
    return {reinterpret_cast<const char *>(in.data()) + at - count, count};
  }
  std::size_t left() const { return in.size() - at; }
  bool isGood() const { return good; }

private:
  bool take(std::size_t count) {
    good = good && count <= left();
    if (good)
      at += count;
    return good;
  }
  Part in;
  std::size_t at = 0;
  bool good = true;
};

} // namespace

int Channel::memberOf(int worldRank) const {
  const auto found = std::ranges::lower_bound(members, worldRank);
  return found != members.end() && *found == worldRank ? static_cast<int>(found - members.begin()) : -1;
}

bool Channel::receiveCall(int member, Part payload) {
  std::deque<std::vector<std::byte>> &calls = inbound[static_cast<std::size_t>(member)].calls;
  if (calls.size() == mostQueuedCalls)
    return false;
  calls.emplace_back(payload.begin(), payload.end());
  return true;
}

bool Channel::receiveBlock(int member, Part payload) {
  Inbound &from = inbound[static_cast<std::size_t>(member)];
  const std::size_t slot = from.blocks % slotCount;
  if (from.blocks - from.reduced >= slotCount || !from.slots[slot] || payload.size() > blockBytes)
    return false;
  std::memcpy(from.slots[slot].get(), payload.data(), payload.size());
  from.slotBytes[slot] = static_cast<std::uint32_t>(payload.size());
  ++from.blocks;
  return true;
}

bool Channel::receiveResult(int member, Part payload) {
  Inbound &from = inbound[static_cast<std::size_t>(member)];
  if (payload.size() > from.remaining)
    return false;
  from.remaining -= payload.size();
  ++from.results;
  while (!payload.empty()) {
    const Destination &current = from.destinations[from.current];
    const std::uint64_t count = std::min<std::uint64_t>(payload.size(), current.bytes - from.filled);
    std::memcpy(current.to + from.filled, payload.data(), count);
    payload = payload.subspan(count);
    from.filled += count;
    if (from.filled == current.bytes) {
      ++from.current;
      from.filled = 0;
    }
  }
  return true;
}

void encodeCall(const Call &call, std::vector<std::byte> &out) {
  Writer writer(out);
  writer.put(static_cast<std::uint8_t>(call.kind));
  writer.put(static_cast<std::uint8_t>(call.dtype));
  writer.put(static_cast<std::uint8_t>(call.op));
  writer.put(call.scale);
  writer.put(static_cast<std::int32_t>(call.root));
  writer.put(call.label.instruction);
  writer.text(call.label.what);
  writer.put(static_cast<std::uint32_t>(call.segments.size()));
  for (const SegmentPointers &segment : call.segments)
    writer.put(segment.count);
}

bool decodeCall(Part bytes, DecodedCall &out) {
  Reader reader(bytes);
  const auto kind = reader.get<std::uint8_t>(), dtype = reader.get<std::uint8_t>(), op = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(CallKind::barrier) || dtype > static_cast<std::uint8_t>(DType::u8) ||
      op > static_cast<std::uint8_t>(Reduction::max))
    return false;
  out.call.kind = static_cast<CallKind>(kind);
  out.call.dtype = static_cast<DType>(dtype);
  out.call.op = static_cast<Reduction>(op);
  out.call.scale = reader.get<double>();
  out.call.root = reader.get<std::int32_t>();
  out.call.label.instruction = reader.get<std::uint32_t>();
  out.what = reader.text();
  out.call.label.what = out.what;
  const auto count = reader.get<std::uint32_t>();
  if (!reader.isGood() || reader.left() != count * sizeof(std::uint64_t))
    return false;
  out.segments.resize(count);
  for (SegmentPointers &segment : out.segments)
    segment.count = reader.get<std::uint64_t>();
  out.call.segments = out.segments;
  return true;
}

std::vector<std::byte> encodeStatus(const Status &status) {
  // Limits so that the status fits a frame.
  constexpr std::size_t longest = 16384, mostNotes = 8;
  std::vector<std::byte> out;
  Writer writer(out);
  writer.put(static_cast<std::int32_t>(status.code()));
  writer.text(std::string_view(status.message()).substr(0, longest));
  const std::size_t notes = std::min(status.notes().size(), mostNotes);
  writer.put(static_cast<std::uint32_t>(notes));
  for (std::size_t i = 0; i < notes; ++i)
    writer.text(std::string_view(status.notes()[i]).substr(0, longest));
  return out;
}

Status decodeStatus(Part bytes) {
  Reader reader(bytes);
  const auto code = reader.get<std::int32_t>();
  std::string message = reader.text();
  const auto notes = reader.get<std::uint32_t>();
  if (!reader.isGood() || code <= 0 || code > static_cast<int>(StatusCode::internal))
    return failedError("a different rank ended the run with a reason that cannot be read");
  Status status(static_cast<StatusCode>(code), std::move(message));
  for (std::uint32_t i = 0; i < notes && reader.isGood(); ++i)
    status.addNote(reader.text());
  return status;
}

} // namespace sluice::process
