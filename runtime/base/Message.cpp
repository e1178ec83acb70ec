//===- Message.cpp - the text of errors and versions -------------------------------===//
#include "runtime/base/Message.h"

#include "runtime/base/Text.h"

namespace sluice {

std::string messageText(const Status &status, bool colour, Severity severity) {
  const bool isError = severity == Severity::error;
  std::string text = isError ? "error:" : "warning:";
  if (colour)
    text = (isError ? "\033[1;31m" : "\033[1;35m") + text + "\033[0m";
  text += ' ';
  text += printable(status.message());
  text += '\n';
  for (const std::string &note : status.notes())
    text += noteText(note);
  return text;
}

std::string noteText(std::string_view note) { return concat("note: ", printable(note), "\n"); }

std::string versionText(std::string_view tool) { return std::string(tool) + " " SLUICE_VERSION; }

} // namespace sluice
