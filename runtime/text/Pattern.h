//===- Pattern.h - what a Split or Replace of tokenizer.json searches for -------------------===//
#ifndef SLUICE_RUNTIME_TEXT_PATTERN_H
#define SLUICE_RUNTIME_TEXT_PATTERN_H

#include "runtime/text/Fields.h"
#include "runtime/text/Regex.h"

#include <optional>

namespace sluice::text {

/// A text or a regular expression.
class Pattern {
public:
  /// {"String": "..."} or {"Regex": "..."} of the member `pattern`.
  static Result<Pattern> read(Fields &fields);
  explicit Pattern(std::string literal) : literal(std::move(literal)) {}

  /// The matches from left to right.
  Status match(std::string_view text, std::vector<Range> &matches) const;
  /// The text with each match replaced. An input error if it is much longer than the text: a file with several such
  /// replacements would exhaust the memory.
  Result<std::string> replace(std::string_view text, std::string_view replacement) const;

private:
  std::string literal;
  std::optional<Regex> regex;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_PATTERN_H
