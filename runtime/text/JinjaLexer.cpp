//===- JinjaLexer.cpp - the tags of a template and the tokens within them --------------------===//
#include "runtime/text/JinjaLexer.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {
namespace {

constexpr std::string_view blanks = " \t\n\r\v\f";

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
  explicit Lexer(std::string text) : text(std::move(text)) {}

  Result<std::vector<JinjaToken>> run() {
    while (at < text.size())
      SLUICE_RETURN_IF_ERROR(step());
    add(JinjaToken::Kind::end, "");
    return std::move(tokens);
  }

private:
  std::string text;
  std::size_t at = 0;
  std::vector<JinjaToken> tokens;
  /// What the last tag removes of the text after it.
  enum class Strip { nothing, newline, blanks } strip = Strip::nothing;

  /// Lines before `counted`.
  mutable std::size_t lines = 0, counted = 0;

  /// `at` only grows, so each byte is counted once.
  std::size_t line() const {
    for (; counted < at; ++counted)
      lines += text[counted] == '\n';
    return 1 + lines;
  }
  /// The next beginning of a tag; the size of the text if it has none.
  std::size_t findTag() const {
    std::size_t tag = text.find('{', at);
    while (tag != std::string::npos &&
           (tag + 1 == text.size() || std::string_view("{%#").find(text[tag + 1]) == std::string_view::npos))
      tag = text.find('{', tag + 1);
    return std::min(tag, text.size());
  }
  void add(JinjaToken::Kind kind, std::string content) { tokens.push_back({kind, std::move(content), line()}); }
  bool startsWith(std::string_view part) const { return std::string_view(text).substr(at).starts_with(part); }
  Status error(std::string_view problem) const {
    return inputError(fmt::format("chat template, line {}: {}", line(), problem));
  }

  Status step() {
    const std::size_t tag = findTag();
    std::string data = text.substr(at, tag - at);
    if (strip == Strip::newline && data.starts_with('\n'))
      data.erase(0, 1);
    if (strip == Strip::blanks)
      data.erase(0, std::min(data.find_first_not_of(blanks), data.size()));
    strip = Strip::nothing;
    const char kind = tag < text.size() ? text[tag + 1] : ' ';
    const char sign = tag + 2 < text.size() ? text[tag + 2] : ' ';
    if (sign == '-' && kind != ' ')
      data.resize(data.find_last_not_of(blanks) + 1);
    else if ((kind == '%' || kind == '#') && sign != '+')
      stripLine(data, tag);
    if (!data.empty())
      add(JinjaToken::Kind::data, std::move(data));
    at = tag;
    if (kind == ' ')
      return Status::ok();
    at += 2;
    if (kind == '#')
      return comment();
    at += sign == '-' || sign == '+';
    return inTag(kind == '{');
  }

  /// Removes blanks between the beginning of the line and a tag.
  void stripLine(std::string &data, std::size_t tag) const {
    const std::size_t kept = data.find_last_not_of(" \t");
    const std::size_t size = kept == std::string::npos ? 0 : kept + 1;
    const bool isLine = size > 0 ? data[size - 1] == '\n' : tag == data.size() || text[tag - data.size() - 1] == '\n';
    if (isLine)
      data.resize(size);
  }

  Status comment() {
    const std::size_t end = text.find("#}", at);
    if (end == std::string::npos)
      return error("the comment has no end '#}'");
    strip = text[end - 1] == '-' ? Strip::blanks : Strip::newline;
    at = end + 2;
    return Status::ok();
  }

  Status inTag(bool prints) {
    const std::string_view end = prints ? "}}" : "%}";
    add(prints ? JinjaToken::Kind::beginPrint : JinjaToken::Kind::beginStatement, "");
    int open = 0;
    for (;;) {
      at = std::min(text.find_first_not_of(blanks, at), text.size());
      if (at == text.size())
        return error(fmt::format("the tag has no end '{}'", end));
      const char sign = text[at];
      const bool isSigned = (sign == '-' || sign == '+') && std::string_view(text).substr(at + 1).starts_with(end);
      // Braces of a dict may be adjacent to the tag's.
      if (isSigned || (startsWith(end) && open == 0)) {
        add(prints ? JinjaToken::Kind::endPrint : JinjaToken::Kind::endStatement, "");
        at += isSigned ? 3 : 2;
        strip = isSigned && sign == '-' ? Strip::blanks : prints || isSigned ? Strip::nothing : Strip::newline;
        return Status::ok();
      }
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      SLUICE_RETURN_IF_ERROR(token());
    }
  }

  Status token() {
    const char c = text[at];
    if (c == '\'' || c == '"')
      return quoted(c);
    if (isNameCharacter(c)) {
      std::size_t end = at;
      while (end < text.size() && (isNameCharacter(text[end]) ||
                                   (isDigit(c) && text[end] == '.' && end + 1 < text.size() && isDigit(text[end + 1]))))
        ++end;
      add(isDigit(c) ? JinjaToken::Kind::number : JinjaToken::Kind::name, text.substr(at, end - at));
      at = end;
      return Status::ok();
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
      if (startsWith(two)) {
        add(JinjaToken::Kind::symbol, std::string(two));
        at += 2;
        return Status::ok();
      }
    if (std::string_view("+-*/%~<>=()[]{}.,:|").find(c) == std::string_view::npos)
      return error(fmt::format("character '{}' is not supported", c));
    add(JinjaToken::Kind::symbol, std::string(1, c));
    ++at;
    return Status::ok();
  }

  Status quoted(char quote) {
    std::string content;
    std::size_t end = at + 1;
    for (; end < text.size() && text[end] != quote; ++end) {
      if (text[end] != '\\' || end + 1 == text.size()) {
        content += text[end];
        continue;
      }
      const char c = text[++end];
      const std::size_t escape = std::string_view("ntr\\'\"").find(c);
      if (escape == std::string_view::npos)
        return error(fmt::format("escape '\\{}' is not supported", c));
      content += "\n\t\r\\'\""[escape];
    }
    if (end == text.size())
      return error("the string has no end");
    add(JinjaToken::Kind::string, std::move(content));
    at = end + 1;
    return Status::ok();
  }
};

} // namespace

Result<std::vector<JinjaToken>> splitJinja(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n')
      lines += text[i];
  // As Jinja: one newline at the end of the template is not part of it.
  if (lines.ends_with('\n'))
    lines.pop_back();
  return Lexer(std::move(lines)).run();
}

} // namespace sluice::text
