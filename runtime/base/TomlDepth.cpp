//===- TomlDepth.cpp - keys of TOML with too many parts ----------------------------------===//
#include "runtime/base/TomlDepth.h"

#include <algorithm>

namespace sluice {
namespace {

/// Where a text in quotes ends, which begins at `begin`; the size of the text if it does not end.
std::size_t endOfQuoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string mark(text.substr(begin).starts_with(std::string(3, quote)) ? 3 : 1, quote);
  for (std::size_t at = begin + mark.size(); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (text.substr(at).starts_with(mark))
      return at + mark.size();
    else if (text[at] == '\n' && mark.size() == 1)
      return at;
  }
  return text.size();
}

bool isOfKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == ' ' || c == '\t' || (c & 0x80);
}

} // namespace

std::optional<std::uint32_t> findDeepKey(std::string_view text) {
  std::uint32_t line = 1;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (c == '"' || c == '\'')
      end = endOfQuoted(text, at);
    else if (c == '#')
      end = std::min(text.find('\n', at), text.size());
    else if (c == '.')
      ++dots;
    else if (!isOfKey(c))
      dots = 0;
    if (dots >= mostKeyParts)
      return line;
    line += static_cast<std::uint32_t>(std::ranges::count(text.substr(at, end - at), '\n'));
    at = end;
  }
  return std::nullopt;
}

} // namespace sluice
