//===- Link.cpp - frames between the processes of a world ------------------------===//
#include "runtime/collective/process/Link.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace sluice::process {

std::uint64_t frameChecksum(FrameHeader header, std::span<const Part> payload) {
  header.checksum = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof header);
  for (const Part &part : payload)
    XXH3_64bits_update(&state, part.data(), part.size());
  return XXH3_64bits_digest(&state);
}

} // namespace sluice::process
