//===- Regex.h - the regular expressions of tokenizer.json, by PCRE2 -------------------===//
//
// The expressions are written for Oniguruma's Ruby syntax. Constructs that PCRE2 reads differently are translated;
// those that cannot be translated are errors. Not copyable; matching allocates.
//
//===------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_REGEX_H
#define SLUICE_RUNTIME_TEXT_REGEX_H

#include "runtime/base/Status.h"
#include "runtime/text/Split.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// The same expression for PCRE2 with UTF, UCP and MULTILINE: white space and words as Unicode defines them, and
/// `{n,m}+` as a repetition, not a possessive quantifier.
Result<std::string> translatePattern(std::string_view pattern);

class Regex {
public:
  /// `where` is the position in the file, for errors.
  static Result<Regex> compile(std::string_view pattern, const std::string &where);

  /// The matches in a UTF-8 text, from left to right. An error if the text needs more backtracking than PCRE2 allows.
  Status match(std::string_view text, std::vector<Range> &matches) const;

private:
  struct Code;
  struct Deleter {
    void operator()(Code *code) const;
  };
  std::unique_ptr<Code, Deleter> code;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_REGEX_H
