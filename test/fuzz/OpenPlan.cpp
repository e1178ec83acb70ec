//===- OpenPlan.cpp - reads bytes as a plan, as every reader of plans does ----------------===//
#include "OpenPlan.h"

#include "runtime/base/Sha256.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"
#include "runtime/report/Describe.h"
#include "runtime/report/Memory.h"
#include "runtime/report/Printer.h"
#include "runtime/report/Schedule.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::fuzz {

bool sealBytes(std::vector<std::uint8_t> &bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (bytes.size() < 16 || !plan::VerifyPlanBuffer(verifier))
    return false;
  const auto *digest = plan::GetPlan(bytes.data())->digest();
  if (!digest || digest->size() != digestBytes)
    return false;
  std::uint8_t *at = bytes.data() + (digest->data() - bytes.data());
  std::fill_n(at, digestBytes, std::uint8_t(0));
  const Digest sum = sha256(bytes);
  std::copy(sum.begin(), sum.end(), at);
  return true;
}

/// All reports of sluice-plan on a plan that the checker accepted.
static std::string reportsOf(const plan::PlanT &plan) {
  return printPlan(plan) + dumpJson(describePlan(plan)) + describePlanText(plan) + memoryText(plan, true) +
         scheduleText(plan, true);
}

OpenedPlan openPlan(std::span<const std::uint8_t> bytes) {
  OpenedPlan opened;
  const auto claim = [&](bool holds, const char *text) {
    if (!holds && opened.problem.empty())
      opened.problem = text;
  };
  Result<PlanFile> file = parsePlan(bytes, "fuzz");
  if (!file.isOk()) {
    claim(file.status().code() == StatusCode::refused, "a plan that cannot be read is not refused");
    return opened;
  }
  opened.isParsed = true;
  CheckReport report;
  const Status status = checkPlan(file->plan, &report);
  opened.refused = report.refused();
  claim(status.isOk() == (opened.refused == 0), "the verdict is not that of the report");
  // Anything that is well-formed can be printed.
  if (report[1] == CheckReport::Outcome::proved)
    (void)printPlan(file->plan);
  if (!status.isOk()) {
    claim(status.code() == StatusCode::refused, "a refusal has a different status");
    return opened;
  }
  opened.isAccepted = true;
  // A plan is written in this version, which may demand what an older one does not have.
  if (file->plan.minor != planMinor)
    return opened;
  const std::vector<std::uint8_t> written = serializePlan(file->plan);
  claim(std::ranges::equal(written, bytes), "an accepted plan is written as different bytes");
  const Result<PlanFile> again = parsePlan(written, "again");
  claim(again.isOk() && checkPlan(again->plan).isOk(), "an accepted plan is refused after it is written");
  claim(again.isOk() && reportsOf(file->plan) == reportsOf(again->plan), "the reports differ after a plan is written");
  return opened;
}

} // namespace sluice::fuzz
