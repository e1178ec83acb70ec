//===- Serialize.cpp - from the plan in memory to bytes --------------------------===//
//
// See Serialize.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Serialize.h"

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/PlanWriter.h"

namespace sluice {
namespace {

/// The canonical bytes of the plan, versions included.
PlanBytes pack(const plan::PlanT &plan) {
  std::size_t instructions = 0;
  for (const auto &entry : plan.entries)
    instructions += instructionCount(*entry);
  // An instruction has about a kilobyte; pages are taken only when they are written.
  PlanWriter writer((std::size_t(1) << 20) + instructions * 1024);
  for (const auto &entry : plan.entries) {
    for (const auto &section : entry->sections) {
      for (const auto &instruction : section->instructions)
        writer.addInstruction(*instruction);
      writer.endSection(*section);
    }
    writer.endEntry(*entry);
  }
  return writer.finish(plan);
}

} // namespace

void setVersions(plan::PlanT &plan) {
  plan.major = planMajor;
  plan.minor = planMinor;
  plan.catalogue = catalogueVersion();
}

std::vector<std::uint8_t> serializePlan(plan::PlanT &plan) {
  setVersions(plan);
  const PlanBytes bytes = pack(plan);
  const Digest digest = bytes.digest();
  plan.digest.assign(digest.begin(), digest.end());
  return {bytes.span().begin(), bytes.span().end()};
}

Digest canonicalDigest(const plan::PlanT &plan) { return pack(plan).digest(); }

} // namespace sluice
