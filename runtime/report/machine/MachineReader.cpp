//===- MachineReader.cpp - reads descriptions of hardware -------------------------------===//
#include "runtime/report/machine/MachineFile.h"

#include "runtime/base/File.h"
#include "runtime/report/machine/MachineTables.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace sluice {
namespace {

constexpr std::int64_t largestFigure = std::int64_t(1) << 60;
/// Files that a file may be based on, one on the other.
constexpr int longestChain = 4;

class MachineReader : public MachineTables {
public:
  using MachineTables::MachineTables;

  Result<Machine> read(const std::string &text) const {
    SLUICE_ASSIGN_OR_RETURN(const toml::table file, load(text, path, 0));
    const bool onCpu = file["device"].value<std::string_view>() == "cpu";
    SLUICE_RETURN_IF_ERROR(
        checkKeys(file, "the file", {"name", "device", "arch"},
                  {"figures", "hosts", "times", "products", "attention", "streaming", "collectives"}));
    Machine machine;
    for (auto [key, to] :
         {std::pair("name", &machine.name), std::pair("device", &machine.device), std::pair("arch", &machine.arch)}) {
      *to = file[key].value_or(std::string());
      if (to->empty())
        return errorAt(*file.get(key),
                       std::string("value of '") + key + "', expected a text but got " + shown(*file.get(key)));
    }
    if (machine.device != "cuda" && !onCpu)
      return errorAt(*file.get("device"),
                     "value of 'device', expected 'cpu' or 'cuda' but got '" + machine.device + "'");
    if (!onCpu && !architectureNumber(machine.arch))
      return errorAt(*file.get("arch"),
                     "value of 'arch', expected an architecture as 'sm_90' but got '" + machine.arch + "'");
    SLUICE_RETURN_IF_ERROR(readFigures(file, onCpu, machine));
    SLUICE_RETURN_IF_ERROR(readTimes(file, machine.times));
    return machine;
  }

private:
  /// Parses a file and those that it is based on; their keys are replaced by its own.
  Result<toml::table> load(const std::string &text, const std::string &name, int depth) const {
    toml::parse_result parsed = parseToml(text, name);
    if (!parsed)
      return inputError(name + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                        std::string(parsed.error().description()));
    toml::table file = std::move(parsed).table();
    const toml::node *base = file.get("base");
    if (!base)
      return file;
    const std::string basePath = base->value_or(std::string());
    if (basePath.empty())
      return errorAt(*base, "value of 'base', expected the path of a machine file but got " + shown(*base));
    if (depth + 1 == longestChain)
      return errorAt(*base, "more than " + std::to_string(longestChain) + " files are based on each other");
    const std::string fullPath = (std::filesystem::path(name).parent_path() / basePath).string();
    if (!isFile(fullPath))
      return errorAt(*base, "cannot read the machine file '" + fullPath + "'");
    SLUICE_ASSIGN_OR_RETURN(const std::string baseText, readText(fullPath));
    SLUICE_ASSIGN_OR_RETURN(toml::table merged, load(baseText, fullPath, depth + 1));
    file.erase("base");
    replaceKeys(merged, std::move(file));
    return merged;
  }

  static void replaceKeys(toml::table &to, toml::table &&from) {
    for (auto &&[key, node] : from) {
      toml::table *old = to[key].as_table();
      // A figure is replaced with its source.
      if (old && node.is_table() && !old->contains("value"))
        replaceKeys(*old, std::move(*node.as_table()));
      else
        node.visit([&, name = std::string(key.str())](auto &value) { to.insert_or_assign(name, std::move(value)); });
    }
  }

  Status readFigures(const toml::table &file, bool onCpu, Machine &machine) const {
    const toml::node *node = file.get("figures");
    if (!node && onCpu)
      return {};
    if (!node)
      return inputError(path + ": missing key 'figures' in the file");
    const toml::table *figures = node->as_table();
    if (!figures)
      return errorAt(*node, "value of 'figures', expected a table but got " + shown(*node));
    std::vector<std::string_view> names;
    for (const MachineFigure &figure : machineFigures)
      names.push_back(figure.name);
    SLUICE_RETURN_IF_ERROR(checkKeys(*figures, "[figures]", names));
    for (std::size_t f = 0; f < machineFigures.size(); ++f)
      SLUICE_RETURN_IF_ERROR(readFigure(*figures->get(machineFigures[f].name), machineFigures[f], machine.figures[f]));
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

  static Result<std::string> readText(const std::string &name) {
    return readFile(name, StatusCode::input, largestTextFile);
  }

  friend Result<Machine> sluice::readMachine(const std::string &path);
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
  SLUICE_ASSIGN_OR_RETURN(const std::string text, MachineReader::readText(path));
  return parseMachine(text, path);
}

} // namespace sluice
