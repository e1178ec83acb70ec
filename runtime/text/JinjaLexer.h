//===- JinjaLexer.h - the tags of a template and the tokens within them ----------------------===//
#ifndef SLUICE_RUNTIME_TEXT_JINJALEXER_H
#define SLUICE_RUNTIME_TEXT_JINJALEXER_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

struct JinjaToken {
  /// Text outside of tags; the beginning and end of {{ }} and {% %}; a name; a number; a string; an operator.
  enum class Kind { data, beginPrint, endPrint, beginStatement, endStatement, name, number, string, symbol, end };
  Kind kind = Kind::end;
  /// Of a string, without quotes and escapes.
  std::string text;
  std::size_t line = 1;
};

/// Ends with a token of kind `end`. Comments are left out, and blanks around tags are removed.
Result<std::vector<JinjaToken>> splitJinja(std::string_view text);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJALEXER_H
