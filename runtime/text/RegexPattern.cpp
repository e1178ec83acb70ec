//===- RegexPattern.cpp - from Oniguruma's syntax to that of PCRE2 ----------------------===//
#include "runtime/text/Regex.h"

#include <fmt/format.h>

namespace sluice::text {

/// White_Space as members of a class. \s of PCRE2 also has U+180E.
static constexpr std::string_view spaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
/// \w of PCRE2 has no marks and only one connector.
static constexpr std::string_view words = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

namespace {

class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  Result<std::string> run() {
    while (at < pattern.size()) {
      SLUICE_RETURN_IF_ERROR(step());
    }
    return std::move(out);
  }

private:
  std::string_view pattern;
  std::size_t at = 0;
  std::string out;
  bool inClass = false;

  Status unsupported(std::string_view construct) const {
    return inputError(fmt::format("regular expression '{}', '{}' is not supported", pattern, construct));
  }

  Status step() {
    const char c = pattern[at];
    if (c == '\\')
      return escape();
    if (inClass) {
      if (pattern.substr(at).starts_with("&&"))
        return unsupported("&&");
      if (c == '[')
        return unsupported("a class within a class");
      inClass = c != ']';
    } else if (c == '[') {
      inClass = true;
      // A bracket at the beginning of a class is a member of it.
      const std::size_t first = pattern.substr(at).starts_with("[^") ? 2 : 1;
      if (pattern.substr(at + first).starts_with("]")) {
        out += pattern.substr(at, first);
        out += "\\]";
        at += first + 1;
        return Status::ok();
      }
    } else if (c == '{') {
      return repetition();
    }
    out += c;
    ++at;
    return Status::ok();
  }

  Status escape() {
    if (at + 1 == pattern.size())
      return unsupported("\\");
    const char c = pattern[at + 1];
    const auto put = [&](std::string_view text) {
      out += text;
      at += 2;
      return Status::ok();
    };
    const auto members = [&](std::string_view text) {
      return put(inClass ? std::string(text) : fmt::format("[{}]", text));
    };
    switch (c) {
    case 's':
      return members(spaces);
    case 'w':
      return members(words);
    case 'S':
    case 'W':
      if (inClass)
        return unsupported(c == 'S' ? "\\S in a class" : "\\W in a class");
      return put(fmt::format("[^{}]", c == 'S' ? spaces : words));
    default:
      break;
    }
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (isLetter && std::string_view("pPdDrntfaexAzZ").find(c) == std::string_view::npos)
      return unsupported(pattern.substr(at, 2));
    // The braces of a property or code point are no repetition.
    const std::size_t end = pattern.substr(at + 2).starts_with("{") ? pattern.find('}', at) : std::string_view::npos;
    const bool isNamed = std::string_view("pPx").find(c) != std::string_view::npos;
    const std::size_t length = isNamed && end != std::string_view::npos ? end + 1 - at : 2;
    out += pattern.substr(at, length);
    at += length;
    return Status::ok();
  }

  /// {n}, {n,}, {n,m}, and a `+` after it.
  Status repetition() {
    const std::size_t end = pattern.find('}', at);
    const std::string_view bounds = pattern.substr(at, end == std::string_view::npos ? end : end + 1 - at);
    if (end == std::string_view::npos || !pattern.substr(end + 1).starts_with("+")) {
      out += bounds;
      at += bounds.size();
      return Status::ok();
    }
    // From one up, repeated repetitions have no upper bound.
    if (!bounds.starts_with("{0,") && !bounds.starts_with("{1,") && bounds != "{1}")
      return unsupported(pattern.substr(at, bounds.size() + 1));
    out += bounds.starts_with("{0") ? "{0,}" : "{1,}";
    at = end + 2;
    return Status::ok();
  }
};

} // namespace

Result<std::string> translatePattern(std::string_view pattern) { return Translator(pattern).run(); }

} // namespace sluice::text
