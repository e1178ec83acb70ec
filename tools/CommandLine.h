//===- CommandLine.h - command-line parsing of all tools ------------------------------===//
//
// CLI11 parses the command line. An error is "error: <CLI11's sentence>" on stderr and exit code 2.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMANDLINE_H
#define SLUICE_TOOLS_COMMANDLINE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
class Validator;
} // namespace CLI

namespace sluice {

/// nullopt if the options were read. Otherwise the exit code of the tool, which has printed its help, its version or
/// the error.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

/// Accepts integers of at least `least`. CLI11's own conversion reads "-5" as a very large number.
CLI::Validator integerFrom(std::uint64_t least);
/// Accepts any path but "", the value of an unset shell variable.
CLI::Validator nonEmptyPath();

/// The program of this name in the folder of this process's program.
std::string siblingProgram(const std::string &name);

/// Ends a subcommand that has printed nothing: prints `text` to stdout, then an error of `status`. Returns the exit
/// code, which without an error is `exitCode`.
int finish(const std::string &text, const Status &status, int exitCode);

/// Prints an error to stderr, in colour on a terminal unless NO_COLOR is set. Returns the exit code.
int report(const Status &status);
/// Prints the message as a warning to stderr, likewise.
void warn(const Status &warning);

} // namespace sluice

#endif // SLUICE_TOOLS_COMMANDLINE_H
