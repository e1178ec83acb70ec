//===- StepReport.cpp - a predicted step as text and JSON -------------------------------------===//
#include "passes/solver/simulate/StepReport.h"

#include "runtime/base/Text.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Profile.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// Collectives that the text lists.
constexpr std::size_t listedCollectives = 10;

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

/// Bytes of the device memory that one rank requests, and of the process: of one rank on a GPU, of all on the CPU.
struct PredictedMemory {
  std::uint64_t device = 0;
  std::optional<std::uint64_t> process;
};

PredictedMemory memoryOf(const plan::PlanT &plan, const Machine &machine) {
  PredictedMemory memory;
  if (const plan::ArenaT *arena = arenaOf(plan, plan::Space::device))
    memory.device = arena->bytes + arena->workspace;
  if (machine.device == "cpu")
    memory.process = predictedProcess(plan);
  else if (const Result<DeviceShare> share = deviceShare(plan, machine); share.isOk())
    memory.process = share->total;
  return memory;
}

Json optionalJson(const std::optional<double> &value) { return value ? Json(*value) : Json(); }

Json countsJson(const std::map<std::string, std::uint64_t> &counts) {
  Json list = Json::array();
  for (const auto &[name, instructions] : counts)
    list.push_back({{"name", name}, {"instructions", instructions}});
  return list;
}

std::string unitName(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  return instruction.unit >= 0 ? plan.units[static_cast<std::size_t>(instruction.unit)]->name : "";
}

} // namespace

Json stepJson(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step) {
  const PredictedMemory memory = memoryOf(plan, machine);
  Json collectives = Json::array();
  for (const PredictedCollective &each : step.collectives) {
    const IssuedInstruction &issued = step.instructions[each.instruction].issued;
    const std::string unit = unitName(plan, *issued.instruction);
    const plan::CollectiveT &collective = *issued.instruction->operation.AsCollective();
    collectives.push_back({{"i", issued.position},
                           {"unit", unit.empty() ? Json() : Json(unit)},
                           {"kind", plan::EnumNameCollectiveKind(collective.kind)},
                           {"bytes", collectiveBytes(collective)},
                           {"s", each.seconds},
                           {"exposed_s", each.exposed},
                           {"because", each.because}});
  }
  return {{"entry", step.entry},
          {"machine", machine.name},
          {"step_s", step.isComplete ? Json(step.seconds) : Json()},
          {"at_least_s", step.seconds},
          {"tokens_per_s", optionalJson(step.tokensPerSecond())},
          {"mfu", optionalJson(step.mfu())},
          {"work_s", step.work},
          {"exposed_communication_s", step.exposed},
          {"other_waits_s", step.otherWaits},
          {"memory", {{"device", memory.device}, {"process", memory.process ? Json(*memory.process) : Json()}}},
          {"unknown", countsJson(step.unknown)},
          {"assumptions", countsJson(step.assumptions)},
          {"collectives", std::move(collectives)}};
}

std::string stepText(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step) {
  const PredictedMemory memory = memoryOf(plan, machine);
  const auto line = [](std::string_view name, const std::string &value) {
    return "  " + padRight(name, 24) + value + "\n";
  };
  std::string out = "predicted '" + step.entry + "' of plan '" + plan.name + "' on '" + machine.name + "'\n";
  out +=
      line("step", step.isComplete ? formatSeconds(step.seconds) : "unknown, more than " + formatSeconds(step.seconds));
  if (const auto rate = step.tokensPerSecond())
    out += line("tokens/s", concat(format("%.0f", *rate), ", ", format("%.0f", *rate / double(meshSize(plan))),
                                   " a rank, ", meshSize(plan), meshSize(plan) == 1 ? " rank" : " ranks"));
  const std::string peak = step.peakFlops ? format("%.1f", *step.peakFlops * 1e-12) + " TFLOP/s in " : "";
  if (const auto mfu = step.mfu())
    out += line("MFU", format("%.1f %%", *mfu * 100) + " of " + peak + std::string(dtypeName(step.productType)));
  else if (step.isComplete)
    out += line("MFU", "unknown, the file has no " + std::string(dtypeName(step.productType)) + "_flops_per_second");
  out += line("kernels", formatSeconds(step.work) + " on stream '" + plan.streams[step.mainStream]->name + "'");
  out += line("exposed communication", formatSeconds(step.exposed));
  out += line("other waits", formatSeconds(step.otherWaits));
  out += line("device memory", formatBytesExact(memory.device) + " a rank");
  out += line("process memory", memory.process ? formatBytesExact(*memory.process) : "unknown");
  std::vector<const PredictedCollective *> most;
  for (const PredictedCollective &each : step.collectives)
    if (each.exposed > 0)
      most.push_back(&each);
  std::ranges::stable_sort(most, std::greater(), &PredictedCollective::exposed);
  if (!most.empty())
    out += concat("exposed collectives, ", most.size(), " of ", step.collectives.size(), "\n");
  for (std::size_t k = 0; k < std::min(listedCollectives, most.size()); ++k) {
    const IssuedInstruction &issued = step.instructions[most[k]->instruction].issued;
    const std::string unit = unitName(plan, *issued.instruction);
    out += concat("  ", padRight(formatSeconds(most[k]->exposed) + " of " + formatSeconds(most[k]->seconds), 26),
                  operationName(plan, *issued.instruction), unit.empty() ? "" : " ", unit, " (", issued.position,
                  "): ", most[k]->because, "\n");
  }
  for (const auto &[name, count] : step.unknown)
    out += concat("unknown: ", name, ", needed by ", count, count == 1 ? " instruction\n" : " instructions\n");
  for (const auto &[name, count] : step.assumptions)
    out += concat("assumed: ", name, ", ", count, count == 1 ? " instruction\n" : " instructions\n");
  return out;
}

} // namespace sluice
