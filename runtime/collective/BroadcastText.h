//===- BroadcastText.h - a text from one rank to all ---------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_BROADCASTTEXT_H
#define SLUICE_RUNTIME_COLLECTIVE_BROADCASTTEXT_H

#include "runtime/collective/Communicator.h"

#include <string>

namespace sluice {

/// Bytes of a text at most: those of the index of a checkpoint, the longest that ranks exchange.
inline constexpr std::uint64_t maxBroadcastText = std::uint64_t(1) << 30;

/// Called on every member: replaces `text` by that of member `root`. A longer text than maxBroadcastText is an error on
/// every member. Memory is allocated for what has arrived, not for the length that `root` announces. `what` is for
/// errors.
Status broadcastText(Communicator &communicator, int root, std::string &text, std::string_view what);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_BROADCASTTEXT_H
