//===- Handshake.cpp - the same plan on every rank --------------------------------===//
#include "runtime/executor/Handshake.h"
#include "runtime/base/Sha256.h"

#include <algorithm>

namespace sluice {
Status compareDigests(const plan::PlanT &plan, World &world, int rank) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, world.createForAll(rank, "handshake"));

  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::uint8_t> digests(ranks * digestBytes);
  std::uint8_t *own = digests.data() + static_cast<std::size_t>(rank) * digestBytes;
  std::copy_n(plan.digest.begin(), std::min(plan.digest.size(), digestBytes), own);
  const SegmentPointers segment{own, digests.data(), digestBytes};
  SLUICE_RETURN_IF_ERROR(communicator->allGather({&segment, 1}, DType::u8, {0, "digest"}, nullptr));

  const auto digestOf = [&](std::size_t r) { return std::span(digests).subspan(r * digestBytes, digestBytes); };
  std::string others;
  for (std::size_t r = 1; r < ranks; ++r)
    if (!std::ranges::equal(digestOf(r), digestOf(0)))
      others += (others.empty() ? "rank " : ", rank ") + std::to_string(r) + " has " + toHex(digestOf(r));
  if (others.empty())
    return {};
  return refusedError("digest of the plan, expected " + toHex(digestOf(0)) + " as on rank 0 but " + others);
}

} // namespace sluice
