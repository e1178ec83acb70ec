//===- MachineTables.cpp - reads the rates and latencies of a machine file --------------------===//
#include "runtime/report/machine/MachineTables.h"

#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace sluice {

Status MachineTables::errorAt(const toml::node &node, const std::string &message) const {
  const toml::source_region &at = node.source();
  return inputError((at.path ? *at.path : path) + ":" + std::to_string(at.begin.line) + ": " + message);
}

std::string MachineTables::shown(const toml::node &node) {
  std::ostringstream text;
  node.visit([&](const auto &value) { text << value; });
  return text.str();
}

Status MachineTables::checkKeys(const toml::table &table, const std::string &where,
                                const std::vector<std::string_view> &required,
                                const std::vector<std::string_view> &optional) const {
  for (const auto &[key, node] : table)
    if (std::ranges::find(required, key.str()) == required.end() &&
        std::ranges::find(optional, key.str()) == optional.end())
      return errorAt(node, "unknown key '" + std::string(key.str()) + "' in " + where);
  for (std::string_view key : required)
    if (!table.contains(key))
      return inputError(path + ": missing key '" + std::string(key) + "' in " + where);
  return {};
}

static bool isPositive(const toml::node &node) {
  const double number = node.is_number() ? node.value_or(0.0) : 0;
  return std::isfinite(number) && number > 0;
}

Result<double> MachineTables::readPositive(const toml::table &table, std::string_view key, const std::string &where,
                                           double fallback) const {
  const toml::node *node = table.get(key);
  if (!node)
    return fallback;
  if (!isPositive(*node))
    return errorAt(*node,
                   "'" + std::string(key) + "' in " + where + ", expected a positive number but got " + shown(*node));
  return node->value_or(0.0);
}

Result<std::uint32_t> MachineTables::readCount(const toml::table &table, std::string_view key, const std::string &where,
                                               std::uint32_t fallback) const {
  const toml::node *node = table.get(key);
  if (!node)
    return fallback;
  const std::int64_t number = node->is_integer() ? node->value_or(std::int64_t(0)) : 0;
  if (number < 1 || number > 1 << 30)
    return errorAt(*node, "'" + std::string(key) + "' in " + where + ", expected an integer from 1 to " +
                              std::to_string(1 << 30) + " but got " + shown(*node));
  return static_cast<std::uint32_t>(number);
}

Status MachineTables::checkSource(const toml::table &table, const toml::node &node, const std::string &where) const {
  const std::string from = table["from"].value_or(std::string());
  if (from != "measured" && from != "published" && from != "datasheet")
    return errorAt(node, "'from' in " + where + ", expected 'datasheet', 'measured' or 'published' but got " +
                             (table.contains("from") ? shown(*table.get("from")) : "no value"));
  if (from == "measured" && table["note"].value_or(std::string()).empty())
    return errorAt(node, where + ": a measured value requires a 'note' with date and program of the measurement");
  if (from != "measured" && !table["source"].value_or(std::string()).starts_with("http"))
    return errorAt(node, where + ": a value that was not measured requires its address as 'source'");
  return {};
}

Result<std::vector<std::vector<double>>> MachineTables::readRows(const toml::node *node, const std::string &what,
                                                                 std::size_t width, bool ascends) const {
  const toml::array *rows = node ? node->as_array() : nullptr;
  if (!rows || rows->empty()) {
    if (!node)
      return inputError(path + ": missing key 'points' in " + what);
    return errorAt(*node, "points of " + what + ", expected a list of lists of numbers but got " + shown(*node));
  }
  std::vector<std::vector<double>> read;
  for (const toml::node &row : *rows) {
    const toml::array *numbers = row.as_array();
    if (!numbers || numbers->size() != width || !std::all_of(numbers->begin(), numbers->end(), isPositive))
      return errorAt(row, "point of " + what + ", expected " + std::to_string(width) + " positive numbers but got " +
                              shown(row));
    std::vector<double> values;
    for (const toml::node &number : *numbers)
      values.push_back(number.value_or(0.0));
    if (ascends && !read.empty() && values[0] <= read.back()[0])
      return errorAt(row, "point of " + what + ", expected a first number above that of the point before but got " +
                              shown(row));
    read.push_back(std::move(values));
  }
  return read;
}

Status MachineTables::readConstants(const toml::node &node, MachineTimes &times) const {
  const toml::table *table = node.as_table();
  if (!table)
    return errorAt(node, "value of 'times', expected a table but got " + shown(node));
  std::vector<std::string_view> names;
  for (const MachineConstant &constant : machineConstants)
    names.push_back(constant.name);
  SLUICE_RETURN_IF_ERROR(checkKeys(*table, "[times]", {}, names));
  for (std::size_t c = 0; c < names.size(); ++c) {
    const toml::node *inner = table->get(names[c]);
    if (!inner)
      continue;
    const std::string what = "constant '" + std::string(names[c]) + "'";
    if (!inner->is_table())
      return errorAt(*inner, what + ", expected a table with 'value' and 'from' but got " + shown(*inner));
    const toml::table &constant = *inner->as_table();
    SLUICE_RETURN_IF_ERROR(checkKeys(constant, what, {"value", "from"}, {"note", "source"}));
    SLUICE_ASSIGN_OR_RETURN(times.constants[c], readPositive(constant, "value", what, 0));
    SLUICE_RETURN_IF_ERROR(checkSource(constant, *inner, what));
  }
  return {};
}

Status MachineTables::readHosts(const toml::node &node, MachineTimes &times) const {
  const toml::table *table = node.as_table();
  if (!table)
    return errorAt(node, "value of 'hosts', expected a table but got " + shown(node));
  SLUICE_RETURN_IF_ERROR(checkKeys(*table, "[hosts]", {"devices"}, {"count"}));
  SLUICE_ASSIGN_OR_RETURN(times.hostDevices, readCount(*table, "devices", "[hosts]", 1));
  if (table->contains("count")) {
    SLUICE_ASSIGN_OR_RETURN(times.hosts, readCount(*table, "count", "[hosts]", 1));
  }
  return {};
}

Result<std::vector<const toml::table *>> MachineTables::tables(const toml::table &file, std::string_view key) const {
  std::vector<const toml::table *> found;
  const toml::node *node = file.get(key);
  if (!node)
    return found;
  const toml::array *list = node->as_array();
  if (!list || !std::all_of(list->begin(), list->end(), [](const toml::node &inner) { return inner.is_table(); }))
    return errorAt(*node, "value of '" + std::string(key) + "', expected tables [[" + std::string(key) + "]] but got " +
                              shown(*node));
  for (const toml::node &inner : *list)
    found.push_back(inner.as_table());
  return found;
}

Status MachineTables::readRates(const toml::table &file, std::string_view key, std::size_t sizes,
                                std::vector<KernelRates> &rates) const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<const toml::table *> groups, tables(file, key));
  for (const toml::table *table : groups) {
    std::string where = "[[" + std::string(key) + "]]";
    SLUICE_RETURN_IF_ERROR(checkKeys(*table, where, {"kernel", "dtype", "points", "from"},
                                     {"library", "threads", "ranks", "note", "source"}));
    KernelRates group;
    group.kernel = (*table)["kernel"].value_or(std::string());
    if (group.kernel != "*" && !findKernelRecord(group.kernel))
      return errorAt(*table->get("kernel"), "'kernel' in " + where +
                                                ", expected a kernel of the catalogue or '*' but got " +
                                                shown(*table->get("kernel")));
    where += " of '" + group.kernel + "'";
    std::size_t dtype = 0;
    while (dtype < dtypeCount && dtypeName(DType(dtype)) != (*table)["dtype"].value_or(std::string()))
      ++dtype;
    if (dtype == dtypeCount)
      return errorAt(*table->get("dtype"),
                     "'dtype' in " + where + ", expected a type as 'f32' but got " + shown(*table->get("dtype")));
    group.dtype = DType(dtype);
    if (const toml::node *library = table->get("library")) {
      const std::string name = library->value_or(std::string());
      if (name != "cudnn" && name != "own")
        return errorAt(*library, "'library' in " + where + ", expected 'cudnn' or 'own' but got " + shown(*library));
      group.library = name == "cudnn" ? KernelRates::Library::cudnn : KernelRates::Library::own;
    }
    SLUICE_ASSIGN_OR_RETURN(group.threads, readCount(*table, "threads", where, 1));
    SLUICE_ASSIGN_OR_RETURN(group.ranks, readCount(*table, "ranks", where, 1));
    SLUICE_RETURN_IF_ERROR(checkSource(*table, *table, where));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> rows,
                            readRows(table->get("points"), where, sizes + 1, sizes == 1));
    for (const std::vector<double> &row : rows) {
      KernelRates::Point point;
      std::copy_n(row.begin(), sizes, point.size.begin());
      point.perSecond = row.back();
      group.points.push_back(point);
    }
    rates.push_back(std::move(group));
  }
  return {};
}

Status MachineTables::readCollective(const toml::table &table, CollectiveRates &rates) const {
  const std::string where = "[[collectives]]";
  SLUICE_RETURN_IF_ERROR(checkKeys(table, where, {"kinds", "algorithm", "from"},
                                   {"points", "base_seconds", "link_seconds", "network_seconds", "bytes_per_second",
                                    "limit_bytes_per_second", "shares", "note", "source"}));
  const toml::array *kinds = table["kinds"].as_array();
  for (std::size_t k = 0; kinds && k < kinds->size(); ++k) {
    const std::string kind = (*kinds)[k].value_or(std::string());
    bool *to = kind == "all_gather"       ? &rates.allGather
               : kind == "reduce_scatter" ? &rates.reduceScatter
               : kind == "all_reduce"     ? &rates.allReduce
               : kind == "all_to_all"     ? &rates.allToAll
                                          : nullptr;
    if (!to)
      return errorAt((*kinds)[k],
                     "'kinds' in " + where +
                         ", expected 'all_gather', 'reduce_scatter', 'all_reduce' or 'all_to_all' but got " +
                         shown((*kinds)[k]));
    *to = true;
  }
  const bool isRing = rates.allGather || rates.reduceScatter || rates.allReduce;
  if (!isRing && !rates.allToAll)
    return errorAt(*table.get("kinds"),
                   "'kinds' in " + where + ", expected a list of kinds but got " + shown(*table.get("kinds")));
  const std::string algorithm = table["algorithm"].value_or(std::string());
  const bool isHost = algorithm == "host", isDirect = algorithm == "direct";
  if (!isHost && !isDirect && algorithm != "ring" && algorithm != "tree")
    return errorAt(*table.get("algorithm"), "'algorithm' in " + where +
                                                ", expected 'host', 'ring', 'tree' or 'direct' but got " +
                                                shown(*table.get("algorithm")));
  if (!isHost && (isDirect ? isRing : rates.allToAll))
    return errorAt(*table.get("algorithm"),
                   "'algorithm' in " + where + ", expected 'direct' for 'all_to_all' over hosts, and for it alone");
  SLUICE_RETURN_IF_ERROR(checkSource(table, table, where));
  if (isHost) {
    SLUICE_RETURN_IF_ERROR(
        checkKeys(table, where + " within a host", {"kinds", "algorithm", "from", "points"}, {"note", "source"}));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> rows, readRows(table.get("points"), where, 3, true));
    for (const std::vector<double> &row : rows)
      rates.points.push_back({row[0], row[1], row[2]});
    return {};
  }
  rates.algorithm = isDirect              ? CollectiveRates::Algorithm::direct
                    : algorithm == "ring" ? CollectiveRates::Algorithm::ring
                                          : CollectiveRates::Algorithm::tree;
  SLUICE_RETURN_IF_ERROR(
      checkKeys(table, where + " over hosts",
                {"kinds", "algorithm", "from", "base_seconds", "link_seconds", "network_seconds", "bytes_per_second"},
                {"limit_bytes_per_second", "shares", "note", "source"}));
  for (auto [key, to] :
       {std::pair("base_seconds", &rates.base), std::pair("link_seconds", &rates.link),
        std::pair("network_seconds", &rates.network), std::pair("bytes_per_second", &rates.bytesPerSecond),
        std::pair("limit_bytes_per_second", &rates.limit)}) {
    SLUICE_ASSIGN_OR_RETURN(*to, readPositive(table, key, where, 0));
  }
  if (!table.contains("shares"))
    return {};
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> rows,
                          readRows(table.get("shares"), "shares of " + where, 2, true));
  for (const std::vector<double> &row : rows)
    rates.shares.push_back({row[0], row[1]});
  return {};
}

Status MachineTables::readTimes(const toml::table &file, MachineTimes &times) const {
  if (const toml::node *hosts = file.get("hosts"))
    SLUICE_RETURN_IF_ERROR(readHosts(*hosts, times));
  if (const toml::node *constants = file.get("times"))
    SLUICE_RETURN_IF_ERROR(readConstants(*constants, times));
  SLUICE_RETURN_IF_ERROR(readRates(file, "products", 3, times.products));
  SLUICE_RETURN_IF_ERROR(readRates(file, "attention", 2, times.attention));
  SLUICE_RETURN_IF_ERROR(readRates(file, "streaming", 1, times.streaming));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<const toml::table *> collectives, tables(file, "collectives"));
  for (const toml::table *table : collectives)
    SLUICE_RETURN_IF_ERROR(readCollective(*table, times.collectives.emplace_back()));
  return {};
}

} // namespace sluice
