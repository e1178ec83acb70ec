//===- Config.h - options in a TOML file ------------------------------------------------===//
//
// `--config run.toml` sets options by their long names: `steps = 100`. An option of the command line takes precedence.
// toml++ reads and writes the file; CLI11's own reader knows only a part of TOML.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_CONFIG_H
#define SLUICE_TOOLS_TRAIN_CONFIG_H

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace sluice {

/// The type of an option's value.
enum class OptionType : std::uint8_t { flag, integer, number, text };

/// An option that a file can set, with its values: those given, or the default.
struct OptionValue {
  /// Without `--`.
  std::string name;
  OptionType type = OptionType::text;
  /// Several for a list; empty if the option is not set.
  std::vector<std::string> values;
  bool isList = false;
};

/// A file that cannot be used; thrown through CLI11 by parse().
struct ConfigError {
  Status status;
};

/// Adds `--config FILE` to the options of `app`, which parse() then reads. The app outlives its use.
void declareConfig(CLI::App &app);

/// After parse(), in the order of declaration.
std::vector<OptionValue> optionValues(const CLI::App &app);

/// The options that are set, as a file that --config reads.
std::string configText(std::span<const OptionValue> options);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_CONFIG_H
