//===- BroadcastText.cpp - a text from one rank to all -------------------------------===//
#include "runtime/collective/BroadcastText.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice {

/// Bytes that are allocated at once.
static constexpr std::uint64_t partBytes = 1 << 20;

Status broadcastText(Communicator &communicator, int root, std::string &text, std::string_view what) {
  const auto broadcast = [&](void *bytes, std::uint64_t count) {
    const SegmentPointers segment{bytes, bytes, count};
    return communicator.broadcast({&segment, 1}, DType::u8, root, {0, what}, nullptr);
  };
  std::uint64_t bytes = text.size();
  SLUICE_RETURN_IF_ERROR(broadcast(&bytes, sizeof bytes));
  if (bytes > maxBroadcastText)
    return failedError(
        concat(what, " from member ", root, ", expected at most ", maxBroadcastText, " bytes but got ", bytes));
  if (communicator.rank() != root)
    text.clear();
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t count = std::min(partBytes, bytes - at);
    text.resize(std::max<std::uint64_t>(text.size(), at + count));
    SLUICE_RETURN_IF_ERROR(broadcast(text.data() + at, count));
    at += count;
  }
  return Status::ok();
}

} // namespace sluice
