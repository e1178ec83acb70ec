//===- Message.cpp - how the tools word what went wrong --------------------------===//
#include "runtime/base/Message.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice {

std::string messageText(const Status &status, bool colour) {
  std::string text = colour ? "\033[1;31merror:\033[0m " : "error: ";
  text += status.message();
  text += '\n';
  for (const std::string &note : status.notes())
    text.append("note: ").append(note).append("\n");
  return text;
}

/// What stands before and behind the first `mark`; nothing without one.
static std::optional<std::pair<std::string, std::string>> cut(const std::string &text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos)
    return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + mark.size()));
}

/// A sentence of CLI11 in the form of our own errors; one of another form as it is.
static std::string reworded(const std::string &sentence) {
  if (auto pair = cut(sentence, "Could not convert: "); pair && pair->first.empty())
    if (auto value = cut(pair->second, " = "))
      return value->first + ", expected a number but got '" + value->second + "'";
  auto named = cut(sentence, ": ");
  if (!named)
    return sentence;
  const auto &[name, what] = *named;
  if (what.starts_with("expected "))
    return name + ", " + what;
  if (auto counts = cut(what, " required but received ")) {
    counts->first[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(counts->first[0])));
    if (counts->first.starts_with("at M"))
      counts->first[3] = 'm';
    return name + ", expected " + counts->first + " but got " + counts->second;
  }
  if (what.ends_with(" missing") && cut(what, " required "))
    return name + ", expected a value but got nothing";
  if (auto choice = cut(what, " not in {"); choice && choice->second.ends_with("}"))
    return name + ", expected one of " + choice->second.substr(0, choice->second.size() - 1) + " but got '" +
           choice->first + "'";
  return sentence;
}

Status usageError(std::string sentence) {
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n'))
    sentence.pop_back();
  sentence = reworded(sentence);
  // A second capital tells the name of an option or an operand.
  if (sentence.size() > 1 && !std::isupper(static_cast<unsigned char>(sentence[1])))
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  return {StatusCode::usage, std::move(sentence)};
}

std::string versionText(std::string_view tool) { return std::string(tool) + " " SLUICE_VERSION; }

std::string whyNoWholeNumber(std::string_view text, std::uint64_t least) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && rest == text.data() + text.size() && value >= least)
    return {};
  return "expected a whole number of at least " + std::to_string(least) + " but got '" + std::string(text) + "'";
}

std::string whyNoPath(const std::string &text) { return text.empty() ? "expected a path but got nothing" : ""; }

} // namespace sluice
