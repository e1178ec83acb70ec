//===- CommandLine.cpp - command-line parsing of all tools ----------------------------===//
#include "tools/CommandLine.h"

#include "runtime/base/Message.h"
#include "runtime/base/Text.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace sluice {

/// The message with a lower-case first letter, unless it starts with the name of an operand.
static std::string lowerCaseMessage(const CLI::Error &error) {
  std::string text = error.what();
  if (text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    return app.exit(done);
  } catch (const CLI::ParseError &error) {
    return report({StatusCode::usage, lowerCaseMessage(error)});
  }
  return std::nullopt;
}

CLI::Validator integerFrom(std::uint64_t least) {
  return CLI::Validator(
      [least](const std::string &text) {
        std::uint64_t value = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = error == std::errc() && rest == text.data() + text.size() && value >= least;
        return fits ? "" : "expected an integer of at least " + std::to_string(least) + " but got '" + text + "'";
      },
      "");
}

CLI::Validator nonEmptyPath() {
  return CLI::Validator([](const std::string &text) { return text.empty() ? "path is empty" : ""; }, "");
}

static void print(const Status &status, Severity severity) {
  std::fflush(stdout);
  std::fputs(messageText(status, isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"), severity).c_str(), stderr);
}

int report(const Status &status) {
  if (!status.isOk())
    print(status, Severity::error);
  return static_cast<int>(status.code());
}

std::string siblingProgram(const std::string &name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

int finish(const std::string &text, const Status &status, int exitCode) {
  std::fputs(printable(text, /*isLine=*/false).c_str(), stdout);
  if (!status.isOk())
    return report(status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return report(inputError("cannot write to standard output"));
  return exitCode;
}

void warn(const Status &warning) { print(warning, Severity::warning); }

} // namespace sluice
