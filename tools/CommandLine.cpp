//===- CommandLine.cpp - a tool's options --------------------------------------------===//
#include "tools/CommandLine.h"

#include "runtime/base/Message.h"

#include <CLI/CLI.hpp>

namespace sluice {

static CLI::Option &of(void *option) { return *static_cast<CLI::Option *>(option); }
static CLI::App &at(void *app) { return *static_cast<CLI::App *>(app); }

CommandOption &CommandOption::required() {
  of(option).required();
  return *this;
}

CommandOption &CommandOption::check(std::function<std::string(const std::string &)> whyNot) {
  of(option).check(std::move(whyNot));
  return *this;
}

CommandOption &CommandOption::oneOf(std::vector<std::string> words) {
  of(option).check(CLI::IsMember(std::move(words)));
  return *this;
}

CommandOption &CommandOption::expected(int least, int most) {
  of(option).expected(least, most);
  return *this;
}

CommandOption &CommandOption::oneEach() {
  of(option).allow_extra_args(false);
  return *this;
}

CommandOption &CommandOption::showDefault() {
  of(option).capture_default_str();
  return *this;
}

bool CommandOption::isGiven() const { return of(option).count() != 0; }

std::string CommandOption::text() const { return isGiven() ? of(option).results().front() : std::string(); }

CommandLine::CommandLine(const std::string &what, const std::string &tool) : app(new CLI::App(what, tool)), isOwner(true) {}

CommandLine::CommandLine(void *app) : app(app), isOwner(false) {}

CommandLine::~CommandLine() {
  for (CommandLine *subcommand : subcommands)
    delete subcommand;
  if (isOwner)
    delete &at(app);
}

CommandOption CommandLine::option(const std::string &name, std::string &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}
CommandOption CommandLine::option(const std::string &name, std::vector<std::string> &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}
CommandOption CommandLine::option(const std::string &name, int &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}
CommandOption CommandLine::option(const std::string &name, std::int64_t &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}
CommandOption CommandLine::option(const std::string &name, std::uint64_t &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}
CommandOption CommandLine::option(const std::string &name, double &to, const std::string &help) {
  return CommandOption(at(app).add_option(name, to, help));
}

CommandOption CommandLine::flag(const std::string &name, bool &to, const std::string &help) {
  return CommandOption(at(app).add_flag(name, to, help));
}

void CommandLine::version(const std::string &text) { at(app).set_version_flag("--version", text); }

void CommandLine::footer(const std::string &text) { at(app).footer(text); }

CommandLine &CommandLine::subcommand(const std::string &name, const std::string &help) {
  at(app).require_subcommand(1);
  subcommands.push_back(new CommandLine(at(app).add_subcommand(name, help)));
  return *subcommands.back();
}

bool CommandLine::isChosen() const { return at(app).parsed(); }

Result<std::optional<int>> CommandLine::parse(int argc, char **argv) {
  try {
    at(app).parse(argc, argv);
  } catch (const CLI::Success &done) {
    return std::optional(at(app).exit(done));
  } catch (const CLI::ParseError &error) {
    return usageError(error.what());
  }
  return std::optional<int>();
}

} // namespace sluice
