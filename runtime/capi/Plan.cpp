//===- Plan.cpp - a plan for a caller in C -----------------------------------------------===//
#include "runtime/capi/Plan.h"

#include "runtime/base/JsonOptions.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Checker.h"
#include "runtime/report/Explain.h"
#include "runtime/report/MemoryPage.h"
#include "runtime/report/commands/PlanCommand.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::capi {

Result<OpenPlan> OpenPlan::open(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::uint8_t> bytes, readPlanBytes(path));
  return parse(std::move(bytes), path);
}

Result<OpenPlan> OpenPlan::parse(std::vector<std::uint8_t> bytes, const std::string &name) {
  OpenPlan plan;
  SLUICE_ASSIGN_OR_RETURN(plan.file, parsePlan(bytes, name));
  plan.name = name;
  plan.bytes = std::move(bytes);
  return plan;
}

namespace {

Result<std::string> commandText(const plan::PlanT &plan, PlanCommand command) {
  command.json = true;
  PlanCommandResult result = runPlanCommand(plan, command);
  if (!result.status.isOk())
    return std::move(result.status);
  return std::move(result.text);
}

Result<std::string> explain(const plan::PlanT &plan) {
  SLUICE_RETURN_IF_ERROR(checkPlan(plan));
  SLUICE_ASSIGN_OR_RETURN(const std::uint32_t entry, entryIndex(plan, "train_step"));
  return explainPlan(plan, entry, /*name=*/"", /*json=*/true);
}

Result<std::string> page(const plan::PlanT &plan) {
  SLUICE_RETURN_IF_ERROR(checkPlan(plan));
  return memoryPage(memoryPageJson(plan, /*predictions=*/{}, /*machine=*/""));
}

struct Report {
  const char *name;
  Result<std::string> (*text)(const plan::PlanT &plan);
};

constexpr Report reports[] = {
    {"check", [](const plan::PlanT &plan) { return commandText(plan, {"check", {}}); }},
    {"describe", [](const plan::PlanT &plan) { return commandText(plan, {"describe", {}}); }},
    {"memory", [](const plan::PlanT &plan) { return commandText(plan, {"memory", {}}); }},
    {"schedule", [](const plan::PlanT &plan) { return commandText(plan, {"schedule", {}}); }},
    {"explain", explain},
    {"memory.html", page},
    {"account:fsdp1",
     [](const plan::PlanT &plan) { return commandText(plan, {.name = "memory", .files = {}, .account = "fsdp1"}); }},
    {"account:fsdp2",
     [](const plan::PlanT &plan) { return commandText(plan, {.name = "memory", .files = {}, .account = "fsdp2"}); }},
};

} // namespace

Result<std::string> planReport(const plan::PlanT &plan, std::string_view name) {
  const auto *found = std::ranges::find(reports, name, &Report::name);
  if (found != std::end(reports))
    return found->text(plan);
  return Status(StatusCode::usage, concat("report '", name, "' is unknown, expected one of ",
                                          join(reports, ", ", [](const Report &each) { return each.name; })));
}

} // namespace sluice::capi
