//===- Reader.h - from bytes to a plan in memory -----------------------------------===//
//
// Reads untrusted files: size, identifier, version, FlatBuffers' verifier and digest are checked before anything is
// allocated, in proportion to the file. The checker (Checker.h) checks the meaning; callers run checkPlan before they
// use the result.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_READER_H
#define SLUICE_RUNTIME_PLAN_READER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct CheckReport;

struct PlanFile {
  plan::PlanT plan;
  /// 64 hexadecimal digits, computed from the bytes and equal to the digest in the file.
  std::string digest;
  std::uint64_t bytes = 0;
};

/// Reads a plan from a file. StatusCode::input if the file cannot be read, StatusCode::refused if it is not a valid
/// plan file of this version.
Result<PlanFile> readPlan(const std::string &path);

/// The same from memory; `name` is for messages.
Result<PlanFile> parsePlan(std::span<const std::uint8_t> bytes, std::string_view name);

/// The bytes that readPlan() reads, unverified.
Result<std::vector<std::uint8_t>> readPlanBytes(const std::string &path);
/// readPlan, then checkPlan; `report` may be null.
Result<PlanFile> readCheckedPlan(const std::string &path, CheckReport *report = nullptr);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_READER_H
