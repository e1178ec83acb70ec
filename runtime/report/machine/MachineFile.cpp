//===- MachineFile.cpp - descriptions of devices, and the memory of a rank's process on one ---===//
#include "runtime/report/machine/MachineFile.h"

#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>
#include <set>

namespace sluice {
namespace {

/// Groups and streams that a rank has a communicator for, and the one that they are split off.
std::uint64_t communicatorsOf(const plan::PlanT &plan) {
  std::set<std::pair<std::vector<std::uint32_t>, std::uint32_t>> found;
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
        found.insert({collective->axes, instruction.stream});
    });
  return found.empty() ? 0 : found.size() + 1;
}

} // namespace

const std::optional<Machine::Value> &Machine::figure(std::string_view figureName) const {
  std::size_t f = 0;
  while (f + 1 < machineFigures.size() && machineFigures[f].name != figureName)
    ++f;
  return figures[f];
}

std::optional<double> Machine::peakFlops(DType dtype) const {
  const std::optional<double> &constant = times.constant(std::string(dtypeName(dtype)) + "_flops_per_second");
  if (constant || dtype != DType::bf16)
    return isFloat(dtype) ? constant : std::nullopt;
  const std::optional<Value> &sheet = figure("bf16_flops_per_second");
  return sheet ? std::optional(static_cast<double>(sheet->value)) : std::nullopt;
}

std::optional<double> rankPeakFlops(const plan::PlanT &plan, const Machine &machine, DType dtype) {
  const std::optional<double> peak = machine.peakFlops(dtype);
  return peak && machine.device == "cpu" ? std::optional(*peak / static_cast<double>(meshSize(plan))) : peak;
}

Status checkMachine(const plan::PlanT &plan, const Machine &machine) {
  if (!plan.target || plan.target->device != machine.device)
    return inputError("machine '" + machine.name + "' is for '" + machine.device +
                      "', but the plan's target.device is '" + (plan.target ? plan.target->device : std::string()) +
                      "'");
  if (machine.device == "cuda" && architectureNumber(plan.target->arch) > architectureNumber(machine.arch))
    return inputError("machine '" + machine.name + "', expected at least the plan's target.arch " + plan.target->arch +
                      " but got " + machine.arch);
  return {};
}

Result<DeviceShare> deviceShare(const plan::PlanT &plan, const Machine &machine) {
  SLUICE_RETURN_IF_ERROR(checkMachine(plan, machine));
  if (machine.device != "cuda")
    return inputError("machine '" + machine.name + "' is for '" + machine.device +
                      "', whose processes have no memory of a driver")
        .withNote("'sluice-plan memory' without --machine predicts the memory of a process on the CPU");
  DeviceShare share;
  const auto known = [&](std::string_view figure, std::uint64_t count) -> std::optional<std::uint64_t> {
    const std::optional<Machine::Value> &value = machine.figure(figure);
    return value ? std::optional(value->value * count) : count == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
  };
  for (const auto &arena : plan.arenas)
    if (arena->space == plan::Space::device)
      share.terms = {{"arena", 1, arena->bytes}, {"workspace", 1, arena->workspace}};
  const std::uint64_t communicators = communicatorsOf(plan);
  share.terms.push_back({"context", 1, known("context_bytes", 1)});
  share.terms.push_back({"libraries", 1, known("library_bytes", 1)});
  share.terms.push_back({"communicators", communicators, known("communicator_bytes", communicators)});
  bool all = true;
  for (const DeviceShare::Term &term : share.terms) {
    share.known += term.bytes.value_or(0);
    all = all && term.bytes.has_value();
  }
  if (all)
    share.total = share.known;
  return share;
}

std::string machineText(const Machine &machine, const DeviceShare &share) {
  std::string out = "one rank's process on '" + machine.name + "' (" + machine.arch + ")\n";
  for (const DeviceShare::Term &term : share.terms) {
    std::string name(term.name);
    if (term.name == "communicators")
      name = concat(term.count, " ", name);
    out += "  " + padRight(name, 18) + (term.bytes ? formatBytesExact(*term.bytes) : "unknown, not measured") + "\n";
  }
  out += "  " + padRight("process", 18) +
         (share.total ? formatBytesExact(*share.total) : "not known, more than " + formatBytesExact(share.known)) +
         "\n";
  const std::optional<Machine::Value> &memory = machine.figure("memory_bytes");
  if (!memory)
    return out + "  " + padRight("device has", 18) + "not known\n";
  out += "  " + padRight("device has", 18) + formatBytesExact(memory->value) + " (" + memory->from + "), " +
         (share.known > memory->value ? "too little"
          : share.total               ? "enough"
                                      : "enough for what is known") +
         "\n";
  return out;
}

Json machineJson(const Machine &machine, const DeviceShare &share) {
  Json figures = Json::object(), process = Json::object();
  for (std::size_t f = 0; f < machineFigures.size(); ++f) {
    const std::optional<Machine::Value> &value = machine.figures[f];
    figures[std::string(machineFigures[f].name)] =
        value ? Json{{"value", value->value}, {"from", value->from}} : Json();
  }
  for (const DeviceShare::Term &term : share.terms)
    process[std::string(term.name)] = term.bytes ? Json(*term.bytes) : Json();
  process["known"] = share.known;
  process["total"] = share.total ? Json(*share.total) : Json();
  return {{"name", machine.name}, {"arch", machine.arch}, {"figures", figures}, {"process", process}};
}

} // namespace sluice
