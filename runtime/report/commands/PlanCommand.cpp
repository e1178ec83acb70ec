//===- PlanCommand.cpp - the subcommands of sluice-plan that print a plan ---------------===//
#include "runtime/report/commands/PlanCommand.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Reader.h"
#include "runtime/report/CheckOutput.h"
#include "runtime/report/Describe.h"
#include "runtime/report/Diff.h"
#include "runtime/report/Memory.h"
#include "runtime/report/Printer.h"
#include "runtime/report/Schedule.h"
#include "runtime/report/accounts/EagerAccount.h"
#include "runtime/report/machine/MachineFile.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

std::string jsonText(const Json &json) { return dumpJson(json, 2) + "\n"; }

PlanCommandResult runCheck(const plan::PlanT &plan, bool asJson) {
  PlanCommandResult result;
  CheckReport report;
  result.status = checkPlan(plan, &report);
  if (!asJson) {
    result.text = checkText(report);
    return result;
  }
  Json json = {{"digest", digestText(plan)}, {"sound", result.status.isOk()}};
  json.update(checkJson(report));
  if (!result.status.isOk())
    json["refusal"] = {{"message", result.status.message()}, {"notes", result.status.notes()}};
  result.text = jsonText(json);
  return result;
}

PlanCommandResult runMemory(const plan::PlanT &plan, const PlanCommand &command) {
  PlanCommandResult result;
  if (!command.account.empty()) {
    Result<EagerAccount> account = command.account == "fsdp2"
                                       ? accountFsdp2(plan, {.hasLossInModel = command.hasLossInModel})
                                       : accountFsdp1(plan);
    if (!account.isOk())
      return {{}, account.takeStatus()};
    return {command.json ? jsonText(accountJson(*account)) : accountText(*account), {}};
  }
  if (command.at && command.json) {
    Result<Json> json = memoryAtJson(plan, *command.at);
    return json.isOk() ? PlanCommandResult{jsonText(*json), {}} : PlanCommandResult{{}, json.takeStatus()};
  }
  if (command.at) {
    Result<std::string> text = memoryAtText(plan, *command.at);
    return text.isOk() ? PlanCommandResult{*text, {}} : PlanCommandResult{{}, text.takeStatus()};
  }
  Json json = command.json ? memoryJson(plan, command.checkpoint) : Json();
  result.text = command.json ? "" : memoryText(plan, command.isTerminal, command.checkpoint);
  if (!command.machine.empty()) {
    Result<Machine> machine = readMachine(command.machine);
    Result<DeviceShare> share =
        machine.isOk() ? deviceShare(plan, *machine) : Result<DeviceShare>(machine.takeStatus());
    if (!share.isOk())
      return {{}, share.takeStatus()};
    if (command.json)
      json["machine"] = machineJson(*machine, *share);
    else
      result.text += "\n" + machineText(*machine, *share);
  }
  if (command.json)
    result.text = jsonText(json);
  return result;
}

PlanCommandResult runDiff(const PlanCommand &command) {
  std::vector<plan::PlanT> plans;
  for (const std::string &path : command.files) {
    Result<PlanFile> file = readCheckedPlan(path);
    if (!file.isOk())
      return {{}, file.takeStatus()};
    plans.push_back(std::move(file->plan));
  }
  const PlanDifference difference = diffPlans(plans[0], plans[1]);
  return {command.json ? jsonText(difference.toJson()) : difference.toText(), {}, difference.same() ? 0 : 1};
}

} // namespace

PlanCommandResult runPlanCommand(const PlanCommand &command) {
  if (command.name == "diff")
    return runDiff(command);
  Result<PlanFile> file = readPlan(command.files[0]);
  return file.isOk() ? runPlanCommand(file->plan, command) : PlanCommandResult{{}, file.takeStatus()};
}

PlanCommandResult runPlanCommand(const plan::PlanT &plan, const PlanCommand &command) {
  PlanCommandResult result;
  if (command.name == "check")
    return runCheck(plan, command.json);
  CheckReport report;
  result.status = checkPlan(plan, &report);
  // A well-formed plan can be printed, so that a refusal can be understood.
  const bool printable = report[1] == CheckReport::Outcome::proved;
  if (!result.status.isOk() && !(command.name == "print" && printable))
    return result;
  // Reports that list repetitions are limited.
  Status listable;
  if (command.name == "describe" && command.json)
    listable = checkListable(plan, "events and collectives", isListed);
  else if (command.name == "schedule")
    listable = checkListable(plan, "instructions of work", isScheduled);
  if (!listable.isOk())
    return {{}, std::move(listable)};
  if (command.name == "describe")
    result.text = command.json ? jsonText(describePlan(plan)) : describePlanText(plan);
  else if (command.name == "print")
    result.text = command.json ? jsonText({{"text", printPlan(plan)}}) : printPlan(plan);
  else if (command.name == "memory")
    result = runMemory(plan, command);
  else if (command.name == "schedule")
    result.text = command.json ? jsonText(scheduleJson(plan)) : scheduleText(plan, command.isTerminal);
  return result;
}

} // namespace sluice
