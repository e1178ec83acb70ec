//===- CommandLine.h - a tool's options ----------------------------------------------===//
//
// CLI11, compiled once for all tools: its headers take longer to compile than any of them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMANDLINE_H
#define SLUICE_TOOLS_COMMANDLINE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// One option of a command line, as long as that lives.
class CommandOption {
public:
  explicit CommandOption(void *option) : option(option) {}

  CommandOption &required();
  /// `whyNot` answers an empty text where a value is fine.
  CommandOption &check(std::function<std::string(const std::string &)> whyNot);
  CommandOption &oneOf(std::vector<std::string> words);
  /// So many values.
  CommandOption &expected(int least, int most);
  /// One value each time that it is given.
  CommandOption &oneEach();
  /// The help tells the value that stands before parsing.
  CommandOption &showDefault();

  bool isGiven() const;
  /// The first value, as it was written.
  std::string text() const;

private:
  void *option;
};

class CommandLine {
public:
  CommandLine(const std::string &what, const std::string &tool);
  ~CommandLine();
  CommandLine(const CommandLine &) = delete;
  CommandLine &operator=(const CommandLine &) = delete;

  /// A name without dashes is an option by its position.
  CommandOption option(const std::string &name, std::string &to, const std::string &help);
  CommandOption option(const std::string &name, std::vector<std::string> &to, const std::string &help);
  CommandOption option(const std::string &name, int &to, const std::string &help);
  CommandOption option(const std::string &name, std::int64_t &to, const std::string &help);
  CommandOption option(const std::string &name, std::uint64_t &to, const std::string &help);
  CommandOption option(const std::string &name, double &to, const std::string &help);
  CommandOption flag(const std::string &name, bool &to, const std::string &help);
  /// --version.
  void version(const std::string &text);
  /// The last lines of the help.
  void footer(const std::string &text);

  /// One of the subcommands must then be given.
  CommandLine &subcommand(const std::string &name, const std::string &help);
  /// Is this subcommand the one?
  bool isChosen() const;

  /// nullopt: the tool has its options. An exit code: help or version is printed. A status of `usage`: what is wrong.
  Result<std::optional<int>> parse(int argc, char **argv);

private:
  explicit CommandLine(void *app);

  void *app;
  /// Of the command line itself; a subcommand's is its parent's.
  bool isOwner;
  std::vector<CommandLine *> subcommands;
};

} // namespace sluice

#endif // SLUICE_TOOLS_COMMANDLINE_H
