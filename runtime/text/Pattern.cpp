//===- Pattern.cpp - what a Split or Replace of tokenizer.json searches for -----------------===//
#include "runtime/text/Pattern.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {

Result<Pattern> Pattern::read(Fields &fields) {
  Fields pattern = fields.child("pattern");
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (!pattern.find("Regex")) {
    std::string literal = pattern.text("String");
    SLUICE_RETURN_IF_ERROR(pattern.status());
    return Pattern(std::move(literal));
  }
  const std::string expression = pattern.text("Regex");
  SLUICE_RETURN_IF_ERROR(pattern.status());
  SLUICE_ASSIGN_OR_RETURN(Regex regex, Regex::compile(expression, pattern.where()));
  Pattern result{std::string()};
  result.regex = std::move(regex);
  return result;
}

Status Pattern::match(std::string_view text, std::vector<Range> &matches) const {
  if (regex)
    return regex->match(text, matches);
  if (literal.empty())
    return Status::ok();
  for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return Status::ok();
}

Result<std::string> Pattern::replace(std::string_view text, std::string_view replacement) const {
  std::vector<Range> matches;
  SLUICE_RETURN_IF_ERROR(match(text, matches));
  constexpr std::uint64_t room = 1 << 20, growth = 16, most = std::uint64_t(1) << 31;
  const std::uint64_t limit = std::min(room + growth * text.size(), most);
  std::string result;
  std::size_t end = 0;
  for (const Range &range : matches) {
    if (result.size() + (range.begin - end) + replacement.size() > limit)
      return inputError(fmt::format("replacement in a text of {} bytes, expected at most {} bytes but got more",
                                    text.size(), limit))
          .withNote("the tokenizer replaces parts of a text by much longer ones");
    result += text.substr(end, range.begin - end);
    result += replacement;
    end = range.end;
  }
  result += text.substr(end);
  return result;
}

} // namespace sluice::text
