//===- Commands.cpp - the subcommands of sluice-plan -----------------------------------===//
//
// See Commands.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Commands.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Diff.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/MachineFile.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Printer.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Schedule.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr PlanSubcommand subcommands[] = {
    {"describe", "what the plan holds: mesh, units, events, collectives, memory", 1, 1},
    {"print", "the whole plan, one line an instruction", 1, 1},
    {"check", "prove the plan's properties; exit code 4 where one is refused", 1, 1},
    {"memory", "bytes by class and tensors live at the peak, and a picture of the step", 1, 1},
    {"schedule", "a picture of what each stream does when", 1, 1},
    {"diff", "what differs between two plans; exit code 1 where anything does", 2, 2},
    {"explain", "why a unit or parameter is where it is (FILE NAME); needs the decision log", 1, 2},
    {"simulate", "predicted time of a step; needs a description of the machine", 1, 1},
    {"pack", "place buffers again with another solver; needs the solver's text form", 1, 1},
};

std::string jsonText(const Json &json) { return dumpJson(json, 2) + "\n"; }

PlanAnswer checkAnswer(const std::string &path, bool asJson) {
  PlanAnswer answer;
  Result<PlanFile> file = readPlan(path);
  if (!file.isOk()) {
    answer.status = file.takeStatus();
    return answer;
  }
  CheckReport report;
  answer.status = checkPlan(file->plan, &report);
  if (asJson) {
    Json properties = Json::array();
    for (const auto &property : report.properties)
      properties.push_back({{"property", "P" + std::to_string(property.number)},
                            {"title", propertyTitle(property.number)},
                            {"outcome", outcomeName(property.outcome)}});
    Json json = {{"digest", file->digest}, {"sound", answer.status.isOk()}, {"properties", properties}};
    if (!answer.status.isOk())
      json["refusal"] = {{"message", answer.status.message()}, {"notes", answer.status.notes()}};
    answer.text = jsonText(json);
    return answer;
  }
  for (const auto &property : report.properties)
    answer.text += padRight("P" + std::to_string(property.number), 4) +
                   padRight(propertyTitle(property.number), 52) + std::string(outcomeName(property.outcome)) + "\n";
  return answer;
}

PlanAnswer memoryAnswer(const plan::PlanT &plan, const PlanCommand &command) {
  PlanAnswer answer;
  Json json = command.json ? memoryJson(plan) : Json();
  answer.text = command.json ? "" : memoryText(plan, command.isTerminal);
  if (!command.machine.empty()) {
    Result<Machine> machine = readMachine(command.machine);
    Result<DeviceShare> share = machine.isOk() ? deviceShare(plan, *machine) : Result<DeviceShare>(machine.takeStatus());
    if (!share.isOk()) {
      answer.text.clear();
      answer.status = share.takeStatus();
      return answer;
    }
    if (command.json)
      json["machine"] = machineJson(*machine, *share);
    else
      answer.text += "\n" + machineText(*machine, *share);
  }
  if (command.json)
    answer.text = jsonText(json);
  return answer;
}

PlanAnswer diffAnswer(const PlanCommand &command) {
  PlanAnswer answer;
  Result<PlanFile> first = readCheckedPlan(command.files[0]);
  if (!first.isOk()) {
    answer.status = first.takeStatus();
    return answer;
  }
  Result<PlanFile> second = readCheckedPlan(command.files[1]);
  if (!second.isOk()) {
    answer.status = second.takeStatus();
    return answer;
  }
  const PlanDifference difference = diffPlans(first->plan, second->plan);
  answer.exitCode = difference.same() ? 0 : 1;
  answer.text = command.json ? jsonText(difference.toJson()) : difference.toText();
  return answer;
}

std::string missing(const std::string &name) {
  if (name == "explain")
    return "a log of the compiler's decisions, which plans of this version do not carry";
  if (name == "simulate")
    return "a description of a machine, which this version does not have";
  return "the placement problem in its text form, which this version does not read";
}

} // namespace

std::span<const PlanSubcommand> planSubcommands() { return subcommands; }

PlanAnswer runPlanCommand(const PlanCommand &command) {
  PlanAnswer answer;
  if (command.name == "check")
    return checkAnswer(command.files[0], command.json);
  if (command.name == "diff")
    return diffAnswer(command);
  if (command.name == "explain" || command.name == "simulate" || command.name == "pack") {
    answer.status = Status(StatusCode::usage, "sluice-plan " + command.name + " needs " + missing(command.name));
    return answer;
  }
  Result<PlanFile> file = readPlan(command.files[0]);
  if (!file.isOk()) {
    answer.status = file.takeStatus();
    return answer;
  }
  const plan::PlanT &plan = file->plan;
  CheckReport report;
  answer.status = checkPlan(plan, &report);
  // A plan that is well-formed can be printed, so that a refusal can be understood.
  const bool printable = report.property(1).outcome == CheckReport::Outcome::proved;
  if (!answer.status.isOk() && !(command.name == "print" && printable))
    return answer;
  // A step may repeat more than anyone could read, or this process hold.
  Status listable;
  if (command.name == "describe" && command.json)
    listable = checkListable(plan, "events and collectives", isListed);
  else if (command.name == "schedule")
    listable = checkListable(plan, "pieces of work", isScheduled);
  if (!listable.isOk()) {
    answer.status = std::move(listable);
    return answer;
  }
  if (command.name == "describe")
    answer.text = command.json ? jsonText(describePlan(plan)) : describePlanText(plan);
  else if (command.name == "print")
    answer.text = command.json ? jsonText({{"text", printPlan(plan)}}) : printPlan(plan);
  else if (command.name == "memory")
    answer = memoryAnswer(plan, command);
  else if (command.name == "schedule")
    answer.text = command.json ? jsonText(scheduleJson(plan)) : scheduleText(plan, command.isTerminal);
  return answer;
}

} // namespace sluice
