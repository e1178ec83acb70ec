//===- SamePlan.cpp - P17: the same plan on every rank ---------------------------------------===//
//
// The versions of the schema and of the kernel catalogue are those of this program, and the digest in the plan is that
// of its canonical bytes, which are computed by packing the plan again. Ranks compare the digest when they start.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Serialize.h"

#include <algorithm>

namespace sluice::check {

Verdict sameEverywhere(const plan::PlanT &plan, Findings &findings) {
  findings[17].facts = 3;
  if (plan.major != planMajor)
    return refuse(17, concat("expected major version ", planMajor, " but got ", plan.major));
  if (plan.catalogue != catalogueVersion())
    return refuse(17,
                  concat("expected version ", catalogueVersion(), " of the kernel catalogue but got ", plan.catalogue));
  if (plan.digest.size() != digestBytes)
    return refuse(17, concat("expected a digest of ", digestBytes, " bytes but got ", plan.digest.size()));
  const Digest digest = canonicalDigest(plan);
  if (!std::equal(digest.begin(), digest.end(), plan.digest.begin()))
    return refuse(17, "expected digest " + toHex(digest) + " of its canonical bytes but it names " + digestText(plan));
  return {};
}

} // namespace sluice::check
