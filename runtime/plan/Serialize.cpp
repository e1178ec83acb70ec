//===- Serialize.cpp - from the plan in memory to bytes --------------------------===//
//
// See Serialize.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Serialize.h"

#include "runtime/kernel/catalogue.def"

#include <algorithm>

namespace sluice {
namespace {

/// The canonical bytes of a plan that carries a digest of the right length, with zeros for it, and where it stands.
std::vector<std::uint8_t> packWithoutDigest(const plan::PlanT &plan, std::size_t &digestAt) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  builder.Finish(plan::CreatePlan(builder, &plan), plan::PlanIdentifier());
  const std::uint8_t *begin = builder.GetBufferPointer();
  digestAt = plan::GetPlan(begin)->digest()->data() - begin;
  std::vector<std::uint8_t> bytes(begin, begin + builder.GetSize());
  std::fill_n(bytes.begin() + digestAt, digestBytes, std::uint8_t(0));
  return bytes;
}

} // namespace

std::uint32_t knownCatalogue() { return SLUICE_CATALOGUE_VERSION; }

std::vector<std::uint8_t> serializePlan(plan::PlanT &plan) {
  plan.major = planMajor;
  plan.minor = planMinor;
  plan.catalogue = knownCatalogue();
  plan.digest.resize(digestBytes);
  std::size_t digestAt = 0;
  std::vector<std::uint8_t> bytes = packWithoutDigest(plan, digestAt);
  const Digest digest = sha256(bytes);
  std::copy(digest.begin(), digest.end(), bytes.begin() + digestAt);
  plan.digest.assign(digest.begin(), digest.end());
  return bytes;
}

Digest canonicalDigest(const plan::PlanT &plan) {
  std::size_t digestAt = 0;
  return sha256(packWithoutDigest(plan, digestAt));
}

} // namespace sluice
