//===- OpenPlan.h - reads bytes as a plan, as every reader of plans does ------------------===//
//
// The steps of the runtime's loader and of sluice-plan, and what must be true of them for any bytes.
//
//===----------------------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_OPENPLAN_H
#define SLUICE_TEST_FUZZ_OPENPLAN_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::fuzz {

struct OpenedPlan {
  /// The bytes are a plan, which the checker has read; and the checker has accepted it.
  bool isParsed = false, isAccepted = false;
  /// The first property of a plan that the checker refused, 0 otherwise.
  int refused = 0;
  /// A claim that does not hold for these bytes; empty if all do. The status of a refusal is `refused` and the report
  /// has the property; an accepted plan is written as the same bytes, and these are accepted and have the same reports.
  std::string problem;
};

/// Parses and checks; where the checker accepts, also prints, describes and writes the plan.
OpenedPlan openPlan(std::span<const std::uint8_t> bytes);

/// Writes the digest that the bytes have; false if it cannot be found.
bool sealBytes(std::vector<std::uint8_t> &bytes);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_OPENPLAN_H
