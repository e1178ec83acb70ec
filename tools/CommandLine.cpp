//===- CommandLine.cpp - what the tools share of their command lines ------------------===//
#include "tools/CommandLine.h"

#include "runtime/base/Message.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace sluice {

/// In lower case, but for the name of an operand.
static std::string sentenceOf(const CLI::Error &error) {
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
    return report({StatusCode::usage, sentenceOf(error)});
  }
  return std::nullopt;
}

CLI::Validator wholeNumber(std::uint64_t least) {
  return CLI::Validator(
      [least](const std::string &text) {
        std::uint64_t value = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = error == std::errc() && rest == text.data() + text.size() && value >= least;
        return fits ? "" : "expected a whole number of at least " + std::to_string(least) + " but got '" + text + "'";
      },
      "");
}

CLI::Validator anyPath() {
  return CLI::Validator([](const std::string &text) { return text.empty() ? "path is empty" : ""; }, "");
}

int report(const Status &status) {
  if (!status.isOk()) {
    std::fflush(stdout);
    std::fputs(messageText(status, isatty(STDERR_FILENO) && !std::getenv("NO_COLOR")).c_str(), stderr);
  }
  return static_cast<int>(status.code());
}

} // namespace sluice
