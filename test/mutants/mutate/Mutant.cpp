//===- Mutant.cpp - the list of kinds; draws, changes and seals a copy -----------------===//
#include "test/mutants/mutate/Mutant.h"

#include "runtime/plan/Serialize.h"
#include "test/mutants/mutate/Mutation.h"

namespace sluice {

namespace {

/// Places that are drawn before a kind counts as impossible in a plan.
constexpr int attempts = 8;

} // namespace

const std::vector<MutantKind> &mutantKinds() {
  static const std::vector<MutantKind> all = [] {
    std::vector<MutantKind> kinds;
    for (auto family : {orderKinds, memoryKinds, reductionKinds, accumulationKinds, operandKinds, viewKinds,
                        updateKinds, stateKinds, initializationKinds, declarationKinds, programKinds})
      for (MutantKind &kind : family())
        kinds.push_back(std::move(kind));
    return kinds;
  }();
  return all;
}

std::optional<plan::PlanT> makeMutant(const plan::PlanT &plan, const MutantKind &kind, std::uint64_t seed) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    plan::PlanT mutant = plan;
    Mutation mutation(mutant, seed + std::uint64_t(attempt) * 0x9e3779b97f4a7c15);
    if (!kind.change(mutation))
      continue;
    // A digest or version that the change made wrong stays wrong.
    const Digest digest = canonicalDigest(mutant);
    if (std::equal(digest.begin(), digest.end(), plan.digest.begin()) && mutant.digest == plan.digest)
      continue;
    if (mutant.digest == plan.digest)
      mutant.digest.assign(digest.begin(), digest.end());
    return mutant;
  }
  return std::nullopt;
}

} // namespace sluice
