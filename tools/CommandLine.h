//===- CommandLine.h - what the tools share of their command lines --------------------===//
//
// CLI11 reads the command line. An error is "error: <CLI11's sentence>" on stderr and exit code 2.
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

/// nullopt where the tool has its options; else the tool is done with this exit code, and help, version or the error is
/// printed.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

/// Accepts whole numbers of at least `least`. CLI11's own conversion takes "-5" for a very large number.
CLI::Validator wholeNumber(std::uint64_t least);
/// Accepts any path but "", which an unset variable of the shell gives.
CLI::Validator anyPath();

/// Prints the status, if it is an error, to stderr; in colour on a terminal, unless NO_COLOR is set. Its exit code.
int report(const Status &status);

} // namespace sluice

#endif // SLUICE_TOOLS_COMMANDLINE_H
