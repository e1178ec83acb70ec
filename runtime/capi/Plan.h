//===- Plan.h - a plan for a caller in C -------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CAPI_PLAN_H
#define SLUICE_RUNTIME_CAPI_PLAN_H

#include "runtime/plan/Reader.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::capi {

/// The bytes of a file and its content. Not changed after open(): any thread may read it.
struct OpenPlan {
  static Result<OpenPlan> open(const std::string &path);
  static Result<OpenPlan> parse(std::vector<std::uint8_t> bytes, const std::string &name);

  std::string name;
  std::vector<std::uint8_t> bytes;
  PlanFile file;
};

/// The text of a report of sluice_plan_report().
Result<std::string> planReport(const plan::PlanT &plan, std::string_view report);

} // namespace sluice::capi

#endif // SLUICE_RUNTIME_CAPI_PLAN_H
