//===- Simulate.cpp - sluice-plan simulate ------------------------------------------------------===//
#include "tools/plan/Simulate.h"

#include "passes/solver/simulate/StepReport.h"

#include "runtime/base/File.h"
#include "runtime/plan/ChromeTrace.h"
#include "runtime/plan/Profile.h"
#include "runtime/plan/Reader.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

Status writePrediction(const plan::PlanT &plan, const PredictedStep &step, const std::string &path) {
  const std::vector<std::vector<std::string>> names = instructionNames(plan);
  const auto entry = static_cast<std::size_t>(findEntry(plan, step.entry));
  std::vector<Span> spans;
  for (const PredictedInstruction &each : step.instructions) {
    const plan::InstructionT &instruction = *each.issued.instruction;
    spans.push_back({0, plan.streams[instruction.stream]->name, names[entry][each.issued.index], each.begin * 1e6,
                     each.end * 1e6, step.entry, each.issued.index, each.issued.repetition});
  }
  return writeTrace(path, spans);
}

Result<std::string> simulate(const SimulateCommand &command) {
  SLUICE_RETURN_IF_ERROR(checkNoInput(command.trace, {command.plan, command.machine}));
  SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readCheckedPlan(command.plan));
  const plan::PlanT &plan = file.plan;
  SLUICE_ASSIGN_OR_RETURN(const Machine machine, readMachine(command.machine));
  SLUICE_ASSIGN_OR_RETURN(const std::uint32_t entry, entryIndex(plan, command.entry));
  SLUICE_ASSIGN_OR_RETURN(const PredictedStep step, predictStep(plan, machine, entry));
  if (!command.trace.empty())
    SLUICE_RETURN_IF_ERROR(writePrediction(plan, step, command.trace));
  return command.json ? dumpJson(stepJson(plan, machine, step), 2) + "\n" : stepText(plan, machine, step);
}

} // namespace

PlanCommandResult runSimulate(const SimulateCommand &command) {
  Result<std::string> text = simulate(command);
  return {text.isOk() ? *text : "", text.status(), 0};
}

} // namespace sluice
