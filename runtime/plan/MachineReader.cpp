//===- MachineReader.cpp - reads descriptions of hardware -------------------------------===//
#include "runtime/plan/MachineFile.h"

#include "runtime/base/Toml.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace sluice {
namespace {

constexpr std::int64_t largestFigure = std::int64_t(1) << 60;

class MachineReader {
public:
  explicit MachineReader(const std::string &path) : path(path) {}

  Result<Machine> read(const std::string &text) const {
    toml::parse_result parsed = toml::parse(text, path);
    if (!parsed)
      return inputError(path + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                        std::string(parsed.error().description()));
    const toml::table &file = parsed.table();
    SLUICE_RETURN_IF_ERROR(checkKeys(file, "the file", {"name", "device", "arch", "figures"}));
    Machine machine;
    for (auto [key, to] :
         {std::pair("name", &machine.name), std::pair("device", &machine.device), std::pair("arch", &machine.arch)}) {
      *to = file[key].value_or(std::string());
      if (to->empty())
        return errorAt(*file.get(key),
                       std::string("value of '") + key + "', expected a text but got " + shown(*file.get(key)));
    }
    if (machine.device != "cuda")
      return errorAt(*file.get("device"), "value of 'device', expected 'cuda' but got '" + machine.device + "'");
    if (!architectureNumber(machine.arch))
      return errorAt(*file.get("arch"),
                     "value of 'arch', expected an architecture as 'sm_90' but got '" + machine.arch + "'");
    const toml::table *figures = file["figures"].as_table();
    if (!figures)
      return errorAt(*file.get("figures"),
                     "value of 'figures', expected a table but got " + shown(*file.get("figures")));
    std::vector<std::string_view> names;
    for (const MachineFigure &figure : machineFigures)
      names.push_back(figure.name);
    SLUICE_RETURN_IF_ERROR(checkKeys(*figures, "[figures]", names));
    for (std::size_t f = 0; f < machineFigures.size(); ++f)
      SLUICE_RETURN_IF_ERROR(readFigure(*figures->get(machineFigures[f].name), machineFigures[f], machine.figures[f]));
    return machine;
  }

private:
  Status errorAt(const toml::node &node, const std::string &message) const {
    return inputError(path + ":" + std::to_string(node.source().begin.line) + ": " + message);
  }

  static std::string shown(const toml::node &node) {
    std::ostringstream text;
    node.visit([&](const auto &value) { text << value; });
    return text.str();
  }

  /// All of the keys and no others.
  Status checkKeys(const toml::table &table, const std::string &where,
                   const std::vector<std::string_view> &keys) const {
    for (const auto &[key, node] : table)
      if (std::ranges::find(keys, key.str()) == keys.end())
        return errorAt(node, "unknown key '" + std::string(key.str()) + "' in " + where);
    for (std::string_view key : keys)
      if (!table.contains(key))
        return inputError(path + ": missing key '" + std::string(key) + "' in " + where);
    return {};
  }

  Status readFigure(const toml::node &node, const MachineFigure &figure, std::optional<Machine::Value> &to) const {
    const std::string what = "figure '" + std::string(figure.name) + "'";
    if (node.value<std::string_view>() == "unknown")
      return {};
    const toml::table *table = node.as_table();
    if (!table)
      return errorAt(node, what + ", expected \"unknown\" or a table with 'value' and 'from' but got " + shown(node));
    for (const auto &[key, inner] : *table)
      if (key != "value" && key != "from" && key != "note")
        return errorAt(inner, "unknown key '" + std::string(key.str()) + "' in " + what);
    for (std::string_view key : {"value", "from"})
      if (!table->contains(key))
        return errorAt(node, "missing key '" + std::string(key) + "' in " + what);
    const toml::node &value = *table->get("value");
    const std::int64_t number = value.is_integer() ? value.value_or(std::int64_t(0)) : 0;
    if (number < 1 || number > largestFigure)
      return errorAt(value, what + ", expected an integer from 1 to " + std::to_string(largestFigure) + " but got " +
                                shown(value));
    Machine::Value read;
    read.value = static_cast<std::uint64_t>(number);
    read.from = (*table)["from"].value_or(std::string());
    if (read.from != "measured" && (read.from != "datasheet" || figure.measuredOnly))
      return errorAt(node, what + ", expected from '" + (figure.measuredOnly ? "measured" : "datasheet' or 'measured") +
                               "' but got " + shown(*table->get("from")));
    if (read.from == "measured" && (*table)["note"].value_or(std::string()).empty())
      return errorAt(node, what + ", a measured figure requires a 'note' on when and with what it was measured");
    to = std::move(read);
    return {};
  }

  const std::string &path;
};

} // namespace

std::optional<int> architectureNumber(std::string_view text) {
  int number = 0;
  if (!text.starts_with("sm_"))
    return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data() + 3, text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && number > 0 ? std::optional(number) : std::nullopt;
}

Result<Machine> parseMachine(const std::string &text, const std::string &path) {
  return MachineReader(path).read(text);
}

Result<Machine> readMachine(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return inputError("cannot read the machine file '" + path + "'");
  return parseMachine(text.str(), path);
}

} // namespace sluice
