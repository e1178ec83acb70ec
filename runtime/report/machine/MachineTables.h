//===- MachineTables.h - reads the rates and latencies of a machine file ----------------------===//
//
// The base class of the reader (MachineReader.cpp). Every error has the file, its line and the remedy.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MACHINE_MACHINETABLES_H
#define SLUICE_RUNTIME_REPORT_MACHINE_MACHINETABLES_H

#include "runtime/base/Status.h"
#include "runtime/base/Toml.h"
#include "runtime/report/machine/MachineTimes.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class MachineTables {
public:
  /// `path` is for messages and outlives the object.
  explicit MachineTables(const std::string &path) : path(path) {}

protected:
  /// The tables `hosts`, `times`, `products`, `attention`, `streaming` and `collectives`, all optional.
  Status readTimes(const toml::table &file, MachineTimes &times) const;

  /// An error at the line of the node, in the file that it is from.
  Status errorAt(const toml::node &node, const std::string &message) const;
  static std::string shown(const toml::node &node);
  /// All of the required keys, perhaps the optional ones, and no others.
  Status checkKeys(const toml::table &table, const std::string &where, const std::vector<std::string_view> &required,
                   const std::vector<std::string_view> &optional = {}) const;

  const std::string &path;

private:
  Result<double> readPositive(const toml::table &table, std::string_view key, const std::string &where,
                              double fallback) const;
  Result<std::uint32_t> readCount(const toml::table &table, std::string_view key, const std::string &where,
                                  std::uint32_t fallback) const;
  /// `from`, and the `note` or `source` that it requires.
  Status checkSource(const toml::table &table, const toml::node &node, const std::string &where) const;
  /// Rows of `width` positive numbers; the first of each row increases if `ascends`.
  Result<std::vector<std::vector<double>>> readRows(const toml::node *node, const std::string &what, std::size_t width,
                                                    bool ascends) const;
  Status readConstants(const toml::node &node, MachineTimes &times) const;
  Status readHosts(const toml::node &node, MachineTimes &times) const;
  /// `sizes` numbers of a point are its size.
  Status readRates(const toml::table &file, std::string_view key, std::size_t sizes,
                   std::vector<KernelRates> &rates) const;
  Status readCollective(const toml::table &table, CollectiveRates &rates) const;
  /// The tables of an array; empty if the file does not have it.
  Result<std::vector<const toml::table *>> tables(const toml::table &file, std::string_view key) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MACHINE_MACHINETABLES_H
