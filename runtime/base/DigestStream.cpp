//===- DigestStream.cpp - a digest that finds damage ------------------------------===//
#include "runtime/base/DigestStream.h"

#include "runtime/base/Sha256.h"

#include <xxhash.h>

namespace sluice {

static XXH3_state_t *stateOf(void *state) { return static_cast<XXH3_state_t *>(state); }

void DigestStream::Free::operator()(void *state) const { XXH3_freeState(stateOf(state)); }

DigestStream::DigestStream() : state(XXH3_createState()) { XXH3_128bits_reset(stateOf(state.get())); }

void DigestStream::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(stateOf(state.get()), bytes.data(), bytes.size());
}

std::string DigestStream::text() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(stateOf(state.get())));
  return toHex(bytes.digest);
}

std::string digestOf(std::string_view text) {
  DigestStream digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.text();
}

} // namespace sluice
