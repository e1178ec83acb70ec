//===- Message.cpp - how the tools word what went wrong --------------------------===//
#include "runtime/base/Message.h"

#include <cctype>

namespace sluice {

std::string messageText(const Status &status, bool colour) {
  std::string text = colour ? "\033[1;31merror:\033[0m " : "error: ";
  text += status.message();
  text += '\n';
  for (const std::string &note : status.notes())
    text.append("note: ").append(note).append("\n");
  return text;
}

Status usageError(std::string sentence) {
  // A second capital tells the name of an option or an operand.
  if (sentence.size() > 1 && !std::isupper(static_cast<unsigned char>(sentence[1])))
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n'))
    sentence.pop_back();
  return {StatusCode::usage, std::move(sentence)};
}

} // namespace sluice
