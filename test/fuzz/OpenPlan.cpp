//===- OpenPlan.cpp - reads bytes as a plan, as every reader of plans does ----------------===//
#include "OpenPlan.h"

#include "runtime/base/Sha256.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Printer.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Schedule.h"
#include "runtime/plan/Serialize.h"

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
  return dumpJson(describePlan(plan)) + describePlanText(plan) + memoryText(plan, true) + scheduleText(plan, true);
}

OpenedPlan openPlan(std::span<const std::uint8_t> bytes) {
  OpenedPlan opened;
  Result<PlanFile> file = parsePlan(bytes, "fuzz"), again = parsePlan(bytes, "fuzz");
  const auto claim = [&](bool holds, const char *text) {
    if (!holds && opened.problem.empty())
      opened.problem = text;
  };
  claim(file.isOk() == again.isOk() && file.status().message() == again.status().message(),
        "the bytes are read differently the second time");
  if (!file.isOk()) {
    claim(file.status().code() == StatusCode::refused, "a plan that cannot be read is not refused");
    return opened;
  }
  opened.isParsed = true;
  CheckReport report, second;
  const Status status = checkPlan(file->plan, &report);
  claim(status.message() == checkPlan(again->plan, &second).message() && report.outcomes == second.outcomes,
        "the plan is checked differently the second time");
  // Anything that is well-formed can be printed.
  if (report[1] == CheckReport::Outcome::proved)
    claim(printPlan(file->plan) == printPlan(again->plan), "the plan is printed differently the second time");
  if (!status.isOk()) {
    const auto refused = std::ranges::find(report.outcomes, CheckReport::Outcome::refused);
    claim(refused != report.outcomes.end(), "the check fails without a refused property");
    opened.refused = int(refused - report.outcomes.begin()) + 1;
    claim(status.code() == StatusCode::refused, "a refusal has a different status");
    return opened;
  }
  opened.isAccepted = true;
  claim(std::ranges::find(report.outcomes, CheckReport::Outcome::refused) == report.outcomes.end(),
        "an accepted plan has a refused property");
  claim(std::ranges::equal(serializePlan(again->plan), bytes), "an accepted plan is written as different bytes");
  claim(reportsOf(file->plan) == reportsOf(again->plan),
        "an accepted plan is reported differently after it is written");
  return opened;
}

} // namespace sluice::fuzz
