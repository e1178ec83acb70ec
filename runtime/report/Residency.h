//===- Residency.h - why buffers of a plan are in memory ---------------------------------------===//
//
// Facts about one entry point and the device space, which sluice-plan explain prints: where buffers are written and
// read, when units are gathered, what recompute regions keep and repeat.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_RESIDENCY_H
#define SLUICE_RUNTIME_REPORT_RESIDENCY_H

#include "runtime/plan/Profile.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Instructions that access a buffer; nullopt: none does.
struct Accesses {
  std::optional<std::uint32_t> firstWrite, lastRead;
};
/// By buffer, in one entry point.
std::vector<Accesses> accessesOf(const plan::PlanT &plan, std::uint32_t entry);

/// The instructions [begin, end) in which a unit is gathered, from the issue of the gather to the release.
struct GatheredInterval {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
};
/// By unit, in order of begin. Buffers of class `gathered` whose lifespans touch are one interval, with the most bytes
/// that are live at once.
std::vector<std::vector<GatheredInterval>> gatheredIntervals(const plan::PlanT &plan, std::uint32_t entry);

/// Consecutive recomputed launches of one unit.
struct RecomputeRegion {
  std::int32_t unit = -1;
  /// Instructions [begin, end) from the first to the last recomputed launch, and the end of the last lifespan of its
  /// results.
  std::uint32_t begin = 0, end = 0, resultsEnd = 0;
  std::uint32_t launches = 0;
  /// Buffers that it writes, and their bytes.
  std::vector<std::uint32_t> results;
  std::uint64_t resultBytes = 0;
  /// Buffers that it reads which an earlier phase wrote: kept from the forward pass for it.
  std::vector<std::uint32_t> kept;
  std::uint64_t keptBytes = 0;
  /// Bytes of results and kept buffers that are live at the peak of the entry point.
  std::uint64_t resultBytesAtPeak = 0, keptBytesAtPeak = 0;
  /// Why the region frees nothing at the peak; empty if it does.
  std::string reason;
};
/// `peak` is the instruction of the peak of the entry point.
std::vector<RecomputeRegion> recomputeRegions(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t peak);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_RESIDENCY_H
