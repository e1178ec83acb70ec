//===- Message.cpp - the text of errors and versions -------------------------------===//
#include "runtime/base/Message.h"

namespace sluice {

std::string messageText(const Status &status, bool colour) {
  std::string text = colour ? "\033[1;31merror:\033[0m " : "error: ";
  text += status.message();
  text += '\n';
  for (const std::string &note : status.notes())
    text.append("note: ").append(note).append("\n");
  return text;
}

std::string versionText(std::string_view tool) { return std::string(tool) + " " SLUICE_VERSION; }

} // namespace sluice
