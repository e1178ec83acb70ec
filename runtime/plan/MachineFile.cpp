//===- MachineFile.cpp - a description of hardware ----------------------------------------===//
#include "runtime/plan/MachineFile.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace sluice {
namespace {

constexpr std::uint64_t mostOfAFigure = std::uint64_t(1) << 60;

/// 90 of "sm_90"; -1 where it is no architecture.
int architecture(std::string_view text) {
  int number = -1;
  if (text.starts_with("sm_"))
    std::from_chars(text.data() + 3, text.data() + text.size(), number);
  return number;
}

class MachineReader {
public:
  explicit MachineReader(const std::string &path) : path(path) {}

  Result<Machine> read(const std::string &text) const {
    const Json json = parseJson<Json>(text);
    if (!json.is_object())
      return inputError(path + ": machine file, expected a JSON object but got something else");
    std::vector<std::string> keys = {"name", "device", "arch", "figures"};
    SLUICE_RETURN_IF_ERROR(expectKeys(json, "the file", keys));
    Machine machine;
    for (auto [key, to] : {std::pair("name", &machine.name), std::pair("device", &machine.device), std::pair("arch", &machine.arch)}) {
      *to = textOf(json, key);
      if (to->empty())
        return inputError(path + ": '" + key + "' of a machine file, expected a word but got " + dumpJson(*json.find(key)));
    }
    if (machine.device != "cuda")
      return inputError(path + ": 'device' of a machine file, expected 'cuda' but got '" + machine.device + "'");
    if (architecture(machine.arch) < 0)
      return inputError(path + ": 'arch' of a machine file, expected one as 'sm_90' but got '" + machine.arch + "'");
    const Json &figures = *json.find("figures");
    if (!figures.is_object())
      return inputError(path + ": 'figures' of a machine file, expected an object but got " + dumpJson(figures));
    keys.clear();
    for (const MachineFigure &figure : machineFigures)
      keys.emplace_back(figure.name);
    SLUICE_RETURN_IF_ERROR(expectKeys(figures, "its figures", keys));
    for (std::size_t f = 0; f < machineFigures.size(); ++f)
      SLUICE_RETURN_IF_ERROR(readFigure(*figures.find(machineFigures[f].name), machineFigures[f], machine.figures[f]));
    return machine;
  }

private:
  /// Empty where the member is missing or not a string.
  static std::string textOf(const Json &json, const char *key) {
    const auto member = json.find(key);
    const std::string *text = member == json.end() ? nullptr : member->get_ptr<const std::string *>();
    return text ? *text : std::string();
  }

  /// All of them and no others.
  Status expectKeys(const Json &json, const std::string &where, const std::vector<std::string> &keys) const {
    for (const std::string &key : keys)
      if (!json.contains(key))
        return inputError(path + ": keys of " + where + ", expected '" + key + "' among them");
    for (const auto &[key, value] : json.items())
      if (std::ranges::find(keys, key) == keys.end())
        return inputError(path + ": key '" + key + "' in " + where + ", expected one of a machine file's");
    return {};
  }

  Status readFigure(const Json &json, const MachineFigure &figure, std::optional<Machine::Value> &value) const {
    const std::string what = path + ": figure '" + std::string(figure.name) + "'";
    if (json.is_null())
      return {};
    if (!json.contains("value") || !json.contains("from") || !json.find("from")->is_string())
      return inputError(what + ", expected null or an object with 'value' and 'from' but got " + dumpJson(json));
    for (const auto &[key, member] : json.items())
      if (key != "value" && key != "from" && key != "note")
        return inputError(what + ", expected 'value', 'from' and 'note' but got '" + key + "'");
    const Json &amount = *json.find("value");
    Machine::Value made;
    made.value = amount.is_number_unsigned() ? *amount.get_ptr<const std::uint64_t *>() : 0;
    if (made.value == 0 || made.value > mostOfAFigure)
      return inputError(what + ", expected a whole number from 1 to " + std::to_string(mostOfAFigure) + " but got " + dumpJson(amount));
    made.from = textOf(json, "from");
    if (made.from != "measured" && (made.from != "datasheet" || figure.measuredOnly))
      return inputError(what + ", expected from '" + (figure.measuredOnly ? "measured" : "datasheet' or 'measured") + "' but got '" +
                        made.from + "'");
    made.note = textOf(json, "note");
    if (made.from == "measured" && made.note.empty())
      return inputError(what + ", expected a 'note' that says when and with what it was measured");
    value = std::move(made);
    return {};
  }

  const std::string &path;
};

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

Result<Machine> parseMachine(const std::string &text, const std::string &path) { return MachineReader(path).read(text); }

Result<Machine> readMachine(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return inputError("cannot read the machine file '" + path + "'");
  return parseMachine(text.str(), path);
}

Result<DeviceShare> deviceShare(const plan::PlanT &plan, const Machine &machine) {
  if (!plan.target || plan.target->device != machine.device)
    return inputError("machine '" + machine.name + "', expected one for the plan's target.device '" +
                      (plan.target ? plan.target->device : std::string()) + "' but got one for '" + machine.device + "'");
  if (architecture(plan.target->arch) > architecture(machine.arch))
    return inputError("machine '" + machine.name + "', expected at least the plan's target.arch " + plan.target->arch + " but got " +
                      machine.arch);
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
      name = std::to_string(term.count) + " " + name;
    out += "  " + padRight(name, 18) + (term.bytes ? formatBytesExact(*term.bytes) : "not known: nobody has measured it") + "\n";
  }
  out += "  " + padRight("process", 18) +
         (share.total ? formatBytesExact(*share.total) : "not known, more than " + formatBytesExact(share.known)) + "\n";
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
    figures[std::string(machineFigures[f].name)] = value ? Json{{"value", value->value}, {"from", value->from}} : Json();
  }
  for (const DeviceShare::Term &term : share.terms)
    process[std::string(term.name)] = term.bytes ? Json(*term.bytes) : Json();
  process["known"] = share.known;
  process["total"] = share.total ? Json(*share.total) : Json();
  return {{"name", machine.name}, {"arch", machine.arch}, {"figures", figures}, {"process", process}};
}

} // namespace sluice
