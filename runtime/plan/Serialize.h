//===- Serialize.h - from the plan in memory to bytes ----------------------------===//
//
// A plan has one byte form: the same structure gives the same bytes, on any machine. The digest is in the file and
// covers all of it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_SERIALIZE_H
#define SLUICE_RUNTIME_PLAN_SERIALIZE_H

#include "runtime/base/Sha256.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Sets the versions that this build writes.
void setVersions(plan::PlanT &plan);

/// Sets the versions and the digest in `plan` and returns the file's bytes.
std::vector<std::uint8_t> serializePlan(plan::PlanT &plan);

/// The digest that the canonical bytes of this plan have. The plan carries versions and a digest, which may be wrong.
Digest canonicalDigest(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_SERIALIZE_H
