//===- Message.cpp - the text of errors and versions -------------------------------===//
#include "runtime/base/Message.h"

namespace sluice {

std::string messageText(const Status &status, bool colour, Severity severity) {
  const bool isError = severity == Severity::error;
  std::string text = isError ? "error:" : "warning:";
  if (colour)
    text = (isError ? "\033[1;31m" : "\033[1;35m") + text + "\033[0m";
  text += ' ';
  text += status.message();
  text += '\n';
  for (const std::string &note : status.notes())
    text.append("note: ").append(note).append("\n");
  return text;
}

std::string versionText(std::string_view tool) { return std::string(tool) + " " SLUICE_VERSION; }

} // namespace sluice
